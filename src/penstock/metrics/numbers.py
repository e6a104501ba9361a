"""What was counted so far. It grows with the number of tables and partitions, never with batches."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field, replace

from penstock.metrics.names import BY_NAME, METRICS, Metric

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
RECENT = 100  # timings per series of which quantiles are told
SAMPLES = 10_000  # timings kept until somebody takes them
OTHER = "other"  # the label of what came after the bound
MOST_CODES = 200

Key = tuple[str, tuple[str, ...]]  # a metric's name, and its labels' values


@dataclass
class Timings:
    """One timer's values: all of them as sum and buckets, the last hundred one by one."""

    count: int = 0
    total: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.recent.append(seconds)

    def quantiles(self, *shares: float) -> list[float]:
        """Of the last hundred values, those that so large a share does not exceed."""
        ordered = sorted(self.recent)
        return [ordered[round(share * (len(ordered) - 1))] for share in shares]


@dataclass(frozen=True)
class Snapshot:
    """All numbers of one moment."""

    values: dict[Key, float]
    timings: dict[Key, Timings]


class Labels:
    """Label values that come from messages: no more of them than there may be tables."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        if text not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known[text] = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
        return self._known[text]


class Numbers:
    """Counters, gauges and timers. Anybody may change them and read them at any time."""

    def __init__(self, app: str, tables: int, *, keep_samples: bool = False) -> None:
        self.app = app
        self._lock = threading.Lock()
        self._bounds = {"code": Labels(MOST_CODES), "table": Labels(tables), "message_type": Labels(tables)}
        self._values: dict[Key, float] = {}
        self._timings: dict[Key, Timings] = {}
        self._samples: deque[tuple[Key, float]] | None = deque() if keep_samples else None
        for metric in METRICS:
            if metric.kind != "timer" and not set(metric.labels) - {"app"}:
                self._values[self._key(metric.name, ())] = 0.0  # what has not happened yet is 0, not absent

    def add(self, name: str, amount: float = 1, *labels: str) -> None:
        with self._lock:
            key = self._key(name, labels)
            self._values[key] = self._values.get(key, 0.0) + amount

    def put(self, name: str, value: float, *labels: str) -> None:
        with self._lock:
            self._values[self._key(name, labels)] = value

    def took(self, name: str, seconds: float, *labels: str) -> None:
        with self._lock:
            key = self._key(name, labels)
            self._timings.setdefault(key, Timings()).add(seconds)
            if self._samples is None:
                return
            if len(self._samples) < SAMPLES:
                self._samples.append((key, seconds))
            else:
                self._values[self._key("penstock.metrics.dropped", ())] += 1

    def snapshot(self) -> Snapshot:
        with self._lock:
            timings = {
                key: replace(told, buckets=list(told.buckets), recent=told.recent.copy())
                for key, told in self._timings.items()
            }
            return Snapshot(self._told(), timings)

    def values(self) -> dict[Key, float]:
        """Counters and gauges alone, which is much less work."""
        with self._lock:
            return self._told()

    def _told(self) -> dict[Key, float]:
        return {key: max(0.0, value) for key, value in self._values.items()}

    def samples(self) -> list[tuple[Key, float]]:
        """The timings since the last call. They are kept here only until then."""
        with self._lock:
            found = list(self._samples or ())
            if self._samples is not None:
                self._samples.clear()
            return found

    def _key(self, name: str, labels: tuple[str, ...]) -> Key:
        metric = BY_NAME[name]
        given = (self.app, *labels) if metric.is_own else labels
        return name, tuple(self._bounded(metric, given))

    def _bounded(self, metric: Metric, given: tuple[str, ...]) -> list[str]:
        """What messages and formats name is bounded. A type that is not known is left out."""
        return [
            self._bounds[label](text) if label in self._bounds else text
            for label, text in zip(metric.labels, given, strict=False)
        ]

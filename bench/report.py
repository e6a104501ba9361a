"""What was measured, as rows: a name, a value, and where one was set the bar it had to reach."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from bench.jobs import Part, Result, Run

GB = 1e9
NOISY = 0.2  # cores: above that, others have taken part in the measurement
SETTLED = 20  # small batches before latency counts
WARM = 50  # and before memory is compared: table logs and their checkpoints have their usual size then
SAMPLE = 40


class Row(msgspec.Struct, frozen=True):
    name: str
    value: float
    unit: str
    bar: float | None = None
    ok: bool | None = None
    note: str = ""


def at_least(name: str, value: float, unit: str, bar: float, note: str) -> Row:
    return _judged(Row(name, value, unit, bar, value >= bar, f"at least {bar:g}: {note}"))


def at_most(name: str, value: float, unit: str, bar: float, note: str) -> Row:
    return _judged(Row(name, value, unit, bar, value <= bar, f"at most {bar:g}: {note}"))


def _judged(row: Row) -> Row:
    return row if row.ok else msgspec.structs.replace(row, note=f"BAR MISSED. {row.note}")


# --- rows


class Throughput(msgspec.Struct, frozen=True):
    """One way of landing the same topic, several times."""

    way: str
    results: Sequence[Result]
    message_bytes: int

    def rate(self) -> float:
        return self._median(lambda run: run.whole.messages / run.whole.seconds)

    def cpu(self) -> float:
        return self._median(lambda run: run.whole.cpu) / self.message_bytes * GB

    def steady(self) -> tuple[float, float]:
        """Messages per second and CPU per GB after the first batch, which infers and makes tables."""
        size = self.message_bytes / self._runs()[0].whole.messages
        rate = self._median(lambda run: _after_first(run).messages / _after_first(run).seconds)
        return rate, self._median(lambda run: _after_first(run).cpu / _after_first(run).messages) / size * GB

    def written(self) -> float:
        return self._median(lambda run: run.written / run.whole.messages)

    def jvm(self) -> float:
        return statistics.median(result.peaks.jvm for result in self.results)

    def spread(self) -> str:
        rates = sorted(run.whole.messages / run.whole.seconds for run in self._runs())
        return f"median of {len(rates)}, {rates[0]:,.0f} to {rates[-1]:,.0f}"

    def _runs(self) -> list[Run]:
        return [run for result in self.results for run in result.runs]

    def _median(self, of: Callable[[Run], float]) -> float:
        return statistics.median(map(of, self._runs()))


def _after_first(run: Run) -> Part:
    assert run.first is not None
    whole, first = run.whole, run.first
    if whole.messages == first.messages:
        return whole  # it was the only batch
    return Part(whole.messages - first.messages, whole.seconds - first.seconds, whole.cpu - first.cpu)


def throughput_rows(ours: Throughput, each: Throughput, once: Throughput) -> list[Row]:
    steady, steady_cpu = ours.steady()
    ways = (each, once, ours)
    whole = "the whole run: start, inference, new tables and last commit included"
    return [
        *(Row(f"rate, {way.way}", way.rate(), "messages/s", note=way.spread()) for way in ways),
        Row("rate, penstock, steady", steady, "messages/s", note="after the first batch, which infers the columns"),
        at_least("rate, penstock ÷ (a)", ours.rate() / each.rate(), "×", 4, whole),
        at_least("rate, penstock ÷ (b)", ours.rate() / once.rate(), "×", 2.5, whole),
        *(
            Row(f"CPU, {way.way}", way.cpu(), "s/GB", note="driver, JVM, Python workers; not the broker")
            for way in ways
        ),
        Row("CPU, penstock, steady", steady_cpu, "s/GB", note="after the first batch"),
        at_least("CPU, (a) ÷ penstock", each.cpu() / ours.cpu(), "×", 4, "CPU seconds per GB of messages"),
        at_least("CPU, (b) ÷ penstock", once.cpu() / ours.cpu(), "×", 2.5, "CPU seconds per GB of messages"),
        *(Row(f"Parquet written, {way.way}", way.written(), "B/message") for way in ways),
        *(Row(f"JVM memory, {way.way}", way.jvm() / 2**20, "MiB", note="peak") for way in ways),
        Row("driver memory, penstock", _peak(ours, "driver"), "MiB", note="peak of the Python driver"),
        Row("worker memory, penstock", _peak(ours, "worker"), "MiB", note="peak of the largest Python worker"),
        *_phase_rows(ours),
    ]


def _peak(way: Throughput, part: str) -> float:
    return float(statistics.median(getattr(result.peaks, part) for result in way.results)) / 2**20


def _phase_rows(ours: Throughput) -> list[Row]:
    (phases, *_) = [run.phases for result in ours.results for run in result.runs]
    return [
        Row(f"large batch, {phase}", statistics.median(seconds), "s", note=" ".join(f"{s:.2f}" for s in seconds))
        for phase, seconds in phases.items()
    ]


def transform_rows(result: Result) -> list[Row]:
    """Order books with six transforms, against the same ones without."""

    def median(name: str, of: Callable[[Part], float]) -> float:
        return statistics.median(of(run.whole) for run in result.runs if run.topic == name)

    rates = {name: median(name, lambda part: part.messages / part.seconds) for name in ("as it comes", "transformed")}
    cpus = {name: median(name, lambda part: part.cpu / part.messages * 1e6) for name in rates}
    told = f"{rates['transformed']:,.0f} against {rates['as it comes']:,.0f} messages/s; tables made before"
    return [
        at_least("rate with six transforms", 100 * rates["transformed"] / rates["as it comes"], "%", 70, told),
        Row("CPU, six transforms", cpus["transformed"], "µs/message", note=f"{cpus['as it comes']:.1f} without"),
    ]


def mix_rows(result: Result, five: str, hundred: str, bad: str) -> list[Row]:
    """Many tables and broken messages, each against the same clean topic of five types."""

    def median(topic: str, of: Callable[[Run], float]) -> float:
        return statistics.median(of(run) for run in result.runs if run.topic == topic)

    def cpu(run: Run) -> float:
        return run.whole.cpu / run.whole.messages * 1e6

    def rate(run: Run) -> float:
        return run.whole.messages / run.whole.seconds

    def first(run: Run) -> float:
        return run.first.seconds if run.first else 0.0

    told = f"{median(hundred, cpu):.1f} against {median(five, cpu):.1f} CPU-µs a message; tables made before"
    share = f"{median(bad, rate):,.0f} against {median(five, rate):,.0f} messages/s"
    return [
        at_most("CPU, 100 tables ÷ 5 tables", median(hundred, cpu) / median(five, cpu), "×", 1.5, told),
        Row("time, 100 tables ÷ 5 tables", median(five, rate) / median(hundred, rate), "×", note="wall time a message"),
        Row(
            "first batch, 5 new tables", median(five, first), "s", note="a run of 20,000 messages: claim to last commit"
        ),
        Row("first batch, 100 new tables", median(hundred, first), "s", note="the same"),
        at_least("rate with 1 % bad messages", 100 * median(bad, rate) / median(five, rate), "%", 70, share),
    ]


def small_rows(result: Result) -> list[Row]:
    """Latency of a small batch, and memory over many of them."""
    batches = result.batches
    early, late = batches[SETTLED : SETTLED + SAMPLE], batches[-SAMPLE:]
    seconds = [batch.seconds for batch in early]
    before, after = batches[WARM - 1].driver, batches[-1].driver
    seen = [(number, batches[number - 1].driver / 2**20) for number in (SETTLED, WARM, len(batches))]
    told = "MiB after batches " + ", ".join(f"{number}: {size:.0f}" for number, size in seen)
    what = f"1,000 messages, five tables, from plan to the last commit; batches {SETTLED + 1} to {SETTLED + len(early)}"
    rows = [
        at_most("small batch, p50", statistics.median(seconds), "s", 0.6, what),
        Row("small batch, p95", sorted(seconds)[int(0.95 * (len(seconds) - 1))], "s", note=what),
        Row("small batch, p50, late", statistics.median(b.seconds for b in late), "s", note=f"the last {len(late)}"),
    ]
    phases = {name: statistics.median(batch.phases[name] for batch in early) for name in early[0].phases}
    rows += [Row(f"small batch, {name}", value, "s", note="p50") for name, value in phases.items()]
    return [*rows, at_most("driver memory growth", 100 * (after / before - 1), "%", 10, told)]


def quiet_row(results: Iterable[Result]) -> Row:
    """Was anybody else at work? Then nothing above can be trusted."""
    others = max((run.others for result in results for run in result.runs), default=0.0)
    loud = "NOT A QUIET MACHINE: others took part, the figures above are not to be trusted" if others > NOISY else ""
    return Row("cores used by others", others, "cores", note=loud or "the most during a measured run")


# --- showing


def save(rows: Sequence[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode({"rows": rows})))


def show(rows: Sequence[Row], console: Console) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", "value", "unit", "bar", "", "note"):
        table.add_column(name, justify="right" if name in ("value", "bar") else "left")
    verdicts = {None: "", True: "[green]ok[/]", False: "[bold red]MISSED[/]"}
    for row in rows:
        table.add_row(
            row.name, _shown(row.value), row.unit, "" if row.bar is None else f"{row.bar:g}", verdicts[row.ok], row.note
        )
    console.print(table)
    missed = [row.name for row in rows if row.ok is False]
    told = (
        f"[bold red]{len(missed)} bars missed:[/] {'; '.join(missed)}" if missed else "[green]every bar was reached[/]"
    )
    console.print(told, highlight=False)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"

"""A run that goes on while a test changes the world around it: the real loop in a thread, without Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock import audit
from penstock.config.parts import part
from penstock.crew import Threads
from penstock.errors import Transient
from penstock.instance import Surroundings
from penstock.loop import Until, run
from penstock.observe import BatchReport, Silence
from penstock.pipeline import Pipeline
from penstock.places import storage_opener
from penstock.protocol.begin import Accepted
from penstock.testing import MemoryEngine
from tests.support.process import PATIENCE, eventually


class Notes(Silence):
    """What a run told: why it waited, what it warned of, and its batches."""

    def __init__(self) -> None:
        self.waits: list[Transient] = []
        self.warnings: list[Transient] = []
        self.batches: list[BatchReport] = []

    def waiting(self, why: Transient) -> None:
        self.waits.append(why)

    def warned(self, why: Transient) -> None:
        self.warnings.append(why)

    def batch(self, report: BatchReport) -> None:
        self.batches.append(report)


class Steady:
    """A run in a thread of its own, until it is told to stop."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline, self.notes = pipeline, Notes()
        self.failure: Exception | None = None
        self._crew, self._stopped = Threads(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        around = Surroundings(
            engine=MemoryEngine(),
            crew=self._crew,
            open_table=part("tables", self.pipeline.tables.format),
            open_storage=storage_opener(self.pipeline),
            observer=self.notes,
            stop=self._stopped.is_set,
        )
        try:
            run(self.pipeline, around, Until(), Accepted())
        except Exception as why:  # told to whoever waits
            self.failure = why
        finally:
            self._crew.close()

    def until(self, what: Callable[[], bool]) -> None:
        """Wait until something is true, as long as the run goes on."""

        def there() -> bool:
            assert self._thread.is_alive(), f"the run has ended: {self.failure!r}"
            return what()

        eventually(there, PATIENCE, lambda: f"it waited {len(self.notes.waits)} times: {self.notes.waits[-1:]}")

    def until_it_waits(self, text: str) -> None:
        """Wait until the run says that it waits for this, from now on."""
        before = len(self.notes.waits)
        self.until(lambda: any(text in str(why) for why in self.notes.waits[before:]))

    def stop(self) -> None:
        self._stopped.set()
        self._crew.wake()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the run did not end"


@contextmanager
def steady(pipeline: Pipeline) -> Iterator[Steady]:
    """A run that goes on meanwhile. It must not fail, and what it leaves must be in order."""
    running = Steady(pipeline)
    try:
        yield running
    finally:
        running.stop()
    if running.failure is not None:
        raise running.failure
    found = audit(pipeline)
    assert found.ok, found.wrong

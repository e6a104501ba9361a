"""The demonstration: a real broker, a real topic with several kinds of message, real tables, and the proof."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable, QueryBuilder
from rich.console import Console
from rich.table import Table

from penstock.config.load import load
from penstock.demo.broker import LocalBroker
from penstock.demo.events import events
from penstock.loop import Until
from penstock.observe import Observer, Silence
from penstock.operate.audit import audit
from penstock.operate.show import Screen, show_audit
from penstock.pipeline import Pipeline
from penstock.places import LETTERS
from penstock.running import run

TOPIC, PARTITIONS = "events", 4
_REASONS = (
    "select code, stage, count(*) as messages, min(error) as example from t group by code, stage order by messages desc"
)


def demo(folder: Path, messages: int, console: Console) -> int:
    """Tell the whole story; 0 if it ended well."""
    kept = "going on in" if (folder / "shop.yaml").exists() else "everything is kept in"
    console.print(f"[bold]1.[/] a real Kafka broker on this machine ({kept} {folder}/)", highlight=False)
    with LocalBroker(folder / "broker") as broker:
        _produce(broker.servers, messages, console)
        pipeline = _pipeline(folder, broker.servers)
        console.print(
            f"[bold]3.[/] land it: [dim]penstock run {folder}/shop.yaml --until-caught-up[/]", highlight=False
        )
        with _watched(pipeline, console) as observer:
            run(pipeline, until=Until(caught_up=True), observer=observer, handle_signals=True)
    console.print("[bold]4.[/] what arrived", highlight=False)
    result = audit(pipeline)
    for name in result.tables:
        _show_rows(pipeline, name, console)
    console.print(f"[bold]5.[/] the proof: [dim]penstock audit {folder}/shop.yaml[/]", highlight=False)
    show_audit(result, console)
    _farewell(folder, console)
    return 0 if result.ok else 1


def _produce(servers: str, messages: int, console: Console) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
        try:
            made.result()
        except KafkaException as why:
            if why.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20})
    for number, value in enumerate(events(messages)):
        producer.produce(TOPIC, value, partition=number % PARTITIONS)
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush()
    console.print(
        f"[bold]2.[/] {messages:,} messages in topic '{TOPIC}': three types, 1 % poison, one type nobody asked for",
        highlight=False,
    )


def _pipeline(folder: Path, servers: str) -> Pipeline:
    text = f"""\
app: shop
source:
  kafka: {{servers: "{servers}", topic: {TOPIC}, start: earliest}}
format: json
route:
  by: {{field: eventType}}
  allow: '^(order|page)'
tables:
  base: {folder.absolute()}/lake
  types:
    order.v1: {{partition_by: [date], schema: {{amount: double}}}}
dead_letters: {folder.absolute()}/lake/dead_letters
batch: {{latency: 2s, messages: 20000}}
"""
    (folder / "shop.yaml").write_text(text)
    return load(folder / "shop.yaml")


@contextmanager
def _watched(pipeline: Pipeline, console: Console) -> Iterator[Observer]:
    if not console.is_terminal:
        yield Silence()
        return
    with Screen(pipeline, console) as screen:
        yield screen


def _show_rows(pipeline: Pipeline, name: str, console: Console) -> None:
    base = Path(pipeline.tables.base)
    letters = name == LETTERS
    table = DeltaTable(str(pipeline.dead_letters.table) if letters else str(base / name))
    query = _REASONS if letters else "select * from t limit 3"
    builder = QueryBuilder().register("t", table)
    rows = pa.table(builder.execute(query).read_all())
    shown = Table(
        title="dead letters by reason" if letters else name,
        title_justify="left",
        title_style="bold cyan",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for column in rows.column_names:
        shown.add_column(column, overflow="ellipsis", no_wrap=True, max_width=40)
    for row in rows.to_pylist():
        shown.add_row(*(str(value) for value in row.values()))
    console.print(shown)


def _farewell(folder: Path, console: Console) -> None:
    me = sys.argv[0] if Path(sys.argv[0]).name == "penstock" else "penstock"
    console.print("[bold]Nothing is left running.[/] What to try next:", highlight=False)
    for command, what in (
        (f"{me} audit {folder}/shop.yaml", "the proof again, without broker or Spark"),
        (f"{me} demo --folder {folder}", "it goes on where it stopped; kill it half-way"),
        (f"cat {folder}/lake/_penstock/shop/ledger/*.json", "what was decided, batch by batch"),
    ):
        console.print(f"  {command}", markup=False, highlight=False)
        console.print(f"      {what}", markup=False, highlight=False, style="dim")

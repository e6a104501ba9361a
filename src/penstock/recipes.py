"""What tasks are told, made of what a pipeline declares and of what is known of its tables."""

from __future__ import annotations

from datetime import datetime

from penstock.catalog import Catalog
from penstock.contracts import Home, Refreshes
from penstock.landing.recipe import Recipe
from penstock.pipeline import Pipeline
from penstock.protocol.entry import Entry


def recipe(pipeline: Pipeline, catalog: Catalog, head: Entry, config: str, now: datetime) -> Recipe:
    """How the next batch is landed, as things stand."""
    return Recipe(
        source=pipeline.source,
        format=pipeline.format.refreshed() if isinstance(pipeline.format, Refreshes) else pipeline.format,
        by=pipeline.route.by,
        allow=pipeline.route.allow,
        unrouted=pipeline.route.unrouted if catalog.known.is_current else "wait",
        targets=dict(catalog.targets),
        letters=catalog.letters,
        kept=catalog.unrouted,
        envelope=pipeline.envelope,
        transforms=pipeline.transforms,
        nulls=pipeline.transform_nulls,
        letter_transforms=pipeline.dead_letters.transforms,
        room=pipeline.tables.limit - len(catalog.targets),
        max_columns=pipeline.tables.max_columns,
        source_name=head.source.name,
        config=config,
        now=int(now.timestamp() * 1e6),
        storage=catalog.options,
        fsync=pipeline.fsync,
        home=Home(catalog.ledger_location, catalog.options),
        held=catalog.held(),
        skips=head.skips,
    )

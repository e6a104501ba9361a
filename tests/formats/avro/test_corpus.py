"""The corpus: every hostile message is refused under its code, and declined by the fast path; nobody dies of it."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

from penstock.formats.avro.decoder import AvroDecoder
from tests.formats.avro.corpus import BAD, Bad
from tests.formats.avro.oracle import COPIES, referred

SECONDS = 2.0
BYTES = 1_500 * 2**20


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_bad_message_is_refused_and_declined(bad: Bad) -> None:
    decoder, start = AvroDecoder(bad.schema), time.process_time()
    copies = COPIES if len(bad.body) < 10_000 else 2

    _, declined = decoder.columns(pa.array([bad.body] * copies, pa.binary()))

    assert declined.all()
    assert referred(decoder, bad.body) == bad.code
    assert time.process_time() - start < SECONDS


def test_bad_messages_do_no_harm_to_good_ones_beside_them() -> None:
    by_schema: dict[str, list[bytes]] = {}
    for bad in BAD:
        by_schema.setdefault(bad.schema, []).append(bad.body)
    schema = '"string"'
    good = [b"\x02" + bytes([97 + i % 26]) for i in range(300)]
    bodies = [body for pair in zip(good, (by_schema[schema] * 300)[:300], strict=True) for body in pair]

    rows, declined = AvroDecoder(schema).columns(pa.array(bodies, pa.binary()))

    assert rows["value"].to_pylist() == [body[1:].decode() for body in good]
    assert np.flatnonzero(~declined).tolist() == list(range(0, 600, 2))


def test_all_of_it_fits_into_little_memory() -> None:
    """In a process of its own, which would die of more."""
    script = (
        "import pyarrow as pa\n"
        "from penstock.formats.avro.decoder import AvroDecoder\n"
        "from tests.formats.avro.corpus import BAD\n"
        "from tests.formats.avro.oracle import referred\n"
        "for bad in BAD:\n"
        "    decoder = AvroDecoder(bad.schema)\n"
        "    referred(decoder, bad.body)\n"
        "    decoder.columns(pa.array([bad.body] * (64 if len(bad.body) < 10_000 else 2), pa.binary()))\n"
        "print(len(BAD))"
    )

    def little_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=little_memory)

    assert told.stderr == ""
    assert told.stdout.strip() == str(len(BAD))


def test_corpus_is_as_large_as_promised_and_all_different() -> None:
    assert len({(bad.schema, bad.body) for bad in BAD}) == len({bad.name for bad in BAD}) == len(BAD) >= 150

"""Hostile payloads through both paths: each becomes what it must, and nothing is used up by any of them."""

from __future__ import annotations

import contextlib
import resource
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.formats.protobuf.decoder import ProtobufDecoder
from penstock.values.plain import Refusal
from tests.formats.protobuf.corpus import CORPUS, WHOLE, Case, types
from tests.formats.protobuf.oracle import agree, reference

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def decoder() -> ProtobufDecoder:
    return ProtobufDecoder(types().named("c.Rich"))


def test_corpus_is_large_and_names_are_its_own() -> None:
    assert len({name for name, _, _ in CORPUS}) == len(CORPUS) >= 120


@pytest.mark.parametrize("case", CORPUS, ids=[name for name, _, _ in CORPUS])
def test_payload_becomes_what_it_must_on_both_paths(case: Case, decoder: ProtobufDecoder) -> None:
    _, body, code = case
    found = reference(decoder, body)
    assert (found.code if isinstance(found, Refusal) else None) == code
    declined = agree(decoder, [WHOLE, body, WHOLE])
    assert not declined[0]
    assert not declined[2], "its neighbours do not suffer for it"


def test_whole_corpus_takes_little_memory_and_time() -> None:
    """In a process of its own, which a crash or too much of anything would end."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.formats.protobuf.test_corpus"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.split() == ["decided", str(len(CORPUS))]


def decide_all() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    decoder = ProtobufDecoder(types().named("c.Rich"))
    decoder.columns(pa.array([WHOLE], pa.binary()))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _, declined = decoder.columns(pa.array([body for _, body, _ in CORPUS], pa.binary()))
    decided = int((~declined).sum())
    for (_, body, _), is_left in zip(CORPUS, declined, strict=True):
        if is_left:
            start = time.process_time()
            with contextlib.suppress(Refusal):
                decoder.plain(body)
            assert time.process_time() - start < 5
            decided += 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000, "kilobytes"
    print("decided", decided)


if __name__ == "__main__":
    decide_all()

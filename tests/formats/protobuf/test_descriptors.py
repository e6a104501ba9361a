from __future__ import annotations

import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from penstock.errors import Transient
from penstock.formats.protobuf import descriptors
from penstock.formats.protobuf.descriptors import compile_source, from_compiled, from_descriptors
from penstock.values.plain import Refusal
from tests.formats.protobuf.corpus import OLD

TIMES = """syntax = "proto3"; package t; import "google/protobuf/timestamp.proto"; import "sub/old.proto";
message Times { google.protobuf.Timestamp at = 1; old.Old old = 2; }"""


def file(name: str, *imports: str, package: str = "p") -> FileDescriptorProto:
    made = FileDescriptorProto(name=name, package=package, syntax="proto3", dependency=imports)
    made.message_type.add(name=name.split(".", maxsplit=1)[0].title())
    return made


def descriptor_set(*files: FileDescriptorProto) -> bytes:
    return FileDescriptorSet(file=files).SerializeToString()


def refusal(source: str, references: dict[str, str] | None = None) -> str:
    with pytest.raises(Refusal) as why:
        compile_source(source, references)
    assert (why.value.stage, why.value.code) == ("parse", "protobuf.schema")
    return why.value.text


# --- source text


def test_source_is_compiled_with_its_references_and_the_well_known_types() -> None:
    found = compile_source(TIMES, {"sub/old.proto": OLD})
    assert found.main.name == "schema.proto"
    assert found.named("t.Times").fields_by_name["old"].message_type is found.named("old.Old")
    with pytest.raises(Refusal, match=r"no message type t\.Nope"):
        found.named("t.Nope")


def test_the_same_names_may_mean_something_else_in_another_schema() -> None:
    one = compile_source('syntax = "proto3"; message M { int32 a = 1; }').named("M")
    other = compile_source('syntax = "proto3"; message M { string b = 1; }').named("M")
    assert ([f.name for f in one.fields], [f.name for f in other.fields]) == (["a"], ["b"])


@pytest.mark.parametrize("name", ["/etc/hostname", "../secret.proto", "files/../../secret.proto", "secret.proto"])
def test_no_file_of_the_machine_can_be_imported(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.proto").write_text('syntax = "proto3"; message Secret {}')
    monkeypatch.chdir(tmp_path)
    text = refusal(f'syntax = "proto3"; import "{name}"; message M {{ Secret s = 1; }}')
    assert "not found" in text or "not allowed" in text


@pytest.mark.parametrize(
    "name", ["../up.proto", "/abs.proto", "a/../b.proto", "", "-Ifoo", "@args", "a\x00b", "a//b", "."]
)
def test_references_cannot_be_written_elsewhere(name: str) -> None:
    assert "cannot be the name of a schema file" in refusal('syntax = "proto3";', {name: OLD})


def test_reference_that_is_a_folder_of_others_is_refused() -> None:
    assert "a folder" in refusal('syntax = "proto3";', {"a": OLD, "a/b.proto": OLD})


def test_well_known_types_are_what_they_are_whatever_a_reference_says() -> None:
    fake = 'syntax = "proto3"; package google.protobuf; message Timestamp { string seconds = 1; }'
    found = compile_source(TIMES, {"sub/old.proto": OLD, "google/protobuf/timestamp.proto": fake})
    timestamp = found.named("google.protobuf.Timestamp")
    assert [field.name for field in timestamp.fields] == ["seconds", "nanos"]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "hello",
        "message M {",
        'syntax = "proto9";',
        'syntax = "proto3"; message M { Nope n = 1; }',
        'syntax = "proto3"; import "schema.proto";',
        "message A{" * 3_000 + "}" * 3_000,
        "/*" * 10_000,
        "\x00\udcff",
        'syntax = "proto3"; message M { int32 a = 1; int32 b = 1; }',
    ],
)
def test_source_that_is_none_is_refused_with_what_protoc_says(source: str) -> None:
    if source:
        assert refusal(source).startswith("protoc refuses the schema: ")
    else:
        assert not compile_source(source).main.message_types_by_name


def test_source_is_limited_in_bytes_and_message_types() -> None:
    assert "1000000 bytes" in refusal("//" + "x" * 1_000_000)
    many = 'syntax = "proto3";' + "".join(f"message M{n} {{}}" for n in range(1_001))
    assert "more than 1000 message types" in refusal(many)


def test_compiler_that_cannot_be_run_is_no_fault_of_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/nowhere"])
    with pytest.raises(Transient, match="protoc cannot be run"):
        compile_source('syntax = "proto3"; message M {}')


# --- descriptors


def test_descriptors_of_a_set_have_the_last_file_as_their_main_one() -> None:
    found = from_descriptors(descriptor_set(file("a.proto"), file("b.proto", "a.proto", package="q")))
    assert (found.main.name, found.named("p.A").name, found.named("q.B").name) == ("b.proto", "A", "B")


def test_a_single_file_is_taken_too_and_needs_no_well_known_types_beside_it() -> None:
    one = file("a.proto", "google/protobuf/timestamp.proto")
    kind = FieldDescriptorProto.TYPE_MESSAGE
    one.message_type[0].field.add(name="t", number=1, label=1, type=kind, type_name=".google.protobuf.Timestamp")
    assert from_descriptors(one.SerializeToString()).named("p.A").fields[0].message_type is not None


@pytest.mark.parametrize(
    "given", [b"", b"\x00", b"hello", b"\xff" * 50, b"\x0a\x00", descriptor_set(file("../a.proto"))]
)
def test_bytes_that_are_no_descriptors_are_refused(given: bytes) -> None:
    with pytest.raises(Refusal, match=r"not descriptors|cannot be the name"):
        from_descriptors(given)


def test_descriptors_that_make_no_sense_never_reach_the_library() -> None:
    """Which trusts them: a map entry without a value ends the process when a message is copied."""
    broken = file("a.proto")
    entry = broken.message_type[0].nested_type.add(name="MEntry")
    entry.options.map_entry = True
    kind = FieldDescriptorProto.TYPE_MESSAGE
    broken.message_type[0].field.add(name="m", number=1, label=3, type=kind, type_name=".p.A.MEntry")
    with pytest.raises(Refusal, match="protoc refuses the schema"):
        from_descriptors(broken.SerializeToString())


def test_missing_and_circular_imports_are_refused() -> None:
    with pytest.raises(Refusal, match="protoc refuses"):
        from_descriptors(descriptor_set(file("a.proto", "b.proto")))
    with pytest.raises(Refusal, match=r"files are missing: b\.proto"):
        from_compiled(descriptor_set(file("a.proto", "b.proto")))
    with pytest.raises(Refusal, match="import each other"):
        from_compiled(descriptor_set(file("a.proto", "b.proto"), file("b.proto", "a.proto")))


def test_descriptors_are_limited_in_depth_and_size() -> None:
    deep = file("a.proto")
    inner = deep.message_type[0]
    for _ in range(64):
        inner = inner.nested_type.add(name="N")
    with pytest.raises(Refusal, match="more than 64 deep"):
        from_compiled(deep.SerializeToString())
    with pytest.raises(Refusal, match="the limit is 1000000"):
        from_descriptors(bytes(descriptors.MAX_BYTES + 1))

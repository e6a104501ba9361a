"""The Protobuf format. Start at `format.py`; `reference.py` says what is right, `columns.py` is fast."""

from penstock.formats.protobuf.format import ProtobufFormat as ProtobufFormat

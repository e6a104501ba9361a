"""The Avro format. Start at `format.py`; `reference.py` says what is right, `columns.py` is fast."""

from penstock.formats.avro.format import AvroFormat as AvroFormat

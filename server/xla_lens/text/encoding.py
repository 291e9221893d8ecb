"""The units in which editors count columns."""

from enum import StrEnum


class Encoding(StrEnum):
    """The unit of columns. The values are those of the protocol's `PositionEncodingKind`."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

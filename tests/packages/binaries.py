"""Which system and processor a compiled file is for, from its first bytes."""

import struct
from typing import Final

_ELF: Final = {62: "x86_64", 183: "aarch64"}
_MACH_O: Final = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
_PE: Final = {0x8664: "x86_64", 0xAA64: "aarch64"}


def platform_of(data: bytes) -> str:
    """Return such as "linux x86_64". Raises `ValueError` for anything else than 64-bit ELF, Mach-O and PE."""
    if data.startswith(b"\x7fELF\x02"):
        return f"linux {_ELF[struct.unpack_from('<H', data, 18)[0]]}"
    if data.startswith(b"\xcf\xfa\xed\xfe"):
        return f"macos {_MACH_O[struct.unpack_from('<I', data, 4)[0]]}"
    if data.startswith(b"MZ"):
        (start,) = struct.unpack_from("<I", data, 60)
        return f"windows {_PE[struct.unpack_from('<H', data, start + 4)[0]]}"
    raise ValueError(f"no compiled file: {data[:8]!r}")

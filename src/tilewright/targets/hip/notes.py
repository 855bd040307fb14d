"""What a code object states about its kernels: registers, spills, scratch memory, LDS.

An ELF file of AMD's has a note of the owner ``AMDGPU`` whose contents are a map in MessagePack
(LLVM, "User Guide for AMDGPU Backend", "Code Object V5 Metadata"). It is read here, so that
registers and spills are known wherever the code object comes from.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright.targets.hip.msgpack import Value, unpack

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little endian
_NOTE_SEGMENT = 4
_METADATA = 32
"""NT_AMDGPU_METADATA"""
_OWNER = b"AMDGPU"


class BadCodeObject(ValueError):
    """Bytes that are not a code object with metadata."""


@dataclass(frozen=True)
class KernelNote:
    """What the compiler recorded about one kernel."""

    name: str
    vgprs: int
    """Vector registers of a lane; with AGPRs, where the two share a file."""
    agprs: int
    sgprs: int
    vgpr_spills: int
    """Stores of vector registers to where the register allocator spills them."""
    sgpr_spills: int
    """The same of scalar registers: they go to lanes of vector registers, if there are."""
    scratch_bytes: int
    """Private memory of a lane."""
    lds_bytes: int
    """Of arrays whose size the source gives; a launch may add to them."""
    max_threads: int
    wave: int
    kernarg_bytes: int
    arguments: tuple[tuple[int, int, str], ...]
    """Offset, size and kind of each, ``hidden_...`` ones too."""

    @property
    def visible_arguments(self) -> tuple[tuple[int, int, str], ...]:
        """Those that a launch passes."""
        return tuple(each for each in self.arguments if not each[2].startswith("hidden_"))


def kernel_notes(code_object: bytes) -> dict[str, KernelNote]:
    """The kernels of a code object, by name."""
    metadata = _metadata(code_object)
    kernels = metadata.get("amdhsa.kernels")
    if not isinstance(kernels, list):
        raise BadCodeObject("the metadata of the code object has no kernels")
    found = [_kernel(each) for each in kernels if isinstance(each, dict)]
    return {each.name: each for each in found}


def architecture(code_object: bytes) -> str:
    """The chip that it was compiled for: ``gfx942``."""
    target = _metadata(code_object).get("amdhsa.target")
    return str(target).partition(":")[0].rpartition("-")[2]


def _metadata(code_object: bytes) -> Mapping[str, Value]:
    try:
        for owner, kind, contents in _notes(code_object):
            if owner == _OWNER and kind == _METADATA:
                found = unpack(contents)
                if isinstance(found, dict):
                    return found
    except (struct.error, ValueError) as error:
        raise BadCodeObject(f"damaged code object: {error}") from None
    raise BadCodeObject("no AMDGPU metadata in the code object")


def _notes(elf: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Owner, type and contents of every note."""
    if not elf.startswith(_MAGIC):
        raise BadCodeObject("not a code object: no 64-bit ELF file")
    (headers_at,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for index in range(count):
        kind, _, offset, _, _, length = struct.unpack_from(
            "<IIQQQQ", elf, headers_at + index * size
        )
        if kind == _NOTE_SEGMENT:
            yield from _segment(elf[offset : offset + length])


def _segment(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    at = 0
    while at + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        name_at = at + 12
        contents_at = name_at + _aligned(name_size)
        owner = data[name_at : name_at + name_size].rstrip(b"\0")
        yield owner, kind, data[contents_at : contents_at + size]
        at = contents_at + _aligned(size)


def _aligned(size: int) -> int:
    return -(-size // 4) * 4


def _kernel(given: Mapping[str, Value]) -> KernelNote:
    listed = given.get(".args")
    arguments = listed if isinstance(listed, list) else []
    return KernelNote(
        name=str(given.get(".name", "")),
        vgprs=_integer(given, ".vgpr_count"),
        agprs=_integer(given, ".agpr_count"),
        sgprs=_integer(given, ".sgpr_count"),
        vgpr_spills=_integer(given, ".vgpr_spill_count"),
        sgpr_spills=_integer(given, ".sgpr_spill_count"),
        scratch_bytes=_integer(given, ".private_segment_fixed_size"),
        lds_bytes=_integer(given, ".group_segment_fixed_size"),
        max_threads=_integer(given, ".max_flat_workgroup_size"),
        wave=_integer(given, ".wavefront_size"),
        kernarg_bytes=_integer(given, ".kernarg_segment_size"),
        arguments=tuple(
            (_integer(each, ".offset"), _integer(each, ".size"), str(each.get(".value_kind")))
            for each in arguments
            if isinstance(each, dict)
        ),
    )


def _integer(given: Mapping[str, Value], name: str) -> int:
    value = given.get(name, 0)
    return value if isinstance(value, int) else 0

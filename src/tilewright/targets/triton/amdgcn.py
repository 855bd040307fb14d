"""What AMD's assembly reports about itself: registers, spills, scratch and static LDS.

Triton's LLVM ends the text with the metadata that also becomes the note of the code object::

    amdhsa.kernels:
      - .agpr_count:     64
        .vgpr_count:     320          AGPRs included
        .vgpr_spill_count: 0

There is one entry a kernel, and one kernel a module.
"""

from __future__ import annotations

import re

from tilewright.targets.triton.ptxas import Assembled

_REGISTER_BYTES = 4
_NOTE = re.compile(r"\.amdgpu_metadata\n(.*?)\.end_amdgpu_metadata", re.DOTALL)
_ARGUMENT = re.compile(r"^\s+(?:- )?\.value_kind:\s+(\w+)", re.MULTILINE)
_HIDDEN_BY_HARDWARE = "hidden_"


class NoMetadata(Exception):
    """The assembly has no metadata of a kernel."""


def described(code: bytes, assembly: str, version: str) -> Assembled:
    """The code object `code` with what its `assembly` reports."""
    note = _note(assembly)
    return Assembled(
        code,
        version=version,
        registers=_entry(note, "vgpr_count"),
        stack_bytes=_entry(note, "private_segment_fixed_size"),
        spill_stores=_REGISTER_BYTES * _entry(note, "vgpr_spill_count"),
        scalar_registers=_entry(note, "sgpr_count"),
        scalar_spills=_entry(note, "sgpr_spill_count"),
        accumulation_registers=_entry(note, "agpr_count"),
        static_shared=_entry(note, "group_segment_fixed_size"),
    )


def argument_count(assembly: str) -> int:
    """How many arguments the kernel in `assembly` takes from its caller."""
    kinds = _ARGUMENT.findall(_note(assembly))
    return sum(not kind.startswith(_HIDDEN_BY_HARDWARE) for kind in kinds)


def _note(assembly: str) -> str:
    found = _NOTE.search(assembly)
    if found is None:
        raise NoMetadata("AMD assembly without .amdgpu_metadata")
    return found[1]


def _entry(note: str, name: str) -> int:
    """An integer of the note; 0 for what the chip does not have (AGPRs outside of gfx9)."""
    found = re.search(rf"^\s+(?:- )?\.{name}:\s+(\d+)\s*$", note, re.MULTILINE)
    return int(found[1]) if found else 0

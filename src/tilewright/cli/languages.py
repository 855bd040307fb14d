"""In which language a kernel on pointers is written, as its IR shows."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.traversal import walk

LANGUAGES = ("tl", "tlx", "T")
_OF_TLX = ("tlx", "ttg", "ttng", "amdg")
"""Dialects of which `tl` alone makes no op."""


def is_tlx(module: ModuleOp) -> bool:
    """Whether a traced kernel uses anything of `tlx`."""
    return any(op.name.partition(".")[0] in _OF_TLX for op in walk(module))


def has_specs(module: ModuleOp) -> bool:
    """Whether a kernel declares storage that buffers share."""
    return any(op.name == "tlx.storage_alias_spec" for op in walk(module))

"""Printer flavours: the same IR in the spelling of a given consumer.

Triton's text drifts from release to release, and the TLX fork is a release of its own. Dialects
hold one definition per op; where the spelling differs, the printing method queries the flavour.
The parser needs no flavour: it accepts every spelling.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flavour:
    """Whose text to write.

    `version` is that of the Triton release whose parser will read the text, as (major, minor).
    `names_from_locations`: SSA names are taken from ``loc("name"(...))``, as Triton does when it
    prints a module; `mlir-opt` and the lit tests do not.
    """

    name: str
    version: tuple[int, int]
    is_tlx: bool = False
    names_from_locations: bool = True

    def at_least(self, major: int, minor: int) -> bool:
        return self.version >= (major, minor)


TRITON_3_6 = Flavour("triton-3.6", (3, 6))
TRITON_3_7 = Flavour("triton-3.7", (3, 7))
TRITON_3_8 = Flavour("triton-3.8", (3, 8))
TRITON_3_9 = Flavour("triton-3.9", (3, 9))
TLX = Flavour("tlx", (3, 7), is_tlx=True)

DEFAULT = TRITON_3_9
FLAVOURS = {f.name: f for f in (TRITON_3_6, TRITON_3_7, TRITON_3_8, TRITON_3_9, TLX)}


def flavour_named(name: str) -> Flavour:
    """The flavour called `name`; raises ValueError with the known names."""
    if name not in FLAVOURS:
        raise ValueError(f"unknown flavour '{name}'; known: {', '.join(FLAVOURS)}")
    return FLAVOURS[name]

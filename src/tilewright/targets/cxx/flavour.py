"""What differs between dialects of C++: one value for CUDA, one for HIP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Attribute


@dataclass(frozen=True)
class CType:
    """A type of C++."""

    name: str
    bits: int
    header: str | None = None
    """The vendor's header that declares it."""
    is_float: bool = False
    has_arithmetic: bool = True
    """Whether the language has operators for it; otherwise values go through `float`."""
    from_float: bool = False
    """Whether only floats convert to it, and integers go through `float`."""
    definition: str | None = None
    """The name in our own header of what declares it."""

    @property
    def bytes(self) -> int:
        return max(1, self.bits // 8)


FLOAT = CType("float", 32, is_float=True)
DOUBLE = CType("double", 64, is_float=True)
INT = CType("int", 32)
LONG = CType("long long", 64)


@dataclass(frozen=True)
class Flavour:
    """A dialect of C++."""

    name: str
    """As messages call it."""
    types: Mapping[type[Attribute], CType]
    """Types of IR that are neither integers nor indices."""
    vectors: Mapping[int, CType]
    """What one access of so many bytes is called."""
    packed: Mapping[tuple[str, str], str]
    """Functions of ours that convert two neighbouring elements, by the names of both types."""
    identities: Mapping[str, str]
    """How indices of threads and blocks are written; ``{}`` is the dimension."""
    identity_type: str
    """The C++ type of those."""
    special_float: Callable[[int], str]
    """An infinity, or what is not a number, from its bits: no standard header defines them."""
    special_double: Callable[[int], str]
    library: Mapping[str, str] | None = None
    """Names of library functions where they are not those of C; None if all are ours."""
    approximate: Mapping[str, str] = field(default_factory=dict[str, str])
    """Functions of ours for ops on `float` whose flags allow approximations (``afn``), by op."""
    adds_offsets_first: bool = False
    """Whether terms of an offset in global memory are added before the pointer.

    NVIDIA's compiler splits a wide access into narrow ones if its address is several additions to a
    pointer, each widened to 64 bits by itself.
    """

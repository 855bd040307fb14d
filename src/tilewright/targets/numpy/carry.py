"""How a value passes a control-flow join: a loop, a branch, a call.

On either side of such a point a value must consist of the same Python variables with the same
shapes. A `Packing` lists them as slots, each a key and its live axes::

    tensor     x  and, if it may be undefined somewhere, ok
    pointer    p<axes> for each of its terms, and ok
    block      those of its base, n0 … s0 … o0 … for extents, strides, offsets, and fill

Where two packings join, the result has the slots of both, with the live axes of both. A slot that
a value lacks is filled in: a missing term is 0, a missing `ok` is True.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Attribute

from tilewright.dialects.type_utils import shape_of
from tilewright.targets.numpy.emitter import Emitter
from tilewright.targets.numpy.values import (
    PROGRAM,
    EmittedBlock,
    Expr,
    Pointer,
    Shadow,
    Shadows,
    Tensor,
    Value,
)

_OK = "ok"


@dataclass(frozen=True)
class Packing:
    """The slots of a value."""

    kind: type[Tensor] | type[Pointer] | type[EmittedBlock]
    slots: Mapping[str, int]
    """Live axes by key, in the order of variables."""
    root: int | None = None
    shadow: Shadow | None = None
    """Why the value may be undefined."""
    extents: tuple[int, ...] = ()

    def key(self) -> object:
        """What distinguishes packings."""
        return self.kind, tuple(self.slots.items()), self.root, self.extents

    def rank(self, slot: str, type: Attribute) -> int:
        """The rank of a slot of a value of this type."""
        return len(_shape(self.kind, slot, type))


def _shape(kind: type[Value], slot: str, type: Attribute) -> tuple[int, ...]:
    # The parts of a block are numbers, whatever shape the block has.
    return () if kind is EmittedBlock else shape_of(type)


def pack(emitter: Emitter, value: Value) -> tuple[Packing, dict[str, Expr]]:
    """The slots of a value, and what is in them."""
    exprs: dict[str, Expr] = {}
    if isinstance(value, Tensor):
        exprs["x"] = value.expr
        _add_shadow(emitter, exprs, value.shadows)
        slots = {key: expr.axes for key, expr in exprs.items()}
        return Packing(Tensor, slots, shadow=_first(value.shadows)), exprs
    base = value.base if isinstance(value, EmittedBlock) else value
    exprs.update((f"p{term.axes}", term) for term in base.terms)
    _add_shadow(emitter, exprs, base.shadows)
    if isinstance(value, EmittedBlock):
        for letter, parts in (("n", value.shape), ("s", value.strides), ("o", value.offsets)):
            exprs.update((f"{letter}{index}", part) for index, part in enumerate(parts))
        exprs["fill"] = value.fill
    slots = {key: expr.axes for key, expr in exprs.items()}
    extents = value.extents if isinstance(value, EmittedBlock) else ()
    packing = Packing(type(value), slots, base.root, _first(base.shadows), extents)
    return packing, exprs


def _add_shadow(emitter: Emitter, exprs: dict[str, Expr], shadows: Shadows) -> None:
    if shadows:
        exprs[_OK] = emitter.conjunction([each.expr for each in shadows])


def _first(shadows: Shadows) -> Shadow | None:
    return shadows[0] if shadows else None


def join(one: Packing, other: Packing) -> Packing:
    """What holds both."""
    slots = dict(one.slots)
    for key, axes in other.slots.items():
        slots[key] = slots.get(key, 0) | axes
    root = one.root if one.root == other.root else None
    return replace(one, slots=slots, root=root, shadow=one.shadow or other.shadow)


def widened(packing: Packing) -> Packing:
    """What holds a different value for each program."""
    slots: dict[str, int] = {}
    for key, axes in packing.slots.items():
        slots[_widened_key(key)] = axes | PROGRAM
    return replace(packing, slots=slots)


def _widened_key(key: str) -> str:
    return f"p{int(key[1:]) | PROGRAM}" if key[0] == "p" else key


def fit(emitter: Emitter, value: Value, type: Attribute, packing: Packing) -> list[Expr]:
    """What to put into the slots of `packing` for `value`, in their order."""
    _, exprs = pack(emitter, value)
    filled: dict[str, Expr] = {}
    for key, expr in exprs.items():
        slot = key if key in packing.slots else _widened_key(key)
        known = filled.get(slot)
        filled[slot] = expr if known is None else emitter.pure("{0} + {1}", known, expr)
    return [
        _in_shape(emitter, filled.get(slot), slot, axes, _shape(packing.kind, slot, type))
        for slot, axes in packing.slots.items()
    ]


def _in_shape(
    emitter: Emitter, expr: Expr | None, slot: str, axes: int, shape: Sequence[int]
) -> Expr:
    if expr is None:
        is_shadow = slot == _OK
        expr = emitter.constant(
            "np.True_" if is_shadow else "i64(0)", "yes" if is_shadow else "i64_0"
        )
    return emitter.grown(expr, shape, axes)


def unpack(packing: Packing, exprs: Sequence[Expr]) -> Value:
    """The value in these variables."""
    by_key = dict(zip(packing.slots, exprs, strict=True))
    shadow = packing.shadow
    shadows = () if shadow is None else (shadow.on(by_key[_OK]),)
    if packing.kind is Tensor:
        return Tensor(by_key["x"], shadows=shadows)
    terms = tuple(expr for key, expr in by_key.items() if key[0] == "p")
    base = Pointer(terms, packing.root, shadows)
    if packing.kind is Pointer:
        return base
    rank = sum(key[0] == "n" for key in by_key)
    return EmittedBlock(
        base,
        tuple(by_key[f"n{index}"] for index in range(rank)),
        tuple(by_key[f"s{index}"] for index in range(rank)),
        tuple(by_key[f"o{index}"] for index in range(rank) if f"o{index}" in by_key),
        packing.extents,
        by_key["fill"],
    )

"""Checks that generated code makes: no undefined lane is used for anything that can be seen."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.targets.numpy.emitter import Emitter
from tilewright.targets.numpy.ops.arith.integer import implied
from tilewright.targets.numpy.values import Expr, Value, shadows_of


def tuple_text(start: int, count: int) -> str:
    """A tuple of operands in a template, from number `start` on."""
    items = [f"{{{start + index}}}" for index in range(count)]
    return f"({items[0]},)" if count == 1 else f"({', '.join(items)})"


def require_defined(
    emitter: Emitter,
    value: Value,
    what: str,
    mask: Sequence[Expr],
    ignored: Collection[str] = (),
) -> None:
    """Check that `value` is defined wherever `mask` holds, unless the mask implies it.

    What is undefined for one of the `ignored` reasons is let pass.
    """
    shadows = [
        each
        for each in shadows_of(value)
        if each.why not in ignored and not implied(each, tuple(mask))
    ]
    if not shadows:
        return
    source_id = emitter.unit.source_id(emitter.location)
    reasons = {id(each.origin): (each.origin, each.why) for each in shadows}
    origins = tuple(emitter.unit.source_id(origin, why) for origin, why in reasons.values())
    defined = tuple_text(1, len(shadows))
    masks = tuple_text(1 + len(shadows), len(mask))
    emitter.effect(
        f"{{0}}.need({source_id}, {what!r}, {defined}, {origins}, {masks})",
        emitter.checker,
        *[each.expr for each in shadows],
        *mask,
    )

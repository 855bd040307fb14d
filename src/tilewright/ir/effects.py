"""What an op does besides computing its results.

Effects are xDSL's ``MemoryEffect`` traits; an op without one may do anything. The functions here
differ from ``xdsl.traits.get_effects`` in that they need no recursion for ``RecursiveMemoryEffect``
and stop at the first effect that decides the query.
"""

from collections.abc import Iterator
from functools import cache

from xdsl.ir import Operation, SSAValue
from xdsl.traits import (
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    NoMemoryEffect,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)

from tilewright.ir.traversal import children_backwards


def iter_effects(op: Operation) -> Iterator[EffectInstance | None]:
    """The effects of ``op`` and, if its effects are recursive, of its body; ``None``: unknown."""
    pending = [iter((op,))]
    while pending:
        current = next(pending[-1], None)
        if current is None:
            pending.pop()
            continue
        yield from own_effects(current)
        if has_effects_of_body(type(current)):
            pending.append(children_backwards(current))


def own_effects(op: Operation) -> Iterator[EffectInstance | None]:
    """The effects of ``op`` without those of its body; ``None``: unknown."""
    traits = _memory_effects(type(op))
    if not traits:
        yield None
    for trait in traits:
        if isinstance(trait, RecursiveMemoryEffect):
            continue
        effects = trait.get_effects(op)
        if effects is None:
            yield None
        else:
            yield from effects


@cache
def has_effects_of_body(cls: type[Operation]) -> bool:
    """Whether the effects of an op of the class are, in part, those of its body."""
    return any(isinstance(trait, RecursiveMemoryEffect) for trait in _memory_effects(cls))


@cache
def _memory_effects(cls: type[Operation]) -> tuple[MemoryEffect, ...]:
    return tuple(cls.get_traits_of_type(MemoryEffect))


def is_removable(op: Operation) -> bool:
    """Whether nothing is lost with ``op`` once its results are unused.

    Reading is not observable, nor is allocating what ``op`` itself returns.
    """
    if never_removable(type(op)):
        return False
    return all(effect and _is_unobservable(effect, op) for effect in iter_effects(op))


def is_dead(op: Operation) -> bool:
    """Whether ``op`` can be erased now: it is unused and has no effect."""
    return not any(result.first_use for result in op.results) and is_removable(op)


@cache
def never_removable(cls: type[Operation]) -> bool:
    """Whether ``is_removable`` is false for every op of the class, whatever it contains."""
    if cls.get_trait(IsTerminator) is not None or cls.get_trait(SymbolOpInterface) is not None:
        return True
    return cls.get_trait(MemoryEffect) is None


@cache
def always_removable(cls: type[Operation]) -> bool:
    """Whether ``is_removable`` is true for every op of the class, whatever it contains."""
    if never_removable(cls):
        return False
    return all(isinstance(trait, NoMemoryEffect) for trait in _memory_effects(cls))


def _is_unobservable(effect: EffectInstance, op: Operation) -> bool:
    if effect.kind is MemoryEffectKind.READ:
        return True
    return (
        effect.kind is MemoryEffectKind.ALLOC
        and isinstance(effect.value, SSAValue)
        and op.is_ancestor(effect.value.owner)
    )

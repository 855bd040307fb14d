"""What an op does besides computing its results.

Effects are xDSL's ``MemoryEffect`` traits; an op without one may do anything. The functions here
differ from ``xdsl.traits.get_effects`` in that they need no recursion for ``RecursiveMemoryEffect``
and stop at the first effect that decides the query.
"""

from abc import abstractmethod
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cache

from typing_extensions import override
from xdsl.ir import Operation, SSAValue
from xdsl.traits import (
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    MemoryWriteEffect,
    NoMemoryEffect,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)

from tilewright.ir.traversal import children_backwards


class EffectsInOrder(MemoryEffect):
    """Effects that are computed on demand, so that a query may stop at the one that decides."""

    @abstractmethod
    def iter_effects(self, op: Operation) -> Iterator[EffectInstance]:
        """The effects of ``op``; those that keep it from being removed come first."""

    @property
    def certain(self) -> frozenset[MemoryEffectKind]:
        """Kinds of effects that every op with this trait has."""
        return frozenset()

    def has_writes(self, op: Operation) -> bool:
        """Whether an effect keeps ``op`` from being removed; may be known without the effects."""
        return not all(_is_unobservable(effect, op) for effect in self.iter_effects(op))

    @override
    # xDSL declares it as a class method.
    def get_effects(self, op: Operation) -> AbstractSet[EffectInstance]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return set(self.iter_effects(op))


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
        if isinstance(trait, EffectsInOrder):
            yield from trait.iter_effects(op)
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


@cache
def _only_ordered(cls: type[Operation]) -> EffectsInOrder | None:
    """The trait that has all effects of an op of the class, if it computes them on demand."""
    traits = _memory_effects(cls)
    only = traits[0] if len(traits) == 1 else None
    return only if isinstance(only, EffectsInOrder) else None


def is_removable(op: Operation) -> bool:
    """Whether nothing is lost with ``op`` once its results are unused.

    Reading is not observable, nor is allocating what ``op`` itself returns.
    """
    cls = type(op)
    if never_removable(cls):
        return False
    if not op.regions:
        return _is_droppable(op, op)
    pending = [iter((op,))]
    while pending:
        current = next(pending[-1], None)
        if current is None:
            pending.pop()
        elif not _is_droppable(current, op):
            return False
        elif current.regions and _is_recursive(type(current)):
            pending.append(children_backwards(current))
    return True


def _is_droppable(current: Operation, op: Operation) -> bool:
    """Whether effects of an op inside ``op``, those of its body apart, are lost without notice."""
    traits = _own_effects(type(current))
    if traits is None:
        return False
    for trait in traits:
        if isinstance(trait, EffectsInOrder):
            if trait.has_writes(current):
                return False
            continue
        effects = trait.get_effects(current)
        if effects is None or not all(_is_unobservable(each, op) for each in effects):
            return False
    return True


@cache
def _own_effects(cls: type[Operation]) -> tuple[MemoryEffect, ...] | None:
    """The traits with effects of ops themselves; ``None``: the effects are unknown."""
    traits = _memory_effects(cls)
    none = (NoMemoryEffect, RecursiveMemoryEffect)
    return tuple(each for each in traits if not isinstance(each, none)) if traits else None


@cache
def _is_recursive(cls: type[Operation]) -> bool:
    return any(isinstance(each, RecursiveMemoryEffect) for each in _memory_effects(cls))


@cache
def _certain_effects(cls: type[Operation]) -> frozenset[MemoryEffectKind]:
    """Kinds of effects that every op of the class has."""
    found = set[MemoryEffectKind]()
    for trait in _memory_effects(cls):
        if isinstance(trait, EffectsInOrder):
            found |= trait.certain
        elif isinstance(trait, MemoryWriteEffect):
            found.add(MemoryEffectKind.WRITE)
    return frozenset(found)


def never_pure(cls: type[Operation]) -> bool:
    """Whether ``is_pure`` is false for every op of the class."""
    return bool(_certain_effects(cls))


def is_pure(op: Operation) -> bool:
    """Whether ``op`` does nothing but compute its results."""
    if never_pure(type(op)):
        return False
    ordered = _only_ordered(type(op))
    if ordered is not None and ordered.has_writes(op):
        return False
    return not any(True for _ in iter_effects(op))


def is_dead(op: Operation) -> bool:
    """Whether ``op`` can be erased now: it is unused and has no effect."""
    return not any(result.first_use for result in op.results) and is_removable(op)


@cache
def never_removable(cls: type[Operation]) -> bool:
    """Whether ``is_removable`` is false for every op of the class, whatever it contains."""
    if cls.get_trait(IsTerminator) is not None or cls.get_trait(SymbolOpInterface) is not None:
        return True
    return not _memory_effects(cls) or MemoryEffectKind.WRITE in _certain_effects(cls)


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

"""Which ops without a rule access global memory, by the effects they declare.

An op that declares none and takes no address is assumed to have none. One that may do anything, or
of which nothing is known, can only access memory through an address among its operands or results.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    RecursiveMemoryEffect,
    Resource,
)

from tilewright.analysis.pid_address.scope import Scope
from tilewright.dialects.tile.access import SpaceMemory
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.tt import TensorDescType
from tilewright.dialects.tt.traits import GlobalMemory
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.types import TensorDescIm2ColType
from tilewright.dialects.type_utils import PointerLike, element_type_of

_ACCESSES = (MemoryEffectKind.READ, MemoryEffectKind.WRITE)
_VERBS = {MemoryEffectKind.READ: "reads", MemoryEffectKind.WRITE: "writes"}


def is_address(type: Attribute) -> bool:
    """Whether a value of `type` leads to global memory."""
    if isinstance(type, TensorDescType | TensorDescIm2ColType):
        return True
    if space_of(type) is not None:
        return space_of(type) is Space.GLOBAL
    return not isinstance(type, MemDescType) and isinstance(element_type_of(type), PointerLike)


def global_effect(scope: Scope, op: Operation) -> str | None:
    """What an op does, or may do, to global memory; None if nothing."""
    addresses = [value for value in op.operands if is_address(value.type)]
    traits = op.get_traits_of_type(MemoryEffect)
    if any(isinstance(trait, RecursiveMemoryEffect) for trait in traits):
        return None  # What is in its regions speaks for itself.
    if not traits:
        is_known = not isinstance(op, UnregisteredOp)
        return _through(scope, "may access", addresses) if addresses or not is_known else None
    effects = [effect for trait in traits for effect in trait.get_effects(op) or ()]
    known = [e for e in effects if e.kind in _ACCESSES and _is_global(e.resource)]
    if known:
        return _through(scope, _verbs(known), addresses)
    anything = [e for e in effects if e.kind in _ACCESSES and e.value is None]
    return _through(scope, "may access", addresses) if anything and addresses else None


def _is_global(resource: Resource) -> bool:
    if isinstance(resource, SpaceMemory):
        return resource.space is Space.GLOBAL
    return isinstance(resource, GlobalMemory)


def _verbs(effects: Iterable[EffectInstance]) -> str:
    kinds = {effect.kind for effect in effects}
    return " and ".join(verb for kind, verb in _VERBS.items() if kind in kinds)


def _through(scope: Scope, verb: str, addresses: Iterable[SSAValue]) -> str:
    names = ", ".join(scope.machine.name(value) for value in addresses)
    return f"it {verb} global memory" + (f" through {names}" if names else "")

"""What hints about tensors state of the scalars that the tensors are computed from.

``tl.multiple_of(ptrs, [1, 16])`` means what Triton takes it to mean: along each dimension, the
first element of every contiguous run is a multiple, of pointers in bytes. Only the dimension with
runs decides how wide an access may be; where a dimension has none, every element begins a run. So

    base + size * (rest + stride * row + column)       column has runs, 16 is stated of them

states that ``size * stride`` is a multiple of 16, and ``base + size * rest``, too. A sum of which
all but one term is known to be a multiple states it of that term:

    size * stride                           stride: 8 elements of 2 bytes
    base + size * 128 * stride * tile       base: 16 bytes

Nothing is stated of arguments: a launch finds what divides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd, lcm

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Poly
from tilewright.analysis.axis_info.facts import largest_power_of_two
from tilewright.analysis.pid_address.control.blocks import DIVISIBILITY
from tilewright.analysis.pid_address.scope import is_scalar
from tilewright.analysis.pid_address.values import Integer, Pointer
from tilewright.analysis.raising.addresses import Addresses
from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.tt import FuncOp, IntToPtrOp, LoadOp
from tilewright.dialects.type_utils import PointerLike, bit_width, element_type_of, shape_of

_BYTE = 8


@dataclass(frozen=True)
class _Multiple:
    """A value that is stated to be a multiple; `address` is added to `value`, if there is one."""

    value: Poly
    divisor: int
    address: SSAValue | None = None


def hinted_tensors(function: FuncOp) -> list[Operation]:
    """Ops with a hint of what divides the elements of their result; none if the kernel reads no
    scalars, of which they could state something."""
    ops = list(function.walk())
    if not any(isinstance(op, LoadOp) and is_scalar(op.results[0]) for op in ops):
        return []
    return [
        op
        for op in ops
        if DIVISIBILITY in op.attributes
        and len(op.results) == 1
        and not op.regions
        and not is_scalar(op.results[0])
    ]


def stated_multiples(addresses: Addresses, hinted: Sequence[Operation]) -> dict[Operation, int]:
    """What divides scalars, by the op that makes each: addresses in bytes at ``tt.int_to_ptr``.

    Only of what is computed in the block of the hint, and so whenever the hint is.
    """
    found: dict[Operation, int] = {}
    known: dict[int, int] = {}
    for op in hinted:
        for each in _multiples_of(addresses, op):
            for target, divisor in _targets(addresses, op, each, known):
                found[target] = lcm(found.get(target, 1), divisor)
    return found


def _multiples_of(addresses: Addresses, op: Operation) -> Iterator[_Multiple]:
    """What a hint states: strides of dimensions without runs first, then the first element."""
    (result,) = op.results
    value = addresses.machine.environments[()].get(result)
    shape = shape_of(result.type)
    divisors = integers_in(op.attributes[DIVISIBILITY])
    if divisors is None or len(divisors) != len(shape) or min(divisors) < 1:
        return
    address: SSAValue | None = None
    match value:
        case Pointer():
            poly, address = value.offset.expr, _address_of(addresses, value)
            unit = _element_bytes(result)
            of_base = 0 if address is not None else value.base.divisibility or 1
        case Integer():
            poly, unit, of_base = value.expr, 1, 0
        case _:
            return
    steps: list[Poly | None] = []
    for lane in addresses.machine.atoms.lane_atoms(shape):
        step = addresses.machine.space.zero if lane is None else poly.coefficient_of(lane)
        if step is None:
            return
        if lane is not None:
            poly = poly - step * addresses.machine.space.of_atom(lane)
        steps.append(None if lane is None else step)
    divisor = _divisor(divisors, [step == unit for step in steps])
    if divisor < 2:
        return
    for step in steps:
        if step is not None and step != unit:
            yield _Multiple(step, divisor)
    # Of a pointer argument, what divides it is known; the offset is a multiple of no more.
    yield _Multiple(poly, gcd(divisor, of_base), address)


def _divisor(divisors: Sequence[int], runs: Sequence[bool]) -> int:
    """What divides the first element of every run; that of several dimensions is that of the first
    run of each."""
    powers = [largest_power_of_two(each) for each in divisors]
    everywhere = [each for each, is_run in zip(powers, runs, strict=True) if not is_run]
    first = [each for each, is_run in zip(powers, runs, strict=True) if is_run]
    return max([*everywhere, min(first, default=1)])


def _address_of(addresses: Addresses, pointer: Pointer) -> SSAValue | None:
    """The integer of the program that is the address of a pointer."""
    address = pointer.base.address
    atom = None if address is None else address.atom
    if atom is None or pointer.base.name in addresses.arguments:
        return None
    return addresses.value_of(atom)


def _element_bytes(pointers: SSAValue) -> int:
    pointer = element_type_of(pointers.type)
    assert isinstance(pointer, PointerLike)
    return max(bit_width(element_type_of(pointer.get_pointee())) // _BYTE, 1)


def _targets(
    addresses: Addresses, hint: Operation, stated: _Multiple, known: dict[int, int]
) -> Iterator[tuple[Operation, int]]:
    """The op of the one value that makes a sum a multiple, and what divides the value."""
    left = [
        (monomial, coefficient)
        for monomial, coefficient in stated.value.terms.items()
        if _known_divisor(addresses, monomial, coefficient, known) % stated.divisor
    ]
    if stated.address is not None:
        if not left and _is_with(stated.address, hint):
            for use in stated.address.uses:
                if isinstance(use.operation, IntToPtrOp):
                    yield use.operation, stated.divisor
        return
    if len(left) != 1:
        return
    ((monomial, coefficient),) = left
    if len(monomial) != 1:
        return
    atom = addresses.machine.space.atoms[monomial[0]]
    value = addresses.value_of(atom) if atom.is_opaque else None
    divisor = stated.divisor // gcd(coefficient, stated.divisor)
    if value is None or not isinstance(value.owner, Operation) or not _is_with(value, hint):
        return
    known[atom.id] = lcm(known.get(atom.id, 1), divisor)
    yield value.owner, divisor


def _is_with(value: SSAValue, hint: Operation) -> bool:
    """Whether a value is computed whenever the op of a hint is."""
    owner = value.owner
    return isinstance(owner, Operation) and owner.parent is hint.parent and not owner.regions


def _known_divisor(
    addresses: Addresses, monomial: tuple[int, ...], coefficient: int, known: dict[int, int]
) -> int:
    """What is known to divide a term."""
    space = addresses.machine.space
    found = coefficient
    for id in monomial:
        inner = space.root.congruence(space.of_atom(space.atoms[id])).divisor
        found *= lcm(inner, known.get(id, 1)) if inner else 0
    return abs(found)

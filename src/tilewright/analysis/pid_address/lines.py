"""The lines of a report: accesses, their addresses, and the integers they use, in source order.

An integer is listed if it depends on a program id and an access is computed from it; an address
if an access goes through it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tilewright.analysis.affine import Interval, Poly
from tilewright.analysis.pid_address.classify import pid_strides
from tilewright.analysis.pid_address.report import Line, MemoryOp, ValueInfo
from tilewright.analysis.pid_address.scope import Machine, Path, Site
from tilewright.analysis.pid_address.slices import ValueOnPath, backward_slice
from tilewright.analysis.pid_address.values import Integer, Pointer

Position = tuple[int, int, int]
Described = tuple[Site, MemoryOp]


def report_lines(
    machine: Machine, paths: Mapping[Path, int], described: Sequence[Described]
) -> tuple[list[ValueInfo], list[Line]]:
    """(values, all lines in order of definition)."""
    infos: dict[ValueOnPath, ValueInfo] = {}
    seen: set[ValueOnPath] = set()
    for site, access in described:
        for path, value in backward_slice(machine, site, seen):
            known = machine.environments[path].get(value)
            if isinstance(known, Integer) and known.expr.deps_mask & machine.atoms.any_pid:
                infos[path, value] = _integer_info(machine, site, path, value, known)
        address = machine.environments[site.path].get(site.address)
        if isinstance(address, Pointer):
            infos[site.path, site.address] = _address_info(machine, site, access, address)
    placed: list[tuple[Position, Line]] = []
    for (path, value), info in infos.items():
        placed.append((_position(machine, paths, path, value), info))
    for site, access in described:
        position = (2 * machine.position(site.operation) + 1, paths[site.path], 0)
        placed.append((position, access))
    placed.sort(key=lambda one: one[0])
    lines = [line for _, line in placed]
    return [line for line in lines if isinstance(line, ValueInfo)], lines


def _position(machine: Machine, paths: Mapping[Path, int], path: Path, value: SSAValue) -> Position:
    owner, index = _owner(value), 0
    if isinstance(value, OpResult | BlockArgument):
        index = value.index
    at = 2 * machine.position(owner) + (1 if isinstance(value, BlockArgument) else 0)
    return at, paths[path], index


def _owner(value: SSAValue) -> Operation:
    """The op that defines a value, or in whose region it is an argument."""
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    parent = owner.parent_op()
    assert parent is not None
    return parent


def _integer_info(
    machine: Machine, site: Site, path: Path, value: SSAValue, known: Integer
) -> ValueInfo:
    strides = pid_strides(machine.atoms, known.expr, known.basis)
    rest = _without_pids(machine, known.expr, strides)
    return ValueInfo(
        machine.name(value),
        path,
        False,
        None,
        known.expr,
        tuple(strides),
        strides,
        None if rest is None else _interval(machine, site, rest),
        rest is not None and bool(rest.deps_mask & machine.atoms.any_lane),
        None,
        _owner(value),
    )


def _address_info(machine: Machine, site: Site, access: MemoryOp, address: Pointer) -> ValueInfo:
    strides = dict(access.pid_strides)
    rest = _without_pids(machine, address.offset.expr, strides)
    return ValueInfo(
        machine.name(site.address),
        site.path,
        True,
        access.base,
        address.offset.expr,
        access.pid_axes,
        strides,
        None if rest is None else _interval(machine, site, rest),
        rest is not None and bool(rest.deps_mask & machine.atoms.any_lane),
        access.coalesced,
        _owner(site.address),
    )


def _without_pids(machine: Machine, expr: Poly, strides: Mapping[int, Poly | None]) -> Poly | None:
    """The part of a value that is the same in all programs; None where there is no such part."""
    for axis, stride in strides.items():
        if stride is None:
            return None
        expr = expr - stride * machine.atoms.pids[axis]
    return expr


def _interval(machine: Machine, site: Site, rest: Poly) -> Interval | None:
    """The range over lanes and counters, if nothing else is in it.

    Facts at the access do not count: the value is computed before it.
    """
    atoms = machine.atoms
    counted = 0
    for loop in site.scope.loops:
        if loop.trips is not None and loop.trips.constant is not None:
            counted |= loop.counter.deps_mask
    if rest.deps_mask & ~(atoms.any_lane | counted):
        return None
    found = machine.space.root.range(rest)
    return found if found.is_bounded else None

"""Confirms witnesses by putting them into the formulas of the report, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.analysis.affine import evaluate, holds
from tilewright.analysis.pid_address import AccessProperties, AddressReport, MemoryOp
from tilewright.analysis.pid_address.checks import Check, CheckResult, Finding, Point

Values = dict[str, int | Callable[..., int]]


def facts_of(instance: Mapping[str, Any]) -> AccessProperties:
    return AccessProperties(
        grid=tuple(instance["grid"]),
        args=instance["args"],
        buffers=instance["buffer_bytes"],
    )


def valuation(report: AddressReport, point: Point, args: Values) -> Values:
    values: Values = {f"pid{axis}": pid for axis, pid in enumerate(point.program)}
    values |= {f"np{axis}": n for axis, n in enumerate(report.grid) if n is not None}
    values |= {f"it({name})": count for name, count in point.counters}
    values |= {f"lane{dim}": lane for dim, lane in enumerate(point.lanes)}
    return {**values, **args}


def executes(access: MemoryOp, values: Values) -> bool:
    """Whether the access runs at a point of its domain, by its own formulas."""
    space = access.offset.space
    for bound in access.domain.bounds:
        if not bound.symbol.is_symbol:
            continue
        here = evaluate(space.of_atom(bound.symbol), values)
        if bound.lower is not None and here < evaluate(bound.lower, values):
            return False
        if bound.upper is not None and here > evaluate(bound.upper, values):
            return False
    for loop in access.loops:
        if loop.trips is not None:
            counter = values[f"it({loop.name})"]
            assert isinstance(counter, int)
            if not 0 <= counter < evaluate(loop.trips, values):
                return False
    conditions = [*access.facts, access.guard, *([] if access.mask is None else [access.mask])]
    return all(holds(condition, values) for condition in conditions)


def accesses_named(report: AddressReport, finding: Finding) -> list[MemoryOp]:
    """The accesses of a finding: on call paths an index repeats, the name does not."""
    chosen: list[MemoryOp] = []
    for index in finding.accesses:
        options = [a for a in report.accesses if a.index == index]
        chosen.append(next((a for a in options if a.name in finding.message), options[0]))
    return chosen


def confirm(
    report: AddressReport, finding: Finding, reads: Mapping[str, Callable[..., int]] | None = None
) -> None:
    """Fails unless the witness of a refuted finding shows what it claims."""
    assert finding.verdict is CheckResult.REFUTED
    witness = finding.witness
    assert witness is not None
    args: Values = {**witness.args, **(reads or {})}
    accesses = accesses_named(report, finding)
    if finding.check is Check.BOUNDS:
        [access], [point] = accesses, witness.points
        values = valuation(report, point, args)
        assert executes(access, values)
        address = evaluate(access.offset, values)
        assert address == witness.address
        size = report.facts.buffers.get(access.base.removeprefix("%"))
        assert address < 0 or (size is not None and address + access.elem_bytes > size)
    elif finding.check is Check.RACE:
        assert witness.address is not None
        assert witness.points[0].program != witness.points[1].program
        for access, point in zip(accesses, witness.points, strict=True):
            values = valuation(report, point, args)
            assert executes(access, values)
            first = evaluate(access.offset, values)
            assert first <= witness.address < first + access.elem_bytes
    elif finding.check is Check.OVERFLOW:
        assert finding.assumption is not None
        assumption = report.assumptions[finding.assumption]
        values = valuation(report, witness.points[0], args)
        value = evaluate(assumption.expr, values)
        assert value == witness.value
        assert holds(assumption.guard, values)
        assert value < assumption.lower or (
            assumption.upper is not None and value > assumption.upper
        )
    else:
        raise AssertionError(f"no way to confirm a witness of {finding.check}")


def reader(data: Sequence[int], index: Callable[..., int]) -> Callable[..., int]:
    return lambda *operands: data[index(*operands)]

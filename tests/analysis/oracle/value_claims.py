"""Claims about values on the way to an access: the lines of a report, and the axis facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from tests.analysis.oracle.binding import Batch, Subject, loop_counters, op_of
from tests.analysis.oracle.cases import Refuted
from tests.analysis.oracle.operations import element_size, width_of
from tests.analysis.oracle.recording import Array, Recording, When
from tilewright.analysis.axis_info import AxisFacts, AxisInfo
from tilewright.analysis.pid_address import AssumptionKind, ValueInfo
from tilewright.dialects.type_utils import PointerLike, element_type_of

_MAX_EXECUTIONS = 64


def value_claims(subject: Subject, recording: Recording) -> Iterator[Refuted]:
    """The refuted lines of a report; only for runs that break no assumption."""
    for info in subject.report.values:
        value = _value_of(subject, info)
        path = subject.paths[info.call]
        history = recording.values.get((value, path), {})
        if not history:
            continue
        try:
            for what in _line(subject, recording, info, value, history):
                yield Refuted("line", info.name, what)
        except ValueError as error:
            yield Refuted("divisor", info.name, str(error))


def _value_of(subject: Subject, info: ValueInfo) -> SSAValue:
    options = list(info.operation.results)
    for region in info.operation.regions:
        for block in region.blocks:
            options += block.args
    return next(one for one in options if subject.machine.name(one) == info.ssa_name)


def _line(
    subject: Subject,
    recording: Recording,
    info: ValueInfo,
    value: SSAValue,
    history: Mapping[When, Array],
) -> Iterator[str]:
    path = subject.paths[info.call]
    counters = loop_counters(subject.machine.name, op_of(value), path)
    whens = list(history)[:_MAX_EXECUTIONS]
    found = np.stack([history[when] for when in whens])
    if len(whens[0].counters) != len(counters):
        return
    batch = Batch(subject, recording, whens, counters, found.shape[1:])
    claimed = batch.value(info.expr)
    base = 0
    if info.is_address:
        if info.base is None or not info.base.startswith("%"):
            return
        base = recording.launch.addresses[info.base[1:]]
    known = (~batch.missing).reshape((-1, *([1] * (found.ndim - 1))))
    if claimed is not None and bool(((claimed + base != found) & known).any()):
        yield f"claimed {info.expr}, found {found.flat[:4]}"
    rest: Array = found.astype(object) - base
    for axis, stride in info.pid_strides.items():
        step = None if stride is None else batch.value(stride)
        if step is None:
            return
        pids = np.asarray([when.program[axis] for when in whens], dtype=object)
        rest = rest - step.astype(object) * pids.reshape((-1, *([1] * (found.ndim - 1))))
    limits = info.offset
    if limits is not None and bool(known.all()):
        if limits.lo is not None and rest.min() < limits.lo:
            yield f"offset {limits}, found {rest.min()}"
        if limits.hi is not None and rest.max() > limits.hi:
            yield f"offset {limits}, found {rest.max()}"
    lanes = rest.reshape((len(whens), -1))
    if limits is not None and not info.varies and np.any(lanes != lanes[:, :1]):
        yield "said not to vary from lane to lane"


def assumption_claims(subject: Subject, recording: Recording) -> Iterator[Refuted]:
    """What an assumption speaks of is what the op computes; only for runs that break none."""
    for assumption in subject.report.assumptions:
        path = subject.paths[assumption.call]
        op = assumption.operation
        is_result = assumption.kind is AssumptionKind.NO_OVERFLOW
        value: SSAValue = op.results[0] if is_result else op.operands[0]
        reached = recording.values.get((op.results[0], path), {})
        history = recording.values.get((value, path), {})
        whens = [when for when in list(reached)[:_MAX_EXECUTIONS] if when in history]
        counters = loop_counters(subject.machine.name, op, path)
        if not whens or len(whens[0].counters) != len(counters):
            continue
        found = np.stack([history[when] for when in whens])
        batch = Batch(subject, recording, whens, counters, found.shape[1:])
        try:
            claimed, guard = batch.value(assumption.expr), batch.truth(assumption.guard)
        except ValueError as error:
            yield Refuted("divisor", assumption.value, str(error))
            continue
        known = (~batch.missing).reshape((-1, *([1] * (found.ndim - 1))))
        if claimed is not None and bool(((claimed != found) & known).any()):
            yield Refuted("assumption", assumption.value, f"claimed {assumption.expr}")
        if guard is not None and bool((~guard & known).any()):
            yield Refuted("assumption", assumption.value, f"ran outside of {assumption.guard}")


# Contiguity, divisibility, constancy.


def axis_claims(facts: AxisFacts, recording: Recording) -> Iterator[Refuted]:
    """Axis facts of every value, for runs in which nothing overflows."""
    if recording.wraps:
        return
    negative = {op for op, _ in recording.negative}
    for (value, _), history in recording.values.items():
        info = facts[value]
        if info.assumes & negative:
            continue
        whens = list(history)[:_MAX_EXECUTIONS]
        found = np.stack([np.asarray(history[when]) for when in whens])
        if found.ndim == 1:
            found = found.reshape((-1, 1))
        for what in _axis(info, value, found):
            yield Refuted("axis", _label(value), what)


def _label(value: SSAValue) -> str:
    owner = value.owner
    name = owner.name if isinstance(owner, Operation) else "argument"
    return f"{value.name_hint or '?'} ({name})"


def _axis(info: AxisInfo, value: SSAValue, found: Array) -> Iterator[str]:
    element = element_type_of(value.type)
    unit = element_size(value.type) if isinstance(element, PointerLike) else 1
    # Rising past the end of a type is rising all the same; 64 bits are not reached.
    modulus = 1 << min(width_of(value.type), 62)
    found = found.astype(np.int64)
    if info.rank != found.ndim - 1:
        yield f"{info.rank} dimensions, found {found.ndim - 1}"
        return
    for dim in range(info.rank):
        extent = found.shape[dim + 1]
        size, divisor, same = info.contiguity[dim], info.divisibility[dim], info.constancy[dim]
        if min(size, divisor, same) < 1 or extent % size or extent % same:
            yield f"dimension {dim}: groups in {extent} lanes: {info}"
            continue
        groups = _grouped(found, dim, size)
        steps = np.diff(groups, axis=-1)
        rest = (steps - unit) % modulus if isinstance(element, IntegerType) else steps - unit
        if np.any(rest):
            yield f"dimension {dim}: contiguity {size}"
        if np.any(groups[..., 0] % divisor):
            yield f"dimension {dim}: divisibility {divisor}"
        steady = _grouped(found, dim, same)
        if np.any(steady != steady[..., :1]):
            yield f"dimension {dim}: constancy {same}"
    if info.constant is not None and np.any(found % modulus != info.constant % modulus):
        yield f"constant {info.constant}"


def _grouped(array: Array, dim: int, size: int) -> Array:
    moved = np.moveaxis(array, dim + 1, -1)
    return moved.reshape((*moved.shape[:-1], moved.shape[-1] // size, size))

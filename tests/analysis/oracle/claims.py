"""Every claim of a report about one access, held against what the access really did.

A claim is refuted by one execution that contradicts it, and only then. Claims may rest on
assumptions (no overflow, a sign); where a run breaks one of those, the claims that rest on it are
not asked about. ``coalesced = None``, ``stride = None`` and the like claim nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from tests.analysis.oracle.binding import AXES, Batch, Subject
from tests.analysis.oracle.cases import Case, Refuted, first, known
from tests.analysis.oracle.lane_claims import LANE_CHECKS
from tests.analysis.oracle.recording import Array, Path, Recording, When
from tilewright.analysis.affine import Poly
from tilewright.analysis.pid_address import AssumptionKind, MemoryOp, Pattern

_MAX_POINTS = 4096
"""Points of a domain that are compared with what ran."""


def broken_assumptions(subject: Subject, recording: Recording) -> frozenset[int]:
    """The assumptions of a report that a run breaks."""
    broken: set[int] = set()
    for index, assumption in enumerate(subject.report.assumptions):
        key = (assumption.operation, subject.paths[assumption.call])
        where = (
            recording.wraps if assumption.kind is AssumptionKind.NO_OVERFLOW else recording.negative
        )
        if where.get(key):
            broken.add(index)
    return frozenset(broken)


def unreported(subject: Subject, recording: Recording) -> Iterator[Refuted]:
    """Accesses that ran and are not in the report."""
    known = {(one.operation, subject.paths[one.call]) for one in subject.report.accesses}
    for op, path in recording.touches:
        if (op, path) not in known:
            yield Refuted("accesses", op.name, "ran, but is not in the report")


def access_claims(
    subject: Subject, recording: Recording, access: MemoryOp, broken: frozenset[int]
) -> Iterator[Refuted]:
    """The refuted claims of one access in one run."""
    if broken.intersection(access.assumptions):
        return
    path = subject.paths[access.call]
    touches = recording.touches.get((access.operation, path), [])
    case = Case(subject, recording, access, path, touches)
    for check in _CHECKS:
        try:
            for what in check(case):
                yield Refuted(check.__name__.strip("_"), access.name, what)
        except ValueError as error:  # a declared divisor that does not divide
            yield Refuted("divisor", access.name, str(error))


# Structure.


def _shape(case: Case) -> Iterator[str]:
    """Element size, shape, loops around."""
    access = case.access
    if not case.touches:
        return
    if case.addresses.shape[1:] != access.shape:
        yield f"shape {access.shape}, found {case.addresses.shape[1:]}"
    if len(case.counters) != len(case.whens[0].counters):
        yield f"{len(case.counters)} loops, found {len(case.whens[0].counters)}"
    if access.masked != (access.mask is not None) or (
        not access.masked and not bool(case.mask.all())
    ):
        yield "an access without a mask leaves lanes out"


# Formulas.


def _offset(case: Case) -> Iterator[str]:
    """``base + offset`` is the address, for every lane of every execution."""
    if not case.runs:
        return
    base = case.base()
    offset = case.batch.value(case.access.offset)
    if base is None or offset is None:
        return
    wrong = (base + offset != case.addresses) & known(case)
    if bool(wrong.any()):
        yield first(case, wrong, base + offset, case.addresses)


def _mask(case: Case) -> Iterator[str]:
    access = case.access
    if not case.runs or access.mask is None:
        return
    truth = case.batch.truth(access.mask)
    if truth is None:
        return
    wrong = (truth != case.mask) & known(case)
    if bool(wrong.any()):
        yield first(case, wrong, truth, case.mask)


def _guard(case: Case) -> Iterator[str]:
    """Where an access ran, its guard and facts hold; and where they hold, it ran."""
    access = case.access
    if case.runs:
        for formula in (access.guard, *access.facts):
            truth = case.batch.truth(formula, spread=False)
            if truth is not None and bool((~truth & known(case)).any()):
                yield f"ran where {formula} does not hold"
    points = _points(case)
    if points is None or not points:
        return
    batch = Batch(case.subject, case.recording, points, case.counters, ())
    holds = np.ones(len(points), dtype=bool)
    for formula in (access.guard, *access.facts):
        truth = batch.truth(formula)
        if truth is None:
            return
        holds &= truth
    ran = set(case.whens)
    for at, point in enumerate(points):
        if holds[at] and not batch.missing[at] and point not in ran:
            yield f"did not run at {point}, where {access.guard} holds"
            return


def _points(case: Case) -> list[When] | None:
    """The points of the domain: programs, and iterations by the claimed numbers of turns."""
    points = [When(program, ()) for program in case.recording.programs]
    most = max((max(w.counters, default=0) for w in case.whens), default=0)
    for place, loop in enumerate(case.access.loops):
        if not points:
            return points
        if loop.trips is None:
            turns: Array = np.full(len(points), most + 2)
        else:
            batch = Batch(case.subject, case.recording, points, case.counters[:place], ())
            found = batch.value(loop.trips)
            if found is None or bool(batch.missing.any()):
                return None
            turns = found
        if int(turns.clip(min=0).sum()) > _MAX_POINTS:
            return None
        points = [
            When(point.program, (*point.counters, turn))
            for point, count in zip(points, turns, strict=True)
            for turn in range(int(count))
        ]
    return points


def _turns(case: Case) -> Iterator[str]:
    """The claimed number of turns of each loop around, whenever the loop was entered."""
    op = case.access.operation
    loops = [
        (place, path)
        for place, path in _loop_ops(case.path, op)
        if (place, path) in case.recording.turns or place.name == "scf.while"
    ]
    if len(loops) != len(case.access.loops):
        return
    for depth, ((loop_op, path), loop) in enumerate(zip(loops, case.access.loops, strict=True)):
        entered = case.recording.turns.get((loop_op, path), {})
        if loop.trips is None or not entered:
            continue
        whens = list(entered)
        batch = Batch(case.subject, case.recording, whens, case.counters[:depth], ())
        claimed = batch.value(loop.trips)
        if claimed is None:
            continue
        found = np.asarray([entered[when] for when in whens])
        wrong = (claimed != found) & ~batch.missing
        if bool(wrong.any()):
            at = int(np.argmax(wrong))
            yield f"{loop.name} at {whens[at]}: claimed {claimed[at]} turns, found {found[at]}"


def _loop_ops(path: Path, op: object) -> Iterator[tuple[object, Path]]:
    for depth, place in enumerate((*path, op)):
        around: list[object] = []
        parent = place.parent_op()
        while parent is not None:
            if parent.name in ("scf.for", "scf.while"):
                around.append(parent)
            parent = parent.parent_op()
        for loop in reversed(around):
            yield loop, path[:depth]


def _domain(case: Case) -> Iterator[str]:
    """Symbols stay inside their bounds wherever the access runs."""
    if not case.runs:
        return
    space = case.access.offset.space
    for bound in case.access.domain.bounds:
        here = case.batch.value(space.of_atom(bound.symbol), spread=False)
        if here is None:
            continue
        for limit, sign in ((bound.lower, 1), (bound.upper, -1)):
            end = None if limit is None else case.batch.value(limit, spread=False)
            if end is None:
                continue
            wrong = (sign * (here - end) < 0) & known(case)
            if bool(wrong.any()):
                yield f"{bound.symbol.name} " + first(case, wrong, end, here)


def _box(case: Case) -> Iterator[str]:
    """Shape, strides and place of a block, as the descriptor has them."""
    box = case.access.box
    if box is None or not case.runs:
        return
    base = case.base()
    found = [touch.box for touch in case.touches]
    for at, one in enumerate(found):
        if one is None:
            yield "no block"
            return
        claims: list[tuple[Poly, Array | int]] = []
        if base is not None:
            start = np.broadcast_to(base, (len(found), *([1] * len(case.access.shape))))
            claims.append((box.offset, one.address - int(start[at].flat[0])))
        claims += zip(box.shape, one.shape, strict=True)
        claims += zip(box.strides, one.strides, strict=True)
        claims += [
            (
                poly,
                index.reshape((-1, *([1] * (len(box.indices) - 1 - dim)))) if index.ndim else index,
            )
            for dim, (poly, index) in enumerate(zip(box.indices, one.indices, strict=True))
        ]
        for poly, real in claims:
            value = case.batch.value(poly)
            if value is not None and not case.batch.missing[at] and np.any(value[at] != real):
                yield f"{poly}: found {real}"
                return


# Dependence on programs and iterations.


def _same_but(case: Case, key: Callable[[When], object]) -> list[list[int]]:
    groups: dict[object, list[int]] = defaultdict(list)
    for at, when in enumerate(case.whens):
        groups[key(when)].append(at)
    return [group for group in groups.values() if len(group) > 1]


def _steps(
    case: Case, groups: Sequence[Sequence[int]], along: Callable[[When], int], stride: Poly | None
) -> Iterator[str]:
    """Addresses of a group differ by `stride` (None: not at all) times what they lie apart."""
    claimed = None if stride is None else case.batch.value(stride)
    if stride is not None and claimed is None:
        return
    for group in groups:
        order = sorted(group, key=lambda at: along(case.whens[at]))
        for before, after in pairwise(order):
            if case.batch.missing[before] or case.batch.missing[after]:
                continue
            apart = along(case.whens[after]) - along(case.whens[before])
            step = 0 if claimed is None else claimed[before] * apart
            moved = case.addresses[after] - case.addresses[before]
            if np.any(moved != step):
                yield (
                    f"claimed {stride or 0}, from {case.whens[before]} to {case.whens[after]} "
                    f"moved {np.unique(moved)[:3]}"
                )
                return


def _pid_strides(case: Case) -> Iterator[str]:
    """Strides of affine axes, and independence of axes that are not named."""
    if not case.runs:
        return
    access = case.access
    if set(access.pid_strides) != set(access.pid_axes):
        yield "strides for other axes than named"
    for axis in range(AXES):
        if axis in access.pid_axes and access.pid_strides[axis] is None:
            continue
        groups = _same_but(
            case, lambda w, a=axis: (*w.program[:a], *w.program[a + 1 :], w.counters)
        )
        stride = access.pid_strides.get(axis)
        for what in _steps(case, groups, lambda w, a=axis: w.program[a], stride):
            yield f"axis {axis}: {what}"


def _pattern(case: Case) -> Iterator[str]:
    """The class says what the strides say."""
    access = case.access
    known = None not in access.pid_strides.values()
    wanted = {
        Pattern.INDEPENDENT: not access.pid_axes,
        Pattern.AFFINE: known and len(access.pid_axes) == 1,
        Pattern.MULTI_AXIS: known and len(access.pid_axes) > 1,
        Pattern.NONLINEAR: not known,
        Pattern.UNKNOWN: True,
    }
    if not wanted[access.pattern]:
        yield f"{access.pattern} with strides {access.pid_strides}"


def _guard_axes(case: Case) -> Iterator[str]:
    """Whether an access runs does not depend on axes that the guard does not name."""
    ran = set(case.whens)
    loop_axes = _axes_of_trips(case)
    for axis in range(AXES):
        if axis in case.access.guard_axes or axis in loop_axes:
            continue
        for when in case.whens:
            for program in case.recording.programs:
                others = (*program[:axis], *program[axis + 1 :])
                if others != (*when.program[:axis], *when.program[axis + 1 :]):
                    continue
                if When(program, when.counters) not in ran:
                    yield f"axis {axis}: ran in {when}, not in program {program}"
                    return


def _axes_of_trips(case: Case) -> set[int]:
    """Axes that bounds of loops depend on, which are not the guard's matter."""
    axes: set[int] = set()
    for loop in case.access.loops:
        if loop.trips is None:
            return set(range(AXES))
        axes |= {axis for axis in range(AXES) if f"pid{axis}" in loop.trips.deps}
    return axes


def _loop_strides(case: Case) -> Iterator[str]:
    if not case.runs:
        return
    for place, item in enumerate(case.access.loop_strides):
        if item.stride is None:
            continue
        groups = _same_but(
            case, lambda w, p=place: (w.program, *w.counters[:p], *w.counters[p + 1 :])
        )
        for what in _steps(case, groups, lambda w, p=place: w.counters[p], item.stride):
            yield f"{item.loop.name}: {what}"


def _virtual(case: Case) -> Iterator[str]:
    """In one iteration, addresses differ by what the coordinates make of it."""
    virtual = case.access.virtual
    if virtual is None or not case.runs:
        return
    places: Array = np.zeros((len(case.whens), *case.access.shape), dtype=object)
    for name, stride in virtual.strides.items():
        step = case.batch.value(stride)
        if name.isdigit():
            where: Array | None = np.asarray([w.program[int(name)] for w in case.whens]).reshape(
                (-1, *([1] * len(case.access.shape)))
            )
        else:
            where = case.batch.value(virtual.coordinates[name])
        if step is None or where is None:
            return
        places = places + step.astype(object) * where.astype(object)
    for group in _same_but(case, lambda when: when.counters):
        first = group[0]
        for at in group[1:]:
            if case.batch.missing[first] or case.batch.missing[at]:
                continue
            moved = case.addresses[at] - case.addresses[first]
            if np.any(moved != places[at] - places[first]):
                yield f"{virtual.strides} from {case.whens[first]} to {case.whens[at]}"
                return


_CHECKS: tuple[Callable[[Case], Iterator[str]], ...] = (
    _shape,
    _offset,
    _mask,
    _guard,
    _turns,
    _domain,
    _box,
    _pattern,
    _pid_strides,
    _guard_axes,
    _loop_strides,
    _virtual,
    *LANE_CHECKS,
)

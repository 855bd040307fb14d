"""Can two different programs access a common byte, one of them writing?

Claim for a pair of accesses to one buffer: no. Two loads never conflict, nor do two atomics. A
refuted pair is a race unless the programs synchronise: where a branch depends on the result of an
atomic, as in a lock or a count of finished programs, it may order the two accesses. That is not
modelled, so such a pair has its witness but is unknown. Lanes of one program that store to one
address are reported too, for information.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Formula, disjunction, evaluate
from tilewright.analysis.pid_address.atoms import AXES
from tilewright.analysis.pid_address.checks import mixed_radix
from tilewright.analysis.pid_address.checks.enumeration import Enumeration, NotEnumerable
from tilewright.analysis.pid_address.checks.findings import (
    Check,
    CheckResult,
    Counterexample,
    Finding,
    Method,
    Point,
)
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.checks.ownership import Ownership, SharedElement
from tilewright.analysis.pid_address.checks.procedures import LINEAR, SYMBOLIC
from tilewright.analysis.pid_address.checks.questions import QueryResult, Question, query
from tilewright.analysis.pid_address.checks.regions import (
    AddressRegion,
    different_programs,
    program_bounds,
)
from tilewright.analysis.pid_address.report import AccessKind, MemoryOp, Pattern
from tilewright.dialects.tile import KernelOp, SyncOp
from tilewright.ir.traversal import walk

GRID = "grid"
_UNMODELLED = "locks and barriers between programs are not modelled"
_DECIDING = frozenset(("scf.condition", "scf.if", "cf.cond_br", "cf.switch", "scf.index_switch"))


def check(launch: Launch) -> list[Finding]:
    findings: list[Finding] = []
    for group in _groups(launch):
        examined = _Group(launch, group)
        findings += [examined.finding(left, right) for left, right in _pairs(group)]
    findings += filter(None, (_same_address(access) for access in launch.report.accesses))
    return findings


def _groups(launch: Launch) -> list[list[MemoryOp]]:
    """Accesses by buffer; buffers that may alias count as one."""
    aliases = {name: group[0] for group in launch.settings.may_alias for name in group}
    groups: dict[str, list[MemoryOp]] = {}
    for access in launch.report.accesses:
        name = access.base.removeprefix("%")
        groups.setdefault(aliases.get(name, access.base.removeprefix("%")), []).append(access)
    return list(groups.values())


def _pairs(group: list[MemoryOp]) -> Iterator[tuple[MemoryOp, MemoryOp]]:
    for at, left in enumerate(group):
        for right in group[at:]:
            kinds = {left.kind, right.kind}
            if AccessKind.STORE in kinds or kinds == {AccessKind.ATOMIC, AccessKind.LOAD}:
                yield left, right


class _Group:
    """The accesses to one buffer."""

    def __init__(self, launch: Launch, accesses: list[MemoryOp]) -> None:
        self.launch = launch
        self.accesses = accesses
        self._owners: Ownership | NotEnumerable | None = None
        self._members: list[MemoryOp] = []

    def finding(self, left: MemoryOp, right: MemoryOp) -> Finding:
        launch = self.launch
        if launch.grid == (1,) * AXES:
            return _disjoint(left, right, Method.INTERVALS, "there is only one program")
        if not self._is_one_base(left, right):
            return _unknown(left, right, f"{left.base} and {right.base} may overlap arbitrarily")
        if not left.base.startswith("%") and not (left is right and has_one_base(left)):
            return _unknown(left, right, f"nothing is known about {left.base}")
        question = common_byte(launch, left, right)
        radix = mixed_radix.disjoint(launch, left, right)
        if radix is not None and not radix.conditions:
            return _disjoint(left, right, Method.MIXED_RADIX, radix.reason)
        # With arguments open, a condition on them is more useful than values for which it fails.
        fails = None if radix is None else radix.fails
        procedures = SYMBOLIC if radix is None or fails is not None else LINEAR
        result = query(question, launch.effort, procedures)
        if result.possible is False:
            return _disjoint(left, right, result.method, "no common byte")
        if result.values is not None:
            return self._race(left, right, question, result)
        counted = self._count(left, right)
        if isinstance(counted, Finding):
            return counted
        if fails is not None:
            return _unknown(left, right, f"{fails}, and {result.reason}", result.method)
        if radix is not None:
            text = " and ".join(radix.conditions)
            return _disjoint(left, right, Method.MIXED_RADIX, radix.reason, text)
        # What is missing of the launch or of memory was reported already; the limit was not.
        reason = f"{result.reason}, and {counted}" if counted.is_limit else result.reason
        return _unknown(left, right, reason, result.method)

    def _is_one_base(self, left: MemoryOp, right: MemoryOp) -> bool:
        """Whether offsets of the two count from the same address."""
        if left.base == right.base:
            return True
        names = {access.base.removeprefix("%") for access in (left, right)}
        return any(names.issubset(group) for group in self.launch.settings.same_start)

    def _race(
        self, left: MemoryOp, right: MemoryOp, question: Question, result: QueryResult
    ) -> Finding:
        values = result.values or {}
        own, other = self.launch.region(left), self.launch.primed(right)
        address = max(evaluate(own.offset, values), evaluate(other.offset, values))
        points = (own.point(values), other.point(values))
        given = self.launch.given(question, values)
        locks = synchronising(self.launch, left, right)
        return _race(left, right, points, address, result.method, given, locks)

    # Enumeration.

    def _count(self, left: MemoryOp, right: MemoryOp) -> Finding | NotEnumerable:
        try:
            conflict = self._conflict(left, right)
        except NotEnumerable as error:
            return error
        if conflict is None:
            return _disjoint(left, right, Method.ENUMERATION, "all programs were compared")
        points = (
            self._point(left, conflict.first, conflict.address),
            self._point(right, conflict.second, conflict.address),
        )
        locks = synchronising(self.launch, left, right)
        return _race(left, right, points, conflict.address, Method.ENUMERATION, {}, locks)

    def conflict(self, left: MemoryOp, right: MemoryOp) -> SharedElement | None:
        """By enumeration alone; raises NotEnumerable."""
        return self._conflict(left, right)

    def _conflict(self, left: MemoryOp, right: MemoryOp) -> SharedElement | None:
        for access in (left, right):
            self._enumeration(access)
        owners = self._table()
        return owners.conflict(self._position(left), self._position(right))

    def _position(self, access: MemoryOp) -> int:
        return next(at for at, other in enumerate(self._members) if other is access)

    def _table(self) -> Ownership:
        if self._owners is None:
            self._owners = self._make_table()
        if isinstance(self._owners, NotEnumerable):
            raise self._owners
        return self._owners

    def _make_table(self) -> Ownership | NotEnumerable:
        points: list[Enumeration] = []
        for access in self.accesses:
            try:
                points.append(self._enumeration(access))
            except NotEnumerable:
                continue
            self._members.append(access)
        try:
            return Ownership(points)
        except NotEnumerable as error:
            return error

    def _enumeration(self, access: MemoryOp) -> Enumeration:
        return self.launch.enumeration(access, every_program=True)

    def _point(self, access: MemoryOp, program: int, address: int) -> Point:
        """The first execution of a program that accesses a byte."""
        size = access.elem_bytes
        values = self._enumeration(access).first_where(
            lambda chunk: (chunk.offset <= address) & (address < chunk.offset + size),
            program,
            program,
        )
        assert values is not None, "by the table this program accesses the byte"
        return self.launch.region(access).point(values)


def common_byte(launch: Launch, left: MemoryOp, right: MemoryOp) -> Question:
    """Two different programs access one byte."""
    own, other = launch.region(left), launch.primed(right)
    space, root = own.space, own.space.root
    bounds = program_bounds(space, launch.grid)
    programs = bounds & launch.priming(right).formula(bounds)
    different = _ordered(own, other) if left is right else different_programs(own, other)
    distance = own.offset - other.offset
    if left.elem_bytes == right.elem_bytes and root.is_multiple(distance, left.elem_bytes):
        overlap = root.compare("=", distance, 0)
    else:
        overlap = root.compare("<", distance, right.elem_bytes)
        overlap &= root.compare("<", -distance, left.elem_bytes)
    formula = own.where & other.where & programs & different & overlap
    pids = [pid.atom for pid in (*own.pids, *other.pids)]
    order = [atom for atom in (*pids, *own.symbols, *other.symbols) if atom is not None]
    complete = own.complete and other.complete
    values = (own.offset, other.offset)
    return Question(formula, tuple(dict.fromkeys(order)), complete, values)


def _ordered(own: AddressRegion, other: AddressRegion) -> Formula:
    """The first program comes before the second: enough for an access and itself."""
    root = own.space.root
    cases: list[Formula] = []
    equal = own.space.true
    for pid, twin in zip(own.pids, other.pids, strict=True):
        cases.append(equal & root.compare("<", pid, twin))
        equal &= root.compare("=", pid, twin)
    return disjunction(own.space, cases)


def has_one_base(access: MemoryOp) -> bool:
    """Whether all programs, iterations and lanes start from one address, wherever it is."""
    strides = (*access.lane_strides, *(item.stride for item in access.loop_strides))
    return access.pattern is not Pattern.UNKNOWN and all(stride is not None for stride in strides)


def synchronising(launch: Launch, left: MemoryOp, right: MemoryOp) -> list[str]:
    """What may order two accesses: atomics before one of them on whose results a branch depends,
    barriers across all blocks of the grid."""
    last = max(left.index, right.index)
    found = [
        access.name
        for access in launch.report.accesses
        if access.kind is AccessKind.ATOMIC and access.index < last and _decides(access.operation)
    ]
    if any(isinstance(op, SyncOp) and op.scope.data == GRID for op in walk(_kernel(left))):
        found.append(f"{SyncOp.name} {GRID}")
    return found


def _kernel(access: MemoryOp) -> Operation:
    """The ``tile.kernel`` around an access, or the access itself: no barrier is inside of that."""
    op: Operation | None = access.operation
    while op is not None and not isinstance(op, KernelOp):
        op = op.parent_op()
    return access.operation if op is None else op


def _decides(op: Operation) -> bool:
    """Whether control flow depends on a result of an op."""
    work, seen = list(op.results), set[SSAValue]()
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            user = use.operation
            if user.name in _DECIDING and use.index == 0:
                return True
            work.extend(user.results)
    return False


# Lanes of one program.


def _same_address(access: MemoryOp) -> Finding | None:
    """Two lanes of one store at one address, where lanes enter with integer factors."""
    if access.kind is not AccessKind.STORE or not access.shape or access.inside is not None:
        return None  # Elements outside of a tensor are not written, whatever their address.
    strides = [None if s is None else s.constant for s in access.lane_strides]
    total = np.zeros((1,) * len(access.shape), dtype=np.int64)
    for dim, (stride, extent) in enumerate(zip(strides, access.shape, strict=True)):
        if stride is None:
            return None
        extents = [1] * len(access.shape)
        extents[dim] = -1
        total = total + stride * np.arange(extent, dtype=np.int64).reshape(extents)
    _, firsts, counts = np.unique(total, return_index=True, return_counts=True)
    repeated = np.flatnonzero(counts > 1)
    if not repeated.size:
        return None
    flat = total.reshape(-1)
    first = int(firsts[repeated[0]])
    second = int(np.flatnonzero(flat == flat[first])[1])
    points = tuple(
        Point(
            access.index,
            (0, 0, 0),
            tuple((loop.name, 0) for loop in access.loops),
            tuple(int(i) for i in np.unravel_index(at, access.shape)),
        )
        for at in (first, second)
    )
    message = (
        f"{access.name} writes one address from several lanes of a program, such as lanes "
        f"{points[0].lanes} and {points[1].lanes}, where the mask admits both"
    )
    witness = Counterexample(points, None)
    return Finding(
        Check.LANES, CheckResult.REFUTED, (access.index,), witness, Method.LANE_FACTS, message
    )


# Findings.


def _indices(left: MemoryOp, right: MemoryOp) -> tuple[int, int]:
    return (left.index, right.index)


def _names(left: MemoryOp, right: MemoryOp) -> str:
    return left.name if left is right else f"{left.name} and {right.name}"


def _disjoint(
    left: MemoryOp, right: MemoryOp, method: Method, reason: str, condition: str | None = None
) -> Finding:
    message = f"no conflict between programs in {_names(left, right)}: {reason}"
    if condition is not None:
        message += f", if {condition}"
    return Finding(
        Check.RACE, CheckResult.PROVED, _indices(left, right), None, method, message, condition
    )


def _unknown(left: MemoryOp, right: MemoryOp, reason: str, method: Method = Method.NONE) -> Finding:
    message = f"possible conflict between programs in {_names(left, right)}: {reason}"
    return Finding(Check.RACE, CheckResult.UNKNOWN, _indices(left, right), None, method, message)


def _race(
    left: MemoryOp,
    right: MemoryOp,
    points: tuple[Point, Point],
    address: int,
    method: Method,
    given: dict[str, int],
    locks: list[str],
) -> Finding:
    message = (
        f"conflict between programs in {_names(left, right)} at byte {address} of {left.base}: "
        f"{points[0]} and {points[1]}"
    )
    if given:
        message += f" for {', '.join(f'{k}={v}' for k, v in given.items())}"
    reason = _UNMODELLED
    if locks:
        names = ", ".join(dict.fromkeys(locks))
        reason = f"{names} may order them, but {_UNMODELLED}"
    return Finding(
        Check.RACE,
        CheckResult.UNKNOWN if locks else CheckResult.REFUTED,
        _indices(left, right),
        Counterexample(points, address, args=given),
        method,
        f"{message}; {reason}",
    )

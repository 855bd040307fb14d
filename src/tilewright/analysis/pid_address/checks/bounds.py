"""Does an access stay inside its buffer?

Claim: wherever it executes, ``0 <= offset`` and ``offset + e <= size``. Without a size the result
is the size that the buffer needs. A descriptor's mask is its own box, so its accesses follow the
same rule.
"""

from __future__ import annotations

from tilewright.analysis.affine import Formula, Poly, SymbolKind, conjunction, evaluate
from tilewright.analysis.affine.formula import compare
from tilewright.analysis.pid_address.checks import intervals, presburger
from tilewright.analysis.pid_address.checks.enumeration import NotEnumerable
from tilewright.analysis.pid_address.checks.findings import (
    Check,
    CheckResult,
    Counterexample,
    Finding,
    Method,
)
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.checks.procedures import LINEAR, SYMBOLIC
from tilewright.analysis.pid_address.checks.questions import (
    QueryResult,
    Question,
    opaque_reason,
    query,
)
from tilewright.analysis.pid_address.checks.regions import (
    AddressRegion,
    conjuncts,
    is_opaque,
    varies,
)
from tilewright.analysis.pid_address.report import AccessKind, MemoryOp

_DIVISIONS = (SymbolKind.FDIV, SymbolKind.MOD, SymbolKind.TDIV, SymbolKind.TREM)


def check(launch: Launch) -> list[Finding]:
    findings = [_finding(launch, access) for access in launch.report.accesses]
    return findings + [_guarded(launch, a) for a in launch.report.accesses if a.inside is not None]


def _guarded(launch: Launch, access: MemoryOp) -> Finding:
    """Does an access of the tile language have indices out of bounds?

    Those read as the safe value and are not written, so nothing leaves its tensor. Where a tensor
    is not a multiple of its tiles that is intended; elsewhere an offset may be wrong.
    """
    region = launch.region(access)
    assert access.inside is not None
    domain = launch.domain(access) & lanes_inside(access)
    question = Question(domain & ~access.inside, region.symbols, region.complete, (region.offset,))
    result = query(question, launch.effort, SYMBOLIC)
    if result.possible is False:
        message = f"{access.name} accesses only elements of {access.base}: its guard is redundant"
        return Finding(
            Check.GUARD, CheckResult.PROVED, (access.index,), None, result.method, message
        )
    if result.values is None:
        message = f"{access.name} may access elements outside of {access.base}: {result.reason}"
        return Finding(
            Check.GUARD, CheckResult.UNKNOWN, (access.index,), None, result.method, message
        )
    point = region.point(result.values)
    effect = "reads the safe value" if access.kind is AccessKind.LOAD else "writes nothing"
    given = launch.given(question, result.values)
    message = f"{access.name} accesses an element outside of {access.base}: {point} {effect} there"
    if given:
        message += f" for {', '.join(f'{name}={value}' for name, value in given.items())}"
    witness = Counterexample((point,), _address(launch, access, result.values), args=given)
    return Finding(
        Check.GUARD, CheckResult.REFUTED, (access.index,), witness, result.method, message
    )


def lanes_inside(access: MemoryOp) -> Formula:
    """The mask of an access of the tile language without its guard: which lanes there are."""
    space = access.offset.space
    guard = () if access.inside is None else conjuncts(access.inside)
    mask = () if access.mask is None else conjuncts(access.mask)
    return conjunction(space, (part for part in mask if part not in guard))


def _finding(launch: Launch, access: MemoryOp) -> Finding:
    if not access.base.startswith("%"):
        return _unknown(access, f"nothing is known about the buffer of {access.base}")
    size = launch.report.facts.buffers.get(access.base.removeprefix("%"))
    return _of_any_size(launch, access) if size is None else _of_size(launch, access, size)


def _of_size(launch: Launch, access: MemoryOp, size: int) -> Finding:
    region = launch.region(access)
    context = region.context()
    last = intervals.upper_bound(region, region.offset)
    if last is not None and context.is_nonneg(access.offset):
        need = last + access.elem_bytes
        if context.is_nonneg(size - need):
            return _safe(access, Method.INTERVALS, f"{need} of {size} bytes")
    question = leaves(launch, access, region.space.const(size))
    result = query(question, launch.effort, SYMBOLIC)
    if result.possible is None:
        result = _enumerate(launch, access, size, result)
    if result.possible is False:
        return _safe(access, result.method, f"{size} bytes")
    if result.values is None:
        reason = _with_remedy(launch, access, result.reason)
        return _unknown(access, reason, result.method)
    return _outside(launch, access, question, result, size)


def _of_any_size(launch: Launch, access: MemoryOp) -> Finding:
    """What the buffer has to hold; more than the access needs would be no news."""
    limit = required(launch, access)
    if limit is None:
        return _below(launch, access) or _unknown(access, _no_bound(launch, access))
    context = launch.region(access).context()
    for sign in limit.signs:
        context = context.assume(compare(">=", sign, 0))
    if not context.is_nonneg(access.offset):
        reason = f"offsets below {access.base} are not excluded"
        return _below(launch, access) or _unknown(access, _with_remedy(launch, access, reason))
    result = presburger.decide(leaves(launch, access, limit.value), launch.effort)
    method = Method.PRESBURGER if result.possible is False else Method.INTERVALS
    held = _in_elements(limit.value, access.elem_bytes)
    conditions = [f"{access.base} holds at least {held}"]
    conditions += [f"{sign} >= 0" for sign in limit.signs]
    condition = " and ".join(conditions)
    message = f"{access.name} stays inside {access.base} if {condition}"
    return Finding(
        Check.BOUNDS, CheckResult.PROVED, (access.index,), None, method, message, condition
    )


def required(launch: Launch, access: MemoryOp) -> intervals.Limit | None:
    """A sufficient size in bytes, in arguments and grid."""
    region = launch.region(access)
    limit = intervals.upper_limit(region, region.offset)
    if limit is None:
        return None
    return intervals.Limit(limit.value + access.elem_bytes, limit.signs)


def _no_bound(launch: Launch, access: MemoryOp) -> str:
    """Why there is no sufficient size."""
    region = launch.region(access)
    if is_opaque(region.space, (region.offset,)):
        return opaque_reason(region.space, (region.offset,))
    return _with_remedy(launch, access, _obstacle(region))


def _obstacle(region: AddressRegion) -> str:
    """What keeps a program id, a counter or a lane from being replaced by its last value."""
    for atom in region.space.atoms_within((region.offset,)):
        text = str(region.space.of_atom(atom))
        if atom.kind in _DIVISIONS and atom.args[1].constant is None:
            return f"{text} divides by a value that is not constant"
        if not atom.is_symbol and varies(region.space.of_atom(atom)):
            return f"{text} has no bound in terms of the arguments"
    return "the trip counts of its loops or the signs of its strides are unknown"


def _with_remedy(launch: Launch, access: MemoryOp, reason: str) -> str:
    """The reason, and what the caller could add so that all executions can be visited."""
    options = launch.not_given(access)
    if access.base.removeprefix("%") not in launch.report.facts.buffers:
        options.append(f"--buffer {access.base.removeprefix('%')}=BYTES")
    return f"{reason}; pass {' '.join(options)}" if options else reason


def _below(launch: Launch, access: MemoryOp) -> Finding | None:
    """An execution before the start of the buffer, whatever its size.

    With arguments open only linear formulas are tried: non-linear terms can nearly always be made
    negative by a negative stride, which is not a useful finding.
    """
    region = launch.region(access)
    low = compare("<", region.offset, 0)
    question = Question(region.where & low, region.symbols, region.complete, (region.offset,))
    result = query(question, launch.effort, LINEAR if launch.not_given(access) else SYMBOLIC)
    if result.values is None:
        return None
    return _outside(launch, access, question, result, None)


def leaves(launch: Launch, access: MemoryOp, size: Poly) -> Question:
    region = launch.region(access)
    low = compare("<", region.offset, 0)
    high = compare(">", region.offset + access.elem_bytes, size)
    return Question(region.where & (low | high), region.symbols, region.complete, (region.offset,))


def _enumerate(launch: Launch, access: MemoryOp, size: int, before: QueryResult) -> QueryResult:
    """By visiting all points or, if they are too many, by finding a witness among some."""
    try:
        points = launch.sample(access)
        values = points.first_where(
            lambda chunk: (chunk.offset < 0) | (chunk.offset + access.elem_bytes > size)
        )
    except NotEnumerable as error:
        return QueryResult(None, before.method, reason=before.reason or str(error))
    if values is None and points.step > 1:
        reason = f"one in {points.step} of its {points.points} points was checked"
        return QueryResult(None, Method.ENUMERATION, reason=reason)
    return QueryResult(values is not None, Method.ENUMERATION, values)


# Findings.


def _outside(
    launch: Launch, access: MemoryOp, question: Question, result: QueryResult, size: int | None
) -> Finding:
    values = result.values or {}
    point = launch.region(access).point(values)
    address = _address(launch, access, values)
    given = launch.given(question, values)
    message = (
        f"{access.name} leaves {access.base}: {point} accesses bytes {address} to "
        f"{address + access.elem_bytes - 1}" + ("" if size is None else f" of {size}")
    )
    condition = presburger.condition(question, launch.effort) if given else None
    if given:
        message += f" for {', '.join(f'{k}={v}' for k, v in given.items())}"
    if condition is not None:
        message += f"; safe if {condition}"
    witness = Counterexample((point,), address, args=given)
    return Finding(
        Check.BOUNDS,
        CheckResult.REFUTED,
        (access.index,),
        witness,
        result.method,
        message,
        condition,
    )


def _address(launch: Launch, access: MemoryOp, values: dict[str, int]) -> int:
    return evaluate(access.offset, {**launch.contents.scalars(), **values})


def _safe(access: MemoryOp, method: Method, what: str) -> Finding:
    message = f"{access.name} stays inside {access.base} ({what})"
    return Finding(Check.BOUNDS, CheckResult.PROVED, (access.index,), None, method, message)


def _unknown(access: MemoryOp, reason: str, method: Method = Method.NONE) -> Finding:
    message = f"{access.name} may leave {access.base}: {reason}"
    return Finding(Check.BOUNDS, CheckResult.UNKNOWN, (access.index,), None, method, message)


def _in_elements(need: Poly, elem_bytes: int) -> str:
    if elem_bytes > 1 and need.content % elem_bytes == 0:
        return f"{need.exact_quotient(elem_bytes)} elements of {elem_bytes} bytes"
    return f"{need} bytes"

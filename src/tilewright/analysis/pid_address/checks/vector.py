"""How wide may one instruction be, and which fact is missing to make it wider?

``vector_bits`` is the minimum of several limits. The finding names the one that binds; if it is the
mask, the argument whose divisibility would lift it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.analysis.affine import Atom, Formula, Poly
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.checks.findings import Check, CheckResult, Finding, Method
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.lanes import MAX_VECTOR_BYTES
from tilewright.analysis.pid_address.report import MemoryOp, VectorLimits


def check(launch: Launch) -> list[Finding]:
    return [
        _finding(access, access.vector_limits)
        for access in launch.report.accesses
        if access.vector_limits is not None and access.shape
    ]


def _finding(access: MemoryOp, limits: VectorLimits) -> Finding:
    widest = MAX_VECTOR_BYTES // access.elem_bytes
    text = f"{access.name} can use {access.vector_bits} bits per instruction"
    if limits.elements >= widest:
        return _made(access, CheckResult.PROVED, text)
    verdict, reason = _binding(access, limits, widest)
    return _made(access, verdict, f"{text}: {reason}")


def _made(access: MemoryOp, verdict: CheckResult, message: str) -> Finding:
    return Finding(Check.VECTOR, verdict, (access.index,), None, Method.LANE_FACTS, message)


def _binding(access: MemoryOp, limits: VectorLimits, widest: int) -> tuple[CheckResult, str]:
    """The tightest constraint; of equal ones, a fact that is only missing."""
    fewest = limits.elements
    if limits.contiguity <= fewest:
        known = all(s is not None and s.constant is not None for s in access.lane_strides)
        run = f"runs of contiguous lanes have {limits.contiguity} elements"
        return (CheckResult.REFUTED if known else CheckResult.UNKNOWN), run
    if limits.mask <= fewest:
        return CheckResult.UNKNOWN, _mask_reason(access, limits, widest)
    if limits.base <= fewest:
        known = access.base_divisibility or access.elem_bytes
        return CheckResult.UNKNOWN, f"{access.base} is only known to be divisible by {known}"
    worst = min(limits.terms, key=lambda item: item[1], default=None)
    if worst is None:
        return CheckResult.UNKNOWN, "nothing is known about the address"
    required = min(widest, limits.contiguity) * access.elem_bytes
    return CheckResult.UNKNOWN, f"the term {worst[0]} is not known to be divisible by {required}"


def _mask_reason(access: MemoryOp, limits: VectorLimits, widest: int) -> str:
    required = min(widest, limits.contiguity)
    names = list(dict.fromkeys(_spoilers(access, required)))
    if not names:
        return f"the mask changes within groups of {required} lanes"
    verb = "is" if len(names) == 1 else "are"
    return (
        f"the mask ends at {' and '.join(names)}, which {verb} not known to be divisible by "
        f"{required}; with that, {_lifted(access, limits, required) * access.elem_bytes * 8} bits"
    )


def _lifted(access: MemoryOp, limits: VectorLimits, required: int) -> int:
    """The width once the mask is no limit."""
    return min(required, limits.base, limits.contiguity, *(limit for _, limit in limits.terms))


def _spoilers(access: MemoryOp, required: int) -> Iterator[str]:
    """Arguments in bounds of the fast lane without the required divisibility."""
    lane = access.lanes[access.order[0]] if access.order else None
    if access.mask is None or lane is None:
        return
    for poly in _comparisons(access.mask, lane):
        for monomial, coefficient in poly.terms.items():
            atoms = [poly.space.atoms[id] for id in monomial]
            if coefficient % required and len(atoms) == 1 and kind_of(atoms[0]) == "arg":
                yield atoms[0].name


def _comparisons(formula: Formula, lane: Atom) -> Iterator[Poly]:
    if formula.poly is not None and formula.poly.mentions(lane):
        yield formula.poly
    for part in formula.parts:
        yield from _comparisons(part, lane)

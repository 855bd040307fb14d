"""Addresses for other programs.

One kernel is one object, with keys in this order. Polynomials and formulas are text in canonical
form; addresses and strides count bytes, ``block_size`` elements::

    {"schema": "tilewright.address/1", "kernel": "add", "launch": null,
     "params": [{"name": "x_ptr", "type": "!tt.ptr<f32>", "divisibility": 16}, ...],
     "grid": [8, 1, 1],                                      null: not known
     "accesses": [
       {"index": 0, "op": "tt.load", "kind": "load", "result": "%x", "call": [],
        "loc": "add.py:8:30", "base": "%x_ptr", "elem_bytes": 4, "shape": [128],
        "offset": "4*lane0 + 512*pid0", "pattern": "PID_AFFINE", "reason": null,
        "pid_axes": [0], "guard_axes": [], "pid_strides": {"0": "512"},
        "lane_strides": ["4"], "loop_strides": [], "block_size": 128, "coalesced": true,
        "order": [0], "align_bytes": 16, "vector_bits": 32, "masked": true,
        "mask": "lane0 + 128*pid0 < n", "guard": null, "virtual": null, "assumptions": [0]}],
     "assumptions": [{"kind": "no_overflow", "value": "%offs", "type": "i32", "loc": null}],
     "notes": [],
     "not_analysed": [{"op": "ttng.tensormap_create", "call": [], "loc": null, "reason": "..."}],
     "findings": [{"check": "race", "verdict": "proved", "accesses": [2], "witness": null,
                   "method": "intervals", "message": "...", "condition": null, "hint": null}]}

A witness is ``{"points": [{"access", "program", "counters", "lanes"}], "address", "value",
"args"}``. Findings name accesses by their ``index``, which those on several call paths share.

Several kernels, as a script launches them, are ``{"schema": ..., "kernels": [...]}``. ``launch``
is how a kernel was launched, where it was; ``notes`` are sentences about the given values.
What is added later keeps the schema's name; what changes meaning gets another number.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypedDict

from tilewright.analysis.affine import Formula, Poly
from tilewright.analysis.pid_address import AddressReport, Assumption, MemoryOp
from tilewright.analysis.pid_address.checks import Counterexample, Finding, Hint, Point
from tilewright.report.address_document import Document

SCHEMA = "tilewright.address/1"


class ParamObject(TypedDict):
    """A parameter of the kernel."""

    name: str
    type: str
    divisibility: int | None


class LoopObject(TypedDict):
    """The stride of one enclosing loop."""

    loop: str
    stride: str | None


class VirtualObject(TypedDict):
    """The pattern over derived coordinates."""

    pattern: str
    strides: dict[str, str]


class AccessObject(TypedDict):
    """One access on one call path."""

    index: int
    op: str
    kind: str
    result: str | None
    call: list[str]
    loc: str | None
    base: str
    elem_bytes: int
    shape: list[int]
    offset: str
    pattern: str
    reason: str | None
    pid_axes: list[int]
    guard_axes: list[int]
    pid_strides: dict[str, str | None]
    lane_strides: list[str | None]
    loop_strides: list[LoopObject]
    block_size: int
    coalesced: bool | None
    order: list[int]
    align_bytes: int | None
    vector_bits: int | None
    masked: bool
    mask: str | None
    guard: str | None
    virtual: VirtualObject | None
    assumptions: list[int]


class AssumptionObject(TypedDict):
    """What the polynomials rest on."""

    kind: str
    value: str
    type: str
    loc: str | None


class NotAnalysedObject(TypedDict):
    """An op that accesses global memory, or may, and is not among the accesses."""

    op: str
    call: list[str]
    loc: str | None
    reason: str


class PointObject(TypedDict):
    """One lane of one execution of an access."""

    access: int | None
    program: list[int]
    counters: dict[str, int]
    lanes: list[int]


class WitnessObject(TypedDict):
    """Where a claim fails."""

    points: list[PointObject]
    address: int | None
    value: int | None
    args: dict[str, int]


class HintObject(TypedDict):
    """Properties for a prefetch."""

    loop: str
    bytes_per_iteration: int
    stride: str | None
    disjoint: bool | None
    ahead: bool
    tma: bool
    neighbours: bool | None


class FindingObject(TypedDict):
    """What a check found."""

    check: str
    verdict: str
    accesses: list[int]
    witness: WitnessObject | None
    method: str
    message: str
    condition: str | None
    hint: HintObject | None


class KernelObject(TypedDict):
    """One kernel."""

    schema: str
    kernel: str
    launch: str | None
    params: list[ParamObject]
    grid: list[int | None]
    accesses: list[AccessObject]
    assumptions: list[AssumptionObject]
    notes: list[str]
    not_analysed: list[NotAnalysedObject]
    findings: list[FindingObject]


def render(documents: Sequence[Document], *, verbose: bool = False) -> str:
    """The text; `verbose` changes nothing, since everything is included already."""
    objects = [kernel_object(document) for document in documents]
    if len(objects) == 1:
        return _text(objects[0])
    return _text({"schema": SCHEMA, "kernels": objects})


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def kernel_object(document: Document) -> KernelObject:
    """One kernel as plain values."""
    report = document.report
    return KernelObject(
        schema=SCHEMA,
        kernel=report.kernel,
        launch=document.launch or None,
        params=_params(report),
        grid=[*report.grid],
        accesses=[_access(access) for access in report.accesses],
        assumptions=[_assumption(assumption) for assumption in report.assumptions],
        notes=[*report.notes],
        not_analysed=[
            NotAnalysedObject(op=each.op, call=[*each.call], loc=each.loc, reason=each.reason)
            for each in report.not_analysed
        ],
        findings=[_finding(finding) for finding in document.findings],
    )


def _params(report: AddressReport) -> list[ParamObject]:
    return [
        ParamObject(name=param.name, type=param.type, divisibility=param.divisibility)
        for param in report.params
    ]


def _access(access: MemoryOp) -> AccessObject:
    return AccessObject(
        index=access.index,
        op=access.op,
        kind=access.kind.value,
        result=access.result,
        call=[*access.call],
        loc=access.loc,
        base=access.base,
        elem_bytes=access.elem_bytes,
        shape=[*access.shape],
        offset=str(access.offset),
        pattern=access.pattern.value,
        reason=None if access.reason is None else access.reason.value,
        pid_axes=[*access.pid_axes],
        guard_axes=[*access.guard_axes],
        pid_strides={str(axis): _poly(stride) for axis, stride in access.pid_strides.items()},
        lane_strides=[_poly(stride) for stride in access.lane_strides],
        loop_strides=[
            LoopObject(loop=item.loop.name, stride=_poly(item.stride))
            for item in access.loop_strides
        ],
        block_size=access.block_size,
        coalesced=access.coalesced,
        order=[*access.order],
        align_bytes=access.align_bytes,
        vector_bits=access.vector_bits,
        masked=access.masked,
        mask=None if access.mask is None else str(access.mask),
        guard=_condition(access.guard),
        virtual=_virtual(access),
        assumptions=[*access.assumptions],
    )


def _poly(poly: Poly | None) -> str | None:
    return None if poly is None else str(poly)


def _condition(formula: Formula) -> str | None:
    """An access that always happens has no guard."""
    return None if formula.truth is True else str(formula)


def _virtual(access: MemoryOp) -> VirtualObject | None:
    if access.virtual is None:
        return None
    return VirtualObject(
        pattern=access.virtual.pattern.value,
        strides={name: str(stride) for name, stride in access.virtual.strides.items()},
    )


def _assumption(assumption: Assumption) -> AssumptionObject:
    return AssumptionObject(
        kind=assumption.kind.value,
        value=assumption.value,
        type=assumption.type,
        loc=assumption.loc,
    )


def _finding(finding: Finding) -> FindingObject:
    return FindingObject(
        check=finding.check.value,
        verdict=finding.verdict.value,
        accesses=[*finding.accesses],
        witness=None if finding.witness is None else _witness(finding.witness),
        method=finding.method.value,
        message=finding.message,
        condition=finding.condition,
        hint=None if finding.hint is None else _hint(finding.hint),
    )


def _witness(witness: Counterexample) -> WitnessObject:
    return WitnessObject(
        points=[_point(point) for point in witness.points],
        address=witness.address,
        value=witness.value,
        args=dict(witness.args),
    )


def _point(point: Point) -> PointObject:
    return PointObject(
        access=point.access,
        program=[*point.program],
        counters=dict(point.counters),
        lanes=[*point.lanes],
    )


def _hint(hint: Hint) -> HintObject:
    return HintObject(
        loop=hint.loop,
        bytes_per_iteration=hint.bytes_per_iteration,
        stride=hint.stride,
        disjoint=hint.disjoint,
        ahead=hint.ahead,
        tma=hint.tma,
        neighbours=hint.next_block,
    )

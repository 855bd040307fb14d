"""Write next to every load, store and atomic how its address depends on the program id.

A pass for human readers and other tools: IR goes through unchanged but for an attribute on every
access, ``tilewright.address``, and a remark at its source position::

    tt.load %p {tilewright.address = {align_bytes = 16 : i64, block_size = 128 : i64,
                coalesced = true, offset = "4*lane0 + 512*pid0", pattern = "PID_AFFINE",
                strides = {"0" = "512"}, vector_bits = 128 : i64}}
    remark: %x (load): PATTERN(PID_AFFINE, block_size=128, stride=512, coalesced=true)

What is not known is left out. Functions that are called are seen from their callers; an access
that several calls reach has one remark for each path and an array of attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation

from tilewright.analysis.pid_address import AddressReport, AnalysisError, MemoryOp, analyze
from tilewright.dialects.tt import FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

ATTRIBUTE = "tilewright.address"


@dataclass(frozen=True)
class PidAddress(Pass):
    """Explain accesses as functions of the program id, in remarks and attributes."""

    name = "pid-address"
    attributes: bool = True
    """Put ``tilewright.address`` on every access."""
    remarks: bool = True
    """Report it in remarks."""
    values: bool = False
    """Remark on the integers and addresses that lead to an access, too."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels_of(module):
            try:
                report = analyze(kernel)
            except AnalysisError as error:
                engine.error(kernel, str(error))
                continue
            if self.remarks:
                self._remark(report, engine)
            if self.attributes:
                annotate(report)

    def _remark(self, report: AddressReport, engine: DiagnosticEngine) -> None:
        for line in report.lines:
            if isinstance(line, MemoryOp) or self.values:
                engine.remark(line.operation, f"{line.name}: {line.info()}")
        for skipped in report.not_analysed:
            engine.remark(skipped.operation, f"not analysed: {skipped.reason}")


def kernels_of(module: ModuleOp) -> Iterator[FuncOp]:
    """Functions with a body that are visible outside; all of them if none is."""
    functions = [op for op in walk(module) if isinstance(op, FuncOp) and not op.is_declaration]
    public = [function for function in functions if function.is_public]
    yield from public or functions


def annotate(report: AddressReport) -> None:
    """Put what is known of each access onto its op."""
    paths: dict[Operation, list[MemoryOp]] = {}
    for access in report.accesses:
        paths.setdefault(access.operation, []).append(access)
    for op, accesses in paths.items():
        op.attributes[ATTRIBUTE] = _attribute(accesses)


def _attribute(accesses: Sequence[MemoryOp]) -> Attribute:
    entries = [DictionaryAttr(_entries(access)) for access in accesses]
    return entries[0] if len(entries) == 1 else ArrayAttr(entries)


def _entries(access: MemoryOp) -> Mapping[str, Attribute]:
    entries: dict[str, Attribute] = {}
    if access.align_bytes is not None:
        entries["align_bytes"] = IntegerAttr(access.align_bytes, i64)
    entries["block_size"] = IntegerAttr(access.block_size, i64)
    if access.call:
        entries["call"] = ArrayAttr([StringAttr(name) for name in access.call])
    if access.coalesced is not None:
        entries["coalesced"] = BoolAttr.from_bool(access.coalesced)
    entries["offset"] = StringAttr(str(access.offset))
    entries["pattern"] = StringAttr(access.pattern.value)
    if access.reason is not None:
        entries["reason"] = StringAttr(access.reason.value)
    strides = {
        str(axis): StringAttr(str(stride))
        for axis, stride in access.pid_strides.items()
        if stride is not None
    }
    if strides:
        entries["strides"] = DictionaryAttr(strides)
    if access.vector_bits is not None:
        entries["vector_bits"] = IntegerAttr(access.vector_bits, i64)
    return entries

"""Loaded integers as functions, where the caller gave the memory they were loaded from.

An opaque value of the analysis is a function of the lanes, program ids and counters it depends on.
If it is the result of a load from a buffer whose contents are known, that function can be computed:
evaluate the load's own offset for those operands and look up the element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tilewright.analysis.affine import Formula
from tilewright.analysis.affine.arrays import ArrayEvaluator, BoolArray, IntArray
from tilewright.analysis.pid_address.report import AccessKind, AddressReport, MemoryOp

# The dependencies of a value that are its operands, by the beginning of their names.
_OPERANDS = ("pid", "it(")


class Reads:
    """Lookups during one evaluation, and those that found nothing."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[..., IntArray]] = {}
        self.undefined: list[BoolArray] = []

    def anywhere(self) -> BoolArray:
        result = self.undefined[0]
        for part in self.undefined[1:]:
            result = result | part
        return result


class Contents:
    """The loads of a kernel whose results are known."""

    def __init__(self, report: AddressReport, memory: Mapping[str, Sequence[int]]) -> None:
        self._loads: list[tuple[MemoryOp, IntArray, list[str]]] = []
        if not memory:
            return
        names = Counter(access.result for access in report.accesses)
        # A buffer that the kernel writes no longer has the contents that the caller gave.
        written = {a.base for a in report.accesses if a.kind is not AccessKind.LOAD}
        for access in report.accesses:
            if access.base in written:
                continue
            data = memory.get(access.base.removeprefix("%"))
            if access.kind is not AccessKind.LOAD or data is None or access.result is None:
                continue
            # The name is all that ties a value to its load: on two call paths it is no use.
            if names[access.result] == 1:
                self._loads.append((access, np.asarray(data, dtype=np.int64), _operands(access)))

    def scalars(self) -> dict[str, Callable[..., int]]:
        """The same functions for single values."""
        functions = self.session().functions
        return {name: _scalar(function) for name, function in functions.items()}

    def session(self) -> Reads:
        reads = Reads()
        for access, data, operands in self._loads:
            assert access.result is not None
            reads.functions[access.result] = _reader(reads, access, data, operands)
        return reads


def _scalar(function: Callable[..., IntArray]) -> Callable[..., int]:
    return lambda *values: int(function(*(np.asarray(value) for value in values)))


def _operands(access: MemoryOp) -> list[str]:
    """The operands of the load's result, in the order of the analysis: lanes, then the others."""
    deps = set(access.offset.deps)
    for condition in (access.mask, access.guard):
        deps |= condition.deps if isinstance(condition, Formula) else set[str]()
    lanes = [lane.name for lane in access.lanes if lane is not None and lane.name in deps]
    return lanes + sorted(name for name in deps if name.startswith(_OPERANDS))


def _reader(
    reads: Reads, access: MemoryOp, data: IntArray, operands: list[str]
) -> Callable[..., IntArray]:
    def read(*values: IntArray) -> IntArray:
        if len(values) != len(operands):
            raise KeyError(f"{access.result} depends on more than the load's own operands")
        evaluator = ArrayEvaluator({**reads.functions, **dict(zip(operands, values, strict=True))})
        active = evaluator.truth(access.guard)
        if access.mask is not None:
            active = active & evaluator.truth(access.mask)
        offset = evaluator.value(access.offset)
        index = offset // access.elem_bytes
        inside = active & (offset % access.elem_bytes == 0) & (index >= 0) & (index < len(data))
        reads.undefined.append(np.asarray(~inside))
        if not len(data):
            return np.zeros(np.shape(inside), dtype=np.int64)
        return np.where(inside, data[np.where(inside, index, 0).astype(np.int64)], 0)

    return read

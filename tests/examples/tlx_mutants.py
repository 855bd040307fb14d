"""Mistakes in warp-specialised kernels: one barrier op taken out, one phase turned, one count wrong.

Each mutant changes one op of an example's IR in the way an author forgets or confuses something.
`run` tells what became of it:

    reported    the run stopped with a message
    wrong       the results changed and nobody said so
    the same    the bits are those of the example: the op was not needed, or nothing depends on it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1, i32
from xdsl.ir import Operation

from tests.examples.tlx_blame import (
    Facts,
    Report,
    Truth,
    Where,
    is_right,
    said,
    task_of,
    truth_of,
    where,
)
from tests.examples.tlx_examples import results
from tilewright.dialects.arith import AddiOp, ConstantOp, RemuiOp, XoriOp
from tilewright.dialects.tlx import ReuseGroupOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.tcgen05 import TCGen5MMAOp
from tilewright.ir.diagnostics import CompileError
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.api import NumpyFault
from tilewright.targets.numpy.tasks.ordering import OrderingFault, OrderingLog

Outcome = Literal["reported", "wrong", "the same"]


@dataclass(frozen=True)
class Mutant:
    """A change to the `number`-th op called `op` in the `kernel`-th kernel that an example makes."""

    example: str
    kernel: int
    kind: str
    op: str
    number: int
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.example}: {self.kind} {self.op} #{self.number} (line {self.line})"

    def op_in(self, module: ModuleOp) -> Operation:
        return [op for op in walk(module) if op.name == self.op][self.number]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    outcome: Outcome
    message: str = ""
    is_right: bool = False
    """Whether the report blames what was changed."""
    truth: Truth | None = None


_ALL = 99
"""More groups than any example has in flight."""

# -- changes -------------------------------------------------------------------------------------


def _remove(op: Operation) -> None:
    """Take an op out; what it passes through stays. A wait for groups leaves all in flight."""
    if op.name == "ttg.async_wait":
        op.properties["num"] = IntegerAttr(_ALL, i32)
        return
    values = op.operands[: len(op.results)]
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    Rewriter().erase(op)


def _flip_phase(op: Operation) -> None:
    one = ConstantOp.of(1, i32)
    turned = XoriOp(op.operands[1], one)
    Rewriter().insert_before(op, [one, turned])
    op.operands[1] = turned.results[0]


def _more(name: str) -> Callable[[Operation], None]:
    def change(op: Operation) -> None:
        found = op.properties[name]
        assert isinstance(found, IntegerAttr)
        op.properties[name] = IntegerAttr(found.value.data + 1, found.type)

    return change


def _fewer(op: Operation) -> None:
    found = op.properties["count"]
    assert isinstance(found, IntegerAttr)
    op.properties["count"] = IntegerAttr(found.value.data - 1, found.type)


def _half(op: Operation) -> None:
    found = op.properties["size"]
    assert isinstance(found, IntegerAttr)
    op.properties["size"] = IntegerAttr(found.value.data // 2, found.type)


def _double(name: str) -> Callable[[Operation], None]:
    def change(op: Operation) -> None:
        found = op.properties[name]
        assert isinstance(found, IntegerAttr)
        op.properties[name] = IntegerAttr(found.value.data * 2, found.type)

    return change


def _next_buffer(op: Operation) -> None:
    """The neighbour of the buffer that was meant."""
    type = op.operands[0].type
    assert isinstance(type, MemDescType)
    one = ConstantOp.of(1, i32)
    more = AddiOp(op.operands[1], one)
    count = ConstantOp.of(type.get_shape()[0], i32)
    wrapped = RemuiOp(more, count)
    Rewriter().insert_before(op, [one, more, count, wrapped])
    op.operands[1] = wrapped.results[0]


def _untold(number: int) -> Callable[[Operation], None]:
    """A product that does not tell one of its barriers when it is done."""

    def change(op: Operation) -> None:
        assert isinstance(op, TCGen5MMAOp)
        false = ConstantOp.of(0, i1)
        Rewriter().insert_before(op, [false])
        first = len(op.operands) - len(op.barrier_preds)
        op.operands[first + number] = false.results[0]

    return change


def _share(op: Operation) -> None:
    """Buffers that are alive together get the same bytes."""
    assert isinstance(op, ReuseGroupOp)
    Rewriter().replace_op(op, ReuseGroupOp(op.operands, "shared"))


UNTOLD = ("first barrier untold by", "second barrier untold by")
KINDS: dict[str, Callable[[Operation], None]] = {
    "without": _remove,
    "other phase of": _flip_phase,
    "one more at": _more("count"),
    "one more left by": _more("num"),
    "one more in flight behind": _more("pendings"),
    "one fewer at": _fewer,
    "twice the bytes of": _double("size"),
    "half the bytes of": _half,
    "neighbour of": _next_buffer,
    UNTOLD[0]: _untold(0),
    UNTOLD[1]: _untold(1),
    "shared": _share,
}
CHANGES: dict[str, tuple[str, ...]] = {
    "ttng.wait_barrier": ("without", "other phase of"),
    "ttng.arrive_barrier": ("without", "one more at"),
    "ttng.barrier_expect": ("without", "twice the bytes of", "half the bytes of"),
    "ttng.init_barrier": ("one more at", "one fewer at"),
    "ttng.fence_async_shared": ("without",),
    "ttg.async_wait": ("without", "one more left by"),
    "ttng.warp_group_dot_wait": ("without", "one more in flight behind"),
    "ttng.async_tma_store_wait": ("without",),
    "ttng.wait_barrier_named": ("without",),
    "ttng.arrive_barrier_named": ("without",),
    "ttng.tc_gen5_commit": ("without",),
    "ttng.tc_gen5_mma": UNTOLD,
    "ttg.memdesc_index": ("neighbour of",),
    "tlx.reuse_group": ("shared",),
}


@dataclass(frozen=True)
class Example:
    """An example as it is."""

    name: str
    results: list[np.ndarray]
    facts: Facts
    mutants: tuple[Mutant, ...]
    """All of them; a line that several kernels have is changed in the first of them only."""

    @staticmethod
    def of(name: str) -> Example:
        facts, seen = Facts(), list[ModuleOp]()
        found = results(name, seen.append, recorder=lambda: facts)
        return Example(name, found, facts, tuple(_mutants(name, seen)))


def _mutants(example: str, kernels: Sequence[ModuleOp]) -> Iterator[Mutant]:
    known: set[tuple[str, str, Where]] = set()
    for kernel, module in enumerate(kernels):
        counts: dict[str, int] = {}
        fresh: set[tuple[str, str, Where]] = set()
        for op in walk(module):
            number = counts.setdefault(op.name, 0)
            counts[op.name] += 1
            here = where(op.location)
            key = (op.name, task_of(op), here)
            if key in known:
                continue
            fresh.add(key)
            for kind in CHANGES.get(op.name, ()):
                if _applies(kind, op):
                    yield Mutant(example, kernel, kind, op.name, number, here[0] if here else None)
        known |= fresh


def _applies(kind: str, op: Operation) -> bool:
    if kind == "neighbour of":
        type = op.operands[0].type
        return (
            isinstance(type, MemDescType) and type.get_shape()[0] > 1 and bool(op.results[0].uses)
        )
    if kind in UNTOLD:
        assert isinstance(op, TCGen5MMAOp)
        return len(op.barrier_preds) > UNTOLD.index(kind)
    if kind == "shared":
        found = op.properties.get("group_kind")
        return found is not None and "distinct" in str(op.results[0].type)
    if kind == "one fewer at":
        found = op.properties["count"]
        return isinstance(found, IntegerAttr) and found.value.data > 1
    if kind.startswith("one more"):
        return any(
            isinstance(op.properties.get(n), IntegerAttr) for n in ("count", "num", "pendings")
        )
    return True


# -- runs ----------------------------------------------------------------------------------------


def run(mutant: Mutant, example: Example, **options: Any) -> Verdict:
    """Run a mutant with the given options of `tw.running`, watched by the ordering checker."""
    log = OrderingLog()
    truths: list[Truth] = []
    kernels = count()

    def change(module: ModuleOp) -> None:
        if next(kernels) == mutant.kernel:
            op = mutant.op_in(module)
            told = UNTOLD.index(mutant.kind) if mutant.kind in UNTOLD else 0
            truths.append(truth_of(op, example.facts, told))
            KINDS[mutant.kind](op)

    try:
        found = results(mutant.example, change, recorder=log.recorder, **options)
    except OrderingFault as fault:
        report = said(fault.diagnostic)
        if fault.findings:
            report = Report(str(fault), fault.findings[0], fault.source_sites)
        return Verdict("reported", str(fault), is_right(report, truths[-1]), truths[-1])
    except NumpyFault as fault:
        right = is_right(said(fault.diagnostic), truths[-1])
        return Verdict("reported", str(fault), right, truths[-1])
    except CompileError as error:
        if not truths:
            raise  # the example itself cannot be compiled
        right = is_right(said(error.diagnostics[0]), truths[-1])
        return Verdict("reported", str(error), right, truths[-1])
    warnings = log.unread()
    if warnings:
        right = is_right(said(warnings[0]), truths[-1])
        return Verdict("reported", warnings[0].message, right, truths[-1])
    pairs = zip(found, example.results, strict=True)
    same = all(np.array_equal(one.view(np.uint8), other.view(np.uint8)) for one, other in pairs)
    return Verdict("the same" if same else "wrong", truth=truths[-1])

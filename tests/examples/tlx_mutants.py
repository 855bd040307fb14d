"""Mistakes in warp-specialised kernels: one barrier op taken out, one phase turned, one count wrong.

Each mutant changes one op of an example's IR in the way an author forgets or confuses something.
`run` tells what became of it:

    reported    the run stopped with a message
    wrong       the results changed and nobody said so
    the same    the bits are those of the example: the op was not needed, or nothing depends on it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation

from tests.examples.tlx_examples import results
from tilewright.dialects.arith import AddiOp, ConstantOp, RemuiOp, XoriOp
from tilewright.dialects.tlx import ReuseGroupOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.ir.diagnostics import CompileError, resolve
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.api import NumpyFault
from tilewright.targets.numpy.tasks.ordering import OrderingLog

Outcome = Literal["reported", "wrong", "the same"]


@dataclass(frozen=True)
class Mutant:
    """A change to the `number`-th op called `op`."""

    example: str
    kind: str
    op: str
    number: int
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.example}: {self.kind} {self.op} #{self.number} (line {self.line})"

    def apply(self, module: ModuleOp) -> None:
        found = [op for op in walk(module) if op.name == self.op]
        KINDS[self.kind](found[self.number])


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    outcome: Outcome
    message: str = ""


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


def _share(op: Operation) -> None:
    """Buffers that are alive together get the same bytes."""
    assert isinstance(op, ReuseGroupOp)
    Rewriter().replace_op(op, ReuseGroupOp(op.operands, "shared"))


KINDS: dict[str, Callable[[Operation], None]] = {
    "without": _remove,
    "other phase of": _flip_phase,
    "one more at": _more("count"),
    "one more left by": _more("num"),
    "one more in flight behind": _more("pendings"),
    "twice the bytes of": _double("size"),
    "neighbour of": _next_buffer,
    "shared": _share,
}
CHANGES: dict[str, tuple[str, ...]] = {
    "ttng.wait_barrier": ("without", "other phase of"),
    "ttng.arrive_barrier": ("without", "one more at"),
    "ttng.barrier_expect": ("without", "twice the bytes of"),
    "ttng.init_barrier": ("one more at",),
    "ttng.fence_async_shared": ("without",),
    "ttg.async_wait": ("without", "one more left by"),
    "ttng.warp_group_dot_wait": ("without", "one more in flight behind"),
    "ttng.async_tma_store_wait": ("without",),
    "ttng.wait_barrier_named": ("without",),
    "ttng.arrive_barrier_named": ("without",),
    "ttng.tc_gen5_commit": ("without",),
    "ttg.memdesc_index": ("neighbour of",),
    "tlx.reuse_group": ("shared",),
}


def mutants_of(example: str) -> list[Mutant]:
    """Every mutant of an example, by what its first kernel looks like."""
    seen: list[ModuleOp] = []
    results(example, seen.append)
    return list(_mutants(example, seen[0]))


def _mutants(example: str, module: ModuleOp) -> Iterator[Mutant]:
    counts: dict[str, int] = {}
    for op in walk(module):
        number = counts.setdefault(op.name, 0)
        counts[op.name] += 1
        for kind in CHANGES.get(op.name, ()):
            if _applies(kind, op):
                position = resolve(op.location).primary
                yield Mutant(example, kind, op.name, number, position and position.line)


def _applies(kind: str, op: Operation) -> bool:
    if kind == "neighbour of":
        type = op.operands[0].type
        return (
            isinstance(type, MemDescType) and type.get_shape()[0] > 1 and bool(op.results[0].uses)
        )
    if kind == "shared":
        found = op.properties.get("group_kind")
        return found is not None and "distinct" in str(op.results[0].type)
    if kind.startswith("one more"):
        return any(
            isinstance(op.properties.get(n), IntegerAttr) for n in ("count", "num", "pendings")
        )
    return True


# -- runs ----------------------------------------------------------------------------------------


def run(mutant: Mutant, wanted: list[np.ndarray], **options: Any) -> Verdict:
    """Run a mutant with the given options of `tw.running`, watched by the ordering checker."""
    log = OrderingLog()
    try:
        found = results(mutant.example, mutant.apply, recorder=log.recorder, **options)
    except (NumpyFault, CompileError) as fault:
        return Verdict("reported", str(fault))
    warnings = log.warnings()
    if warnings:
        return Verdict("reported", warnings[0].message)
    pairs = zip(found, wanted, strict=True)
    same = all(np.array_equal(one.view(np.uint8), other.view(np.uint8)) for one, other in pairs)
    return Verdict("the same" if same else "wrong")

"""Report iterations of ``T.Parallel`` that write one element, or read what another writes.

    tile.parallel (%i, %j) in (64, 32) { %row[%i] = %row[%i] + %x[%i, %j] }

    error[TW3030]: iterations (0, 0) and (0, 1) of the parallel loop both write row[0]

A race is reported only with two iterations and their element in hand (`analysis.parallel_races`).
What could neither be shown nor excluded is a remark. The check is opt-in: the NumPy target finds
the races of a run by itself, this one finds those of every run.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.index_range import IndexRanges
from tilewright.analysis.parallel_races import Access, Race, Unknown, find_races
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import ParallelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.naming import buffer_name

BOTH_WRITE = "TW3030"
READ_AND_WRITE = "TW3031"
NOT_ANALYSED = "TW3032"


@dataclass(frozen=True)
class CheckParallelRaces(Pass):
    """Report races between iterations of parallel loops."""

    name = "check-parallel-races"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.ops:
            if not isinstance(function, FuncOp):
                continue
            loops = [op for op in walk(function) if isinstance(op, ParallelOp)]
            if not loops:
                continue
            ranges = IndexRanges(function)
            for loop in loops:
                for found in find_races(loop, ranges):
                    if isinstance(found, Race):
                        _report(found, engine)
                    else:
                        _confess(found, engine)


def _report(race: Race, engine: DiagnosticEngine) -> None:
    element = f"{buffer_name(race.one.op.memref)}[{', '.join(map(str, race.element))}]"
    first, second = (_tuple(iteration) for iteration in race.iterations)
    where = _outer(race)
    if race.one.is_write and race.other.is_write:
        message = f"iterations {first} and {second} of the parallel loop both write {element}"
        code = BOTH_WRITE
        fix = "combine with T.atomic_add, T.reduce_sum or T.alloc_reducer, or let one of them write"
    else:
        writer, reader = (first, second) if race.one.is_write else (second, first)
        message = (
            f"iteration {writer} of the parallel loop writes {element}, which iteration {reader} "
            "reads; they have no order"
        )
        code = READ_AND_WRITE
        fix = "read from a copy, or split the loop in two"
    write = race.one if race.one.is_write else race.other
    diagnostic = engine.error(write.op, message + where, code)
    other = race.other if write is race.one else race.one
    if other.op is not write.op:
        diagnostic.note(other.op, f"the other {_kind(other)} is here")
    diagnostic.note(None, fix)


def _kind(access: Access) -> str:
    return "write" if access.is_write else "read"


def _outer(race: Race) -> str:
    """The numbers that the element was computed with."""
    shown = [f"{name.partition('.')[0]} = {value}" for name, value in race.outer]
    return f" (with {', '.join(shown)})" if shown else ""


def _confess(found: Unknown, engine: DiagnosticEngine) -> None:
    engine.remark(found.op, f"races not analysed: {found.reason}", NOT_ANALYSED)


def _tuple(numbers: tuple[int, ...]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"({', '.join(map(str, numbers))})"

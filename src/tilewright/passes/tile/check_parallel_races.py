"""Report iterations of ``T.Parallel`` that write one element, or read what another writes.

    tile.parallel (%i, %j) in (64, 32) { %row[%i] = %row[%i] + %x[%i, %j] }

    error[TW3030]: data race on row[0]: written by iterations (0, 0) and (0, 1) of the T.Parallel

A race is reported only with two iterations and their element in hand (`analysis.parallel_races`).
What could neither be shown nor excluded is a remark. The check is opt-in: the NumPy target finds
the races of a run by itself, this one finds those of every run.

With `certain`, which compiling for a GPU always sets, it reports only races that do not depend on
the arguments, and only in shared memory: there the threads of a block would conflict, and
`check-thread-sync` would find out at the end, too late to name iterations. Races that depend on the
arguments are recorded for that check. Writes by one and the same statement are left to the run,
where their values can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.threads.parallel_races import (
    Finding,
    LoopAccess,
    Race,
    Unknown,
    find_races,
)
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import ParallelOp, names, space_of
from tilewright.dialects.tile.interfaces import base_of
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

    certain: bool = False
    """Report only races in shared memory that occur for all arguments, and no remarks."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.ops:
            if not isinstance(function, FuncOp):
                continue
            loops = [op for op in walk(function) if isinstance(op, ParallelOp)]
            if self.certain:
                loops = [loop for loop in loops if _may_race(loop)]
            if not loops:
                continue
            ranges = IndexRanges(function)
            for loop in loops:
                for found in find_races(loop, ranges):
                    if not self.certain:
                        _report(found, engine)
                    elif isinstance(found, Race) and _is_between_threads(found):
                        if found.by_caller:
                            _remember(found, module)
                        else:
                            _report(found, engine)


def _is_between_threads(race: Race) -> bool:
    return race.one.op is not race.other.op and _is_shared(race.one.op)


def _is_shared(op: LoadOp | StoreOp) -> bool:
    space = space_of(op.memref.type)
    return space is not None and space.is_shared


def _may_race(loop: ParallelOp) -> bool:
    """Whether a loop writes a shared buffer here and accesses it elsewhere there.

    Almost no loop does, so that hardly any kernel pays for a closer look.
    """
    accesses: dict[SSAValue, set[tuple[SSAValue, ...]]] = {}
    written: set[SSAValue] = set()
    for op in walk(loop):
        if isinstance(op, LoadOp | StoreOp) and _is_shared(op):
            base = base_of(op.memref)
            accesses.setdefault(base, set()).add(tuple(op.indices))
            if isinstance(op, StoreOp):
                written.add(base)
    own = set(loop.arguments)
    return any(len(accesses[base]) > 1 or not own.issubset(*accesses[base]) for base in written)


@dataclass(frozen=True)
class _Text:
    """The diagnostic for a race."""

    code: str
    message: str
    help: str


def _text_of(race: Race) -> _Text:
    element = f"{buffer_name(race.one.op.memref)}[{', '.join(map(str, race.element))}]"
    first, second = (_tuple(iteration) for iteration in race.iterations)
    if race.one.is_write and race.other.is_write:
        message = (
            f"data race on {element}: written by iterations {first} and {second} of the "
            "T.Parallel loop"
        )
        fix = (
            "combine the values with T.atomic_add, T.reduce_sum or T.alloc_reducer, or write "
            "in one iteration only"
        )
        if race.one.op is not race.other.op:
            fix = "put each of the two writes into its own T.Parallel loop"
        return _Text(BOTH_WRITE, message + _outer(race), f"help: {fix}")
    writer, reader = (first, second) if race.one.is_write else (second, first)
    message = (
        f"data race on {element}: written by iteration {writer}, read by iteration "
        f"{reader} of the T.Parallel loop; iterations are not ordered"
    )
    fix = "read into a fragment in one T.Parallel loop and write from it in a second one after it"
    return _Text(READ_AND_WRITE, message + _outer(race), f"help: {fix}")


def _sides(race: Race) -> tuple[LoopAccess, LoopAccess]:
    """The access that is reported, a write, and the other one."""
    return (race.one, race.other) if race.one.is_write else (race.other, race.one)


def _report(found: Finding, engine: DiagnosticEngine) -> None:
    if isinstance(found, Unknown):
        engine.remark(found.op, f"races not analysed: {found.reason}", NOT_ANALYSED)
        return
    text, (write, other) = _text_of(found), _sides(found)
    diagnostic = engine.error(write.op, text.message, text.code)
    if other.op is not write.op:
        which = "the other write" if other.is_write else "the read"
        diagnostic.note(other.op, f"{which} is here")
    diagnostic.note(None, text.help)


def _remember(race: Race, module: ModuleOp) -> None:
    """Record the message for a later pass that finds the race between threads."""
    text, (write, other) = _text_of(race), _sides(race)
    if isinstance(write.op.location, UnknownLoc) or isinstance(other.op.location, UnknownLoc):
        return
    known = module.attributes.get(names.RACES)
    entry = _strings(
        str(write.op.location), str(other.op.location), text.code, text.message, text.help
    )
    before = known.data if isinstance(known, ArrayAttr) else ()
    module.attributes[names.RACES] = ArrayAttr([*before, entry])


def _strings(*texts: str) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr(each) for each in texts])


def _outer(race: Race) -> str:
    """The numbers that the element was computed with."""
    shown = [f"{name.partition('.')[0]} = {value}" for name, value in race.outer]
    return f" (with {', '.join(shown)})" if shown else ""


def _tuple(values: tuple[int, ...]) -> str:
    return str(values[0]) if len(values) == 1 else f"({', '.join(map(str, values))})"

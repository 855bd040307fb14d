"""When functions run, from the call graph with times, and the problem of placing their scratch.

A function names its callees with intervals of its own time, and each callee spreads its own time
out inside them::

    main        |----------------------------|      main calls predict in 0..1, correct in 1..2
    predict     |-------------|
    solve             |----|      |----|            called by both: live over both
    correct                   |--------------|

Scratch is live from the moment its function is entered until it is left, also during the calls it
makes, and is worth nothing between calls. So one interval does for all rounds of a loop. Functions
are identified by name; one that is called from two sites has one offset in memory.

Callees whose intervals overlap are live at the same time, and the order of events inside one
and inside the other is unknown. No line of time can express that without also losing the order
inside each, so such pairs are separated by a relation instead (`together`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeAlias

from tilewright.memory.planner import ALWAYS, Apart, Block, Live, Problem, Space

_MAX_ACTIVATIONS = 4096
"""The number of paths through a call graph can be exponential in its size. Callees below the last
one that is visited count as running all the time that it does."""

_Span: TypeAlias = tuple[int, int]


class CallError(ValueError):
    """Calls that no run of a program can make."""


@dataclass(frozen=True)
class Scratch:
    """Memory that a function needs while it runs; with `persists`, while the program runs."""

    name: str
    size: int
    align: int = 1
    space: str = "shared"
    persists: bool = False


@dataclass(frozen=True)
class Call:
    """`function` runs in these intervals of its caller's time; None means unknown."""

    function: Function
    during: Live | None = None

    def __post_init__(self) -> None:
        for start, stop in self.during or ():
            if start >= stop:
                name = self.function.name
                raise CallError(f"'{name}': a call needs a start before its stop: {start}, {stop}")


@dataclass(frozen=True)
class Function:
    """A function, what it needs and what it calls. Equal names have to mean equal functions."""

    name: str
    scratch: tuple[Scratch, ...] = ()
    calls: tuple[Call, ...] = ()


def in_order(*functions: Function) -> tuple[Call, ...]:
    """Sequential calls, as a function body makes them; a function may come again."""
    during: dict[str, list[_Span]] = {}
    for moment, function in enumerate(functions):
        during.setdefault(function.name, []).append((moment, moment + 1))
    known = {function.name: function for function in functions}
    return tuple(Call(known[name], tuple(spans)) for name, spans in during.items())


def functions_problem(main: Function, capacities: Mapping[str, int] | None = None) -> Problem:
    """Every buffer of `main` and of everything below it as a block ``function.buffer``."""
    spans = running(main)
    functions = _callees_first(main)
    blocks = tuple(
        Block(
            f"{name}.{scratch.name}",
            scratch.size,
            scratch.align,
            scratch.space,
            ALWAYS if scratch.persists else spans[name],
        )
        for name in spans
        for scratch in functions[name].scratch
    )
    spaces = dict.fromkeys(block.space for block in blocks)
    relations = [
        Apart(f"{one}.{a.name}", f"{other}.{b.name}")
        for one, other in together(main)
        for a, b in product(functions[one].scratch, functions[other].scratch)
        if a.space == b.space
    ]
    limits = capacities or {}
    return Problem(
        tuple(Space(name, limits.get(name)) for name in spaces), blocks, tuple(relations)
    )


def running(main: Function) -> dict[str, Live]:
    """The spans of time in which each function runs, by name; `main` runs all the time."""
    return _Running(main).spans()


def together(main: Function) -> tuple[tuple[str, str], ...]:
    """Pairs of functions that may be needed at the same time although neither calls the other."""
    functions = _callees_first(main)
    reach: dict[str, dict[str, None]] = {}
    pairs: dict[tuple[str, str], None] = {}
    for name, function in functions.items():
        callees = dict.fromkeys(call.function.name for call in function.calls)
        reach[name] = {name: None} | {each: None for callee in callees for each in reach[callee]}
        for one, other in combinations(function.calls, 2):
            first, second = one.function.name, other.function.name
            if first == second or not may_overlap(one.during, other.during):
                continue
            for pair in product(reach[first], reach[second]):
                if pair[0] != pair[1]:
                    pairs[min(pair), max(pair)] = None
    return tuple(pairs)


def may_overlap(one: Live | None, other: Live | None) -> bool:
    """Whether two sets of intervals have a moment in common; None is any moment."""
    if one is None or other is None:
        return one != () and other != ()
    return any(a < d and c < b for a, b in one for c, d in other)


@dataclass(frozen=True)
class _Visit:
    """A callee in an interval of its caller's time."""

    callee: str
    start: int


class _Running:
    """Walks down from `main` through every call, giving each the time that it takes."""

    def __init__(self, main: Function) -> None:
        self.main = main
        self.functions = _callees_first(main)
        self.lengths: dict[str, int] = {}
        self.visits: dict[str, tuple[_Visit, ...]] = {}
        self.below: dict[str, frozenset[str]] = {}
        for name, function in self.functions.items():
            self.lengths[name], self.visits[name] = _schedule(function, self.lengths)
            callees = {call.function.name for call in function.calls}
            self.below[name] = frozenset(callees.union(*(self.below[each] for each in callees)))
        self.found: dict[str, list[_Span]] = {name: [] for name in reversed(self.functions)}

    def spans(self) -> dict[str, Live]:
        waiting = [(self.main.name, 0)]
        for count, (name, start) in enumerate(waiting):
            self.found[name].append((start, start + self.lengths[name]))
            if count >= _MAX_ACTIVATIONS:
                for each in self.below[name]:
                    self.found[each].append((start, start + self.lengths[name]))
                continue
            waiting += [(visit.callee, start + visit.start) for visit in self.visits[name]]
        return _small({name: _joined(spans) for name, spans in self.found.items()})


def _callees_first(main: Function) -> dict[str, Function]:
    """Everything below `main`, and last `main`; refuses recursion and ambiguous names."""
    done: dict[str, Function] = {}
    path: list[str] = []

    def visit(function: Function) -> None:
        if function.name in path:
            cycle = [*path[path.index(function.name) :], function.name]
            raise CallError(f"recursive calls need unbounded memory: {' -> '.join(cycle)}")
        known = done.get(function.name)
        if known is not None:
            if known != function:
                raise CallError(f"two functions have the name '{function.name}'")
            return
        path.append(function.name)
        for call in function.calls:
            visit(call.function)
        path.pop()
        done[function.name] = function

    visit(main)
    return done


def _schedule(function: Function, lengths: Mapping[str, int]) -> tuple[int, tuple[_Visit, ...]]:
    """How long `function` takes, the first moment being its own, and its calls in that time.

    Callees whose intervals overlap are sequential here too: `together` relates them.
    """
    during: dict[str, list[_Span]] = {}
    anytime = dict.fromkeys(call.function.name for call in function.calls if call.during is None)
    for call in function.calls:
        if call.during and call.function.name not in anytime:
            during.setdefault(call.function.name, []).extend(call.during)
    calls = [(start, name) for name, spans in during.items() for start, _ in _joined(spans)]
    visits: list[_Visit] = []
    now = 1
    for name in [*anytime, *(name for _, name in sorted(calls, key=lambda call: call[0]))]:
        visits.append(_Visit(name, now))
        now += lengths[name]
    return now, tuple(visits)


def _joined(spans: Sequence[_Span]) -> list[_Span]:
    """The same moments as disjoint spans in order; adjacent spans are not joined."""
    joined: list[_Span] = []
    for start, stop in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined


def _small(spans: Mapping[str, Sequence[_Span]]) -> dict[str, Live]:
    """The same order of moments with the smallest numbers."""
    times = sorted({time for each in spans.values() for span in each for time in span})
    rank = {time: index for index, time in enumerate(times)}
    return {
        name: tuple((rank[start], rank[stop]) for start, stop in each)
        for name, each in spans.items()
    }

"""The checker: every fault by example, mutated plans, and mutants of the checker itself."""

import ast
import random
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from tests.memory.planner.exhaustive import broken
from tests.memory.planner.random_problems import planted_problem, random_problem
from tilewright.memory.planner import (
    Apart,
    AsyncRegion,
    Block,
    Inside,
    MayOverlap,
    Problem,
    Relation,
    SameStart,
    Space,
)
from tilewright.memory.planner import check as planner_check
from tilewright.memory.planner.check import PlanViolation, check_heights, check_offsets

SMALL = Space("smem", 16, unit="bytes")
A = Block("a", 8, 4, live=((0, 4),))
B = Block("b", 6, 2, live=((3, 8),))
C = Block("c", 4, live=((4, 6),))
LEFT = Block("l", 4, live=((0, 1),), region=AsyncRegion("ws", 0))
RIGHT = Block("r", 4, live=((1, 2),), region=AsyncRegion("ws", 1))
FARAWAY = Block("f", 4, live=((1, 2),), region=AsyncRegion("other", 1))


Example = tuple[tuple[Block, ...], dict[str, int], tuple[Relation, ...], list[str]]


def faults(
    blocks: tuple[Block, ...], offsets: Mapping[str, int], *relations: Relation
) -> list[str]:
    problem = Problem((SMALL,), blocks, relations)
    return [str(violation) for violation in check_offsets(problem, offsets)]


EXAMPLES: list[Example] = [
    ((A, B), {"a": 0, "b": 8}, (), []),
    ((A, B), {"a": 0}, (), ["missing or unknown block: b: not in both the problem and the plan"]),
    ((A,), {"a": 0, "z": 1}, (), ["missing or unknown block: z: not in both the problem and the plan"]),
    ((A,), {"a": -4}, (), ["below the start of the space: 'a' starts at -4"]),
    ((A,), {"a": 2}, (), ["misaligned: 'a' starts at 2, not at a multiple of 4"]),
    ((replace(A, fixed=4),), {"a": 8}, (), ["moved from its fixed offset: 'a' starts at 8, fixed was 4"]),
    ((A, B), {"a": 0, "b": 6}, (), ["overlap: 'a' at 0..8 and 'b' at 6..12 both have 6..8"]),
    ((A, C), {"a": 0, "c": 2}, (), []),
    ((A, C), {"a": 0, "c": 2}, (Apart("a", "c"),), ["overlap: 'a' at 0..8 and 'c' at 2..6 both have 2..6"]),
    ((A, B), {"a": 0, "b": 6}, (MayOverlap("b", "a"),), []),
    ((A, B), {"a": 0, "b": 6}, (MayOverlap("b", "a"), Apart("a", "b")), ["overlap: 'a' at 0..8 and 'b' at 6..12 both have 6..8"]),
    ((A, B), {"a": 0, "b": 0}, (SameStart("a", "b"),), []),
    ((A, B), {"a": 0, "b": 8}, (SameStart("a", "b"),), ["not the same start: 'a' starts at 0, 'b' at 8"]),
    ((A, B), {"a": 0, "b": 2}, (Inside("b", "a"),), []),
    ((A, B), {"a": 0, "b": 2}, (Inside("b", "a", 0),), ["not inside: 'b' at 2..8 is not inside 'a' at 0..8 at 0"]),
    ((A, B), {"a": 0, "b": 4}, (Inside("b", "a"),), ["not inside: 'b' at 4..10 is not inside 'a' at 0..8"]),
    ((A, B), {"a": 8, "b": 6}, (Inside("b", "a"),), ["not inside: 'b' at 6..12 is not inside 'a' at 8..16"]),
    ((LEFT, RIGHT), {"l": 0, "r": 2}, (), ["overlap: 'l' at 0..4 and 'r' at 2..6 both have 2..4"]),
    ((LEFT, RIGHT), {"l": 0, "r": 2}, (MayOverlap("l", "r"),), []),
    ((LEFT, FARAWAY), {"l": 0, "f": 2}, (), []),
    ((A, B), {"a": 12, "b": 2}, (), ["over capacity: 'smem' needs 20 bytes, 16 available"]),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "offsets", "relations", "expected"), EXAMPLES)
def test_every_fault(
    blocks: tuple[Block, ...],
    offsets: dict[str, int],
    relations: tuple[Relation, ...],
    expected: list[str],
):
    assert faults(blocks, offsets, *relations) == expected


FOUR = (A, replace(A, id="b"), replace(A, id="c"), replace(A, id="d"))


def test_chains_of_relations_excuse():
    blocks, zero = FOUR, dict.fromkeys("abcd", 0)
    assert faults(blocks, zero, SameStart("a", "b"), SameStart("c", "b"), SameStart("d", "c")) == []
    assert faults(blocks, zero, Inside("a", "b"), Inside("b", "c"), Inside("c", "d")) == []
    assert len(faults(blocks, zero, Inside("a", "b"), Inside("a", "c"), Inside("a", "d"))) == 3
    assert len(faults(blocks, zero)) == 6


def test_claims():
    problem = Problem((Space("smem"),), (A, B))
    offsets = {"a": 0, "b": 8}

    def claim(height: int, bound: int) -> list[str]:
        return [str(v) for v in check_heights(problem, offsets, {"smem": height}, {"smem": bound})]

    assert claim(14, 14) == []
    assert claim(14, 2) == []
    assert claim(13, 2) == ["wrong height: 'smem' ends at 14, claimed was 13"]
    assert claim(14, 15) == ["wrong bound: 'smem' has a lower bound of 15, but ends at 14"]


# -- mutated plans -------------------------------------------------------------------------------

Case = tuple[Problem, dict[str, int]]


def mutants(seeds: range) -> Iterator[Case]:
    """Good plans with one thing changed: an offset, or what is said about a block."""
    for seed in seeds:
        rng = random.Random(seed)
        planted = planted_problem(rng, 8)
        problem, offsets = planted.problem, planted.offsets
        yield problem, offsets
        for _ in range(6 if problem.blocks else 0):
            block, other = rng.choices(problem.blocks, k=2)
            step = rng.choice([1, -1, block.align, -block.align, block.size, -other.size])
            yield problem, {**offsets, block.id: offsets[block.id] + step}
            yield problem, {**offsets, block.id: offsets[other.id]}
            swapped = {block.id: offsets[other.id], other.id: offsets[block.id]}
            yield problem, {**offsets, **swapped}
            changed = rng.choice(
                [
                    replace(block, align=block.align * rng.choice([2, 3]), fixed=None),
                    replace(block, live=((-5, 50),)),
                    replace(block, fixed=offsets[block.id] + block.align),
                ]
            )
            blocks = tuple(changed if b.id == block.id else b for b in problem.blocks)
            yield replace(problem, blocks=blocks), offsets


def wrongs(module: ModuleType, case: Case) -> bool:
    """What a checker says about the offsets, capacities left aside."""
    return bool(module.check_offsets(*case))


def assert_mutants_are_judged(seeds: range) -> tuple[int, int]:
    bad = good = 0
    for case in mutants(seeds):
        is_broken = broken(*case)
        assert wrongs(planner_check, case) == is_broken
        bad += is_broken
        good += not is_broken
    return bad, good


def test_broken_plans_are_caught_and_good_ones_pass():
    bad, good = assert_mutants_are_judged(range(120))
    assert bad > 1000
    assert good > 300


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 5000, 1000))
def test_many_broken_plans_are_caught(start: int):
    bad, _ = assert_mutants_are_judged(range(start, start + 1000))
    assert bad > 10_000


# -- mutants of the checker ----------------------------------------------------------------------

SOURCE = Path(str(planner_check.__file__)).read_text(encoding="utf-8")

SWAPS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mod: (ast.FloorDiv,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}


def rewritten(every: int = 1) -> Iterator[tuple[str, str]]:
    """The checker with one operator, number, condition or part of a result changed.

    `every` leaves out all but a share of the changes.
    """
    number = 0
    imports = SOURCE[: SOURCE.index("class PlanViolation")].count("\n")
    for position, original in enumerate(ast.walk(ast.parse(SOURCE))):
        if getattr(original, "lineno", 0) <= imports:
            continue
        for kind, change in CHANGES:
            if not isinstance(original, kind):
                continue
            number += 1
            if number % every:
                continue
            tree = ast.parse(SOURCE)
            what = change([*ast.walk(tree)][position])
            if what:
                yield f"line {getattr(original, 'lineno', '?')}: {what}", ast.unparse(tree)


def _swap_comparison(node: ast.AST, choice: int) -> str:
    if not isinstance(node, ast.Compare) or choice >= len(SWAPS.get(type(node.ops[0]), ())):
        return ""
    new = SWAPS[type(node.ops[0])][choice]
    text = f"{new.__name__} for {type(node.ops[0]).__name__}"
    node.ops[0] = new()  # type: ignore[call-overload]
    return text


def _swap_operator(node: ast.AST) -> str:
    if not isinstance(node, ast.BinOp | ast.BoolOp) or type(node.op) not in SWAPS:
        return ""
    new = SWAPS[type(node.op)][0]
    text = f"{new.__name__} for {type(node.op).__name__}"
    node.op = new()  # type: ignore[assignment]
    return text


def _negate(node: ast.AST) -> str:
    if not isinstance(node, ast.If):
        return ""
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return "negated if"


def _never(node: ast.AST) -> str:
    if not isinstance(node, ast.If):
        return ""
    node.test = ast.Constant(False)
    return "if False"


def _number(node: ast.AST) -> str:
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        return ""
    node.value += 1
    return "another number"


def _all_for_any(node: ast.AST) -> str:
    names = {"max": "min", "min": "max", "any": "all"}
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    node.id = names[node.id]
    return f"{node.id} for {next(k for k, v in names.items() if v == node.id)}"


def _without_part(node: ast.AST, which: int) -> str:
    if not isinstance(node, ast.Tuple) or which >= len(node.elts):
        return ""
    if not isinstance(node.elts[which], ast.Starred):
        return ""
    del node.elts[which]
    return f"part {which} left out"


Change = Callable[[ast.AST], str]

CHANGES: tuple[tuple[type[ast.AST], Change], ...] = (
    (ast.Compare, lambda node: _swap_comparison(node, 0)),
    (ast.Compare, lambda node: _swap_comparison(node, 1)),
    (ast.BinOp, _swap_operator),
    (ast.BoolOp, _swap_operator),
    (ast.If, _negate),
    (ast.If, _never),
    (ast.Constant, _number),
    (ast.Name, _all_for_any),
    (ast.Tuple, lambda node: _without_part(node, 0)),
    (ast.Tuple, lambda node: _without_part(node, 1)),
    (ast.Tuple, lambda node: _without_part(node, 2)),
    (ast.Tuple, lambda node: _without_part(node, 3)),
)


@cache
def battery() -> tuple[tuple[Case, tuple[str, ...]], ...]:
    """Cases with what the true checker finds in each, texts included."""
    cases = [*mutants(range(30))]
    capped: list[Case] = []
    for problem, offsets in cases[::3]:
        spaces = tuple(
            replace(space, capacity=max((b.size for b in problem.in_space(space.name)), default=0))
            for space in problem.spaces
        )
        capped.append((replace(problem, spaces=spaces), offsets))
    some = [(p, {k: v for n, (k, v) in enumerate(o.items()) if n}) for p, o in cases[:20]]
    shown = [(Problem((SMALL,), blocks, related), at) for blocks, at, related, _ in EXAMPLES]
    tied = [*tied_cases(range(100))]
    return tuple(
        (case, found_by(planner_check, case)) for case in [*shown, *tied, *cases, *capped, *some]
    )


def tied_cases(seeds: range) -> Iterator[Case]:
    """Small problems full of relations with offsets that mostly break some of them."""
    for seed in seeds:
        rng = random.Random(seed)
        problem = random_problem(rng, 6, ties=True)
        free = [rng.randint(0, 3) * b.align for b in problem.blocks]
        yield problem, {b.id: at for b, at in zip(problem.blocks, free, strict=True)}
        chain = [rng.choice([SameStart, Inside])(*rng.sample("abcd", 2)) for _ in range(3)]
        yield Problem((SMALL,), FOUR, tuple(chain)), dict.fromkeys("abcd", rng.choice([0, 0, 8]))


def found_by(module: ModuleType, case: Case) -> tuple[str, ...]:
    problem, offsets = case
    found = [*module.check_offsets(problem, offsets)]
    if not any(one.fault.name == PlanViolation.MISSING.name for one in found):
        for shift in (0, 1):
            heights = {
                s.name: shift + max((offsets[b.id] + b.size for b in problem.in_space(s.name)), default=0)
                for s in problem.spaces
            }  # fmt: skip
            for more in (-1, 0, 1):
                bounds = {name: height - shift + more for name, height in heights.items()}
                found += module.check_heights(problem, offsets, heights, bounds)
    return tuple(f"{one} {one.subjects}" for one in found)


def is_caught(source: str) -> bool:
    """Whether a rewritten checker gives itself away: another verdict, or no verdict at all."""
    module = ModuleType("mutant")
    module.__dict__["__name__"] = planner_check.__name__
    try:
        with at_most(seconds=2.0):
            exec(compile(source, "mutant", "exec"), module.__dict__)
            return any(found_by(module, case) != expected for case, expected in battery())
    except Exception:
        return True


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block when it has computed for so long: a mutant may loop."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_mutants_of_the_checker_are_caught():
    mutants_of_it = [*rewritten(every=5)]
    assert len(mutants_of_it) >= 15
    assert [name for name, source in mutants_of_it if not is_caught(source)] == []


@pytest.mark.slow
def test_all_mutants_of_the_checker_are_caught():
    mutants_of_it = [*rewritten()]
    assert len(mutants_of_it) > 90
    missed = [name for name, source in mutants_of_it if not is_caught(source)]
    assert len(missed) <= 0.01 * len(mutants_of_it), missed

"""The concurrency core is the only definition of its concepts; the reference execution has its own.

Each concept is recognised by its shape, so that a second one is found whatever its name: arrivals
that are counted, steps that are resumed, phases that a wait guarantees, events that are received.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "src" / "tilewright"
CORE, ORACLE = "analysis/concurrency", "targets/numpy/simt"
_COUNTERS = frozenset(("arrived", "came", "arrivals", "pending_arrivals"))
_RECEIVERS = frozenset(("SyncEvents", "CheckerEvents", "Recorder", "ViewEvents"))


def _is_zero(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value == 0 and value.value is not False


def barriers(tree: ast.Module) -> list[str]:
    """Classes that begin to count arrivals at 0."""
    found: list[str] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for each in ast.walk(node):
            targets: list[ast.expr] = []
            if isinstance(each, ast.AnnAssign) and _is_zero(each.value):
                targets = [each.target]
            elif isinstance(each, ast.Assign) and _is_zero(each.value):
                targets = each.targets
            names = {
                target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
                for target in targets
            }
            if names & _COUNTERS and node.name not in found:
                found.append(node.name)
    return found


def schedulers(tree: ast.Module) -> list[str]:
    """Functions that resume the steps of tasks."""
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "next"
        and isinstance(call.args[0], ast.Attribute)
        and call.args[0].attr == "steps"
    ]


def _is_next(value: ast.expr, of: ast.expr) -> bool:
    """Whether an expression is another one plus 1."""
    return (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.Add)
        and isinstance(value.right, ast.Constant)
        and value.right.value == 1
        and ast.dump(value.left) == ast.dump(of)
    )


def parity_rules(tree: ast.Module) -> list[str]:
    """Functions that choose between k phases and k + 1."""
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for each in ast.walk(node)
        if isinstance(each, ast.IfExp)
        and (_is_next(each.orelse, each.body) or _is_next(each.body, each.orelse))
        and ("& 1" in ast.unparse(each.test) or "pass" in ast.unparse(each.test))
    ]


def protocols(tree: ast.Module) -> list[str]:
    """Classes that receive waits and phases, and do not derive from the protocol."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            bases = {ast.unparse(each).partition("[")[0] for each in node.bases}
            if {"phase", "waiting", "waited"} <= methods and not bases & _RECEIVERS:
                found.append(node.name)
    return found


CONCEPTS: dict[Callable[[ast.Module], list[str]], dict[str, str]] = {
    barriers: {
        f"{CORE}/mbarrier.py": "MBarrier",
        f"{CORE}/named_barrier.py": "NamedBarrier",
        f"{ORACLE}/machine.py": "Mbarrier ThreadBarrier",
    },
    schedulers: {
        f"{CORE}/tasks.py": "resume",
        f"{ORACLE}/machine.py": "_step",
        # Resumes tasks in the order of their clocks, of cycles.
        "targets/tenstorrent/timing/clock.py": "_resume",
    },
    parity_rules: {f"{CORE}/parity.py": "guaranteed_phases"},
    protocols: {
        f"{CORE}/events.py": "SyncEvents",
        # What the receiver of both kinds of runs, `CheckerEvents`, calls with agents and clocks.
        "analysis/ordering/checker.py": "Checker",
    },
}


HINTS = {
    barriers: re.compile("|".join(rf"\b{name}\b.* = .*\b0$" for name in _COUNTERS), re.MULTILINE),
    schedulers: re.compile(r"\bnext\(\w+\.steps"),
    parity_rules: re.compile(r"\+ 1\b.* (if|else) |(if|else) .*\+ 1\b"),
    protocols: re.compile(r"def waited\("),
}
"""What a text has at least, if it defines the concept: parsing all of the package takes long."""


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    paths = sorted(SOURCE.rglob("*.py"))
    return {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in paths}


@pytest.mark.parametrize("concept", CONCEPTS, ids=lambda each: each.__name__)
def test_a_concept_is_defined_once(
    concept: Callable[[ast.Module], list[str]], texts: dict[str, str]
) -> None:
    chosen = {name: text for name, text in texts.items() if HINTS[concept].search(text)}
    found = {name: " ".join(concept(ast.parse(text))) for name, text in chosen.items()}
    assert {name: each for name, each in found.items() if each} == CONCEPTS[concept]


@pytest.mark.parametrize(
    ("concept", "text"),
    [
        (barriers, "class Gate:\n    name: str\n    arrived: int = 0\n"),
        (
            barriers,
            "class Gate:\n    def __init__(self):\n        self.came = self.extra = 0\n",
        ),
        (schedulers, "def advance(self):\n    self.wait = next(self.steps, None)\n"),
        (parity_rules, "def target(k, p):\n    return k if k & 1 != p else k + 1\n"),
        (
            parity_rules,
            "def target(self, p):\n    return self.k + 1 if (self.k & 1) == p else self.k\n",
        ),
        (
            protocols,
            "class Log:\n    def phase(self): ...\n    def waiting(self): ...\n"
            "    def waited(self): ...\n",
        ),
    ],
)
def test_a_second_definition_is_found(
    concept: Callable[[ast.Module], list[str]], text: str
) -> None:
    assert HINTS[concept].search(text)
    assert len(concept(ast.parse(text))) == 1


def test_the_documents_say_where_the_core_is() -> None:
    for name in ("CONTRIBUTING.md", "docs/design/concurrency.md"):
        assert CORE in (ROOT / name).read_text(encoding="utf-8")

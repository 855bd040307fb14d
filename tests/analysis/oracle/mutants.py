"""Small errors in the source of the analysis, made and undone while it runs.

A mutant changes one place of one function: an operator, a comparison, a constant by one, a guard
that is always or never true, ``min`` for ``max``, an operand left out. The module is compiled again
with that change, and the code of the functions that exist is exchanged; tables and closures that
hold those functions need no second import. Undoing puts the old code back.
"""

from __future__ import annotations

import ast
import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

_PACKAGE = "tilewright.analysis"
MODULES = (
    "pid_address.transfer.arith",
    "pid_address.transfer.integers",
    "pid_address.transfer.logic",
    "pid_address.transfer.shape",
    "pid_address.transfer.memory",
    "pid_address.control.choices",
    "pid_address.control.closed_forms",
    "pid_address.control.graph",
    "pid_address.control.joins",
    "pid_address.control.loops",
    "pid_address.control.recurrences",
    "pid_address.classify",
    "pid_address.counting",
    "pid_address.lanes",
    "pid_address.runs",
    "pid_address.axis",
    "axis_info.rules",
    "axis_info.shape_rules",
    "axis_info.facts",
)
"""The transfer functions, and what turns their results into claims."""


@dataclass(frozen=True)
class Mutant:
    """One change in one place."""

    module: str
    path: str
    function: str
    line: int
    last: int
    change: str
    number: int
    """Which of the changes that the module admits."""

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.function}: {self.change}"


# Changes.

_BINARY: Mapping[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitAnd, ast.BitOr),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
_COMPARE: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE,),
    ast.LtE: (ast.Lt,),
    ast.Gt: (ast.GtE,),
    ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "gcd": "max"}
_WORDS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "!=", "!=": "=",
    "fdiv": "tdiv", "tdiv": "fdiv", "trem": "mod", "minimum": "maximum", "maximum": "minimum",
    "ceil_div": "fdiv", "bit_and": "bit_or", "bit_or": "bit_xor", "bit_xor": "bit_or",
}  # fmt: skip
_TRUE_METHODS = frozenset(("is_nonneg", "is_positive", "is_multiple", "contains", "mentions"))

Line = tuple[str, int]
"""A line of a file."""

Change = tuple[str, Callable[[], None], Callable[[], None]]
"""(description, how to make it, how to undo it) in the tree."""


def _changes(node: ast.AST) -> Iterator[Change]:
    """What can be changed at one node."""
    if isinstance(node, ast.BinOp | ast.AugAssign):
        for other in _BINARY.get(type(node.op), ()):
            yield _set(node, "op", other(), f"{_sign(node.op)} -> {_sign(other())}")
    elif isinstance(node, ast.Compare):
        for at, old in enumerate(node.ops):
            for other in _COMPARE.get(type(old), ()):
                new = [*node.ops[:at], other(), *node.ops[at + 1 :]]
                yield _set(node, "ops", new, f"{_sign(old)} -> {_sign(other())}")
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _set(node, "op", other, f"{_sign(node.op)} -> {_sign(other)}")
        for at, value in enumerate(node.values):
            rest = [*node.values[:at], *node.values[at + 1 :]]
            rest = rest * 2 if len(rest) == 1 else rest
            yield _set(node, "values", rest, f"without '{ast.unparse(value)}'")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield _set(node, "op", ast.UAdd() if not isinstance(node.op, ast.Not) else ast.Not(), "")
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        for other in (node.value + 1, node.value - 1):
            yield _set(node, "value", other, f"{node.value} -> {other}")
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        test = ast.unparse(node.test)
        for truth in (True, False):
            if isinstance(node, ast.While) and truth:
                continue
            yield _set(node, "test", ast.Constant(truth), f"'{test}' -> {truth}")
    elif isinstance(node, ast.Call):
        yield from _call_changes(node)


def _call_changes(node: ast.Call) -> Iterator[Change]:
    called = node.func
    if isinstance(called, ast.Name) and called.id in _NAMES:
        yield _set(called, "id", _NAMES[called.id], f"{called.id} -> {_NAMES[called.id]}")
    if isinstance(called, ast.Attribute):
        if called.attr in _TRUE_METHODS:
            text = ast.unparse(node)
            always = ast.BoolOp(ast.Or(), [ast.Constant(True), ast.Constant(True)])
            yield _replace(node, always, f"'{text}' -> True")
        elif called.attr in _WORDS:
            yield _set(
                called, "attr", _WORDS[called.attr], f"{called.attr} -> {_WORDS[called.attr]}"
            )
        if len(node.args) == 2 and called.attr in ("fdiv", "tdiv", "mod", "trem", "select"):
            yield _set(node, "args", node.args[::-1], f"operands of {called.attr} exchanged")
        if len(node.args) == 3 and called.attr == "select":
            swapped = [node.args[0], node.args[2], node.args[1]]
            yield _set(node, "args", swapped, "sides of select exchanged")
    for at, argument in enumerate(node.args):
        if isinstance(argument, ast.Constant) and argument.value in _WORDS:
            new = [*node.args[:at], ast.Constant(_WORDS[argument.value]), *node.args[at + 1 :]]
            yield _set(node, "args", new, f"{argument.value} -> {_WORDS[argument.value]}")


def _set(node: ast.AST, attribute: str, new: object, text: str) -> Change:
    old = getattr(node, attribute)

    def make() -> None:
        setattr(node, attribute, new)

    def undo() -> None:
        setattr(node, attribute, old)

    return text, make, undo


def _replace(node: ast.Call, new: ast.expr, text: str) -> Change:
    """A call by an expression: as the call of a function that gives it."""
    function = ast.Lambda(ast.arguments([], [], ast.arg("_"), [], [], None, []), new)
    return _set(node, "func", function, text)


def _sign(op: ast.AST) -> str:
    signs = {
        "Add": "+", "Sub": "-", "Mult": "*", "FloorDiv": "//", "Mod": "%", "BitAnd": "&",
        "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>", "Lt": "<", "LtE": "<=",
        "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!=", "Is": "is", "IsNot": "is not",
        "In": "in", "NotIn": "not in", "And": "and", "Or": "or",
    }  # fmt: skip
    return signs.get(type(op).__name__, type(op).__name__)


# Sources.


@dataclass(frozen=True)
class _Source:
    module: ModuleType
    tree: ast.Module
    path: str


@cache
def _source(name: str) -> _Source:
    module = import_module(f"{_PACKAGE}.{name}")
    path = str(module.__file__)
    return _Source(module, ast.parse(Path(path).read_text(), path), path)


@cache
def _places(name: str) -> tuple[tuple[str, ast.AST, Change], ...]:
    """(function, node, change) for everything inside functions of a module."""

    def visit(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST, Change]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Assert | ast.Raise | ast.arguments) or _is_annotation(
                node, child
            ):
                continue
            inner = function
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{function}.{child.name}" if function else child.name
            elif isinstance(child, ast.Lambda):
                inner = function or "<lambda>"
            if inner and not isinstance(child, ast.ClassDef):
                for change in _changes(child):
                    if change[0]:
                        yield inner, child, change
            yield from visit(child, inner)

    return tuple(visit(_source(name).tree, ""))


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    return getattr(node, "annotation", None) is child or getattr(node, "returns", None) is child


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Every change of every module, in order."""
    return tuple(
        Mutant(
            name,
            _source(name).path,
            function,
            getattr(node, "lineno", 0),
            getattr(node, "end_lineno", 0),
            change[0],
            number,
        )
        for name in MODULES
        for number, (function, node, change) in enumerate(_places(name))
    )


def seeded(seed: int) -> list[Mutant]:
    """All mutants in an order of the seed's, which changes elsewhere in a file do not disturb."""
    seen = Counter[tuple[str, str, str]]()

    def rank(mutant: Mutant) -> bytes:
        same = (mutant.module, mutant.function, mutant.change)
        seen[same] += 1
        return sha256(repr((seed, *same, seen[same])).encode()).digest()

    return sorted(all_mutants(), key=rank)


def source_files() -> frozenset[str]:
    return frozenset(_source(name).path for name in MODULES)


# Exchange of code.


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The analysis with one error in it."""
    source = _source(mutant.module)
    _, _, (_, make, undo) = _places(mutant.module)[mutant.number]
    old = _original_codes(mutant.module)
    make()
    try:
        new = _codes(compile(ast.fix_missing_locations(source.tree), source.path, "exec"))
    finally:
        undo()
    changed = {key: new[key] for key in old if key in new and new[key] != old[key]}
    exchanged: list[tuple[FunctionType, CodeType]] = []
    for function in _functions(source.path):
        code = function.__code__
        other = changed.get(_key(code))
        if other is not None and other.co_freevars == code.co_freevars:
            exchanged.append((function, code))
            function.__code__ = other
    try:
        yield
    finally:
        for function, code in exchanged:
            function.__code__ = code


@cache
def _original_codes(name: str) -> dict[tuple[str, int], CodeType]:
    source = _source(name)
    return _codes(compile(source.tree, source.path, "exec"))


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> dict[tuple[str, int], CodeType]:
    found: dict[tuple[str, int], CodeType] = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found.setdefault(_key(constant), constant)
            found.update({k: v for k, v in _codes(constant).items() if k not in found})
    return found


@cache
def _functions(path: str) -> tuple[FunctionType, ...]:
    """All functions that exist with code from a file."""
    return tuple(
        one
        for one in gc.get_objects()
        if isinstance(one, FunctionType) and one.__code__.co_filename == path
    )

"""A kernel function, rewritten so that executing it builds its IR.

Statements keep their order and their locations; everything stays in one Python frame. Assignments
pass the run-time (`control`) the name, and control flow queries it for what to execute:

    x = e                   x = $control.bind("x", e)
    if c: A else: B         $if1 = $control.if_(c, names, (x, y))
                            $sides1 = $if1.__iter__()    # both sides, or the one that is known
                            $side1 = $control.side($sides1)
                            x, y = $if1.state
                            if $side1:
                                A
                                $if1.leave((x, y))
                                $side1 = $control.side($sides1)
                                x, y = $if1.state
                            if $side1 is False:
                                B
                                $if1.leave((x, y))
                                $control.side($sides1)
                                x, y = $if1.state
    for i in it: A          $for1 = $control.for_(it, names, (x, y))
                            for i in $for1:              # once, or once per item known now
                                x, y = $for1.state
                                A
                                $for1.leave((x, y))
                            x, y = $for1.state
                            i = $for1.last("i", i)
    while c: A              $while1 = $control.while_(names, (x, y))
                            for $iteration in $while1:
                                x, y = $while1.state
                                if $while1.test(c):
                                    x, y = $while1.state
                                    A
                                    $while1.leave((x, y))
                            x, y = $while1.state
    with m as t: A          $with1 = $control.with_(m, (x, y), names)
                            for $turn1 in $with1:        # once, or as many times as a region yields
                                x, y = $with1.state
                                with $with1.context() as t:
                                    A
                                $with1.leave((x, y))
                            x, y = $with1.state
    return e                $control.return_(e), then out of what is around

Names are those assigned inside. A variable that has no value yet holds an `Undefined`; where that
is possible, reading it goes through ``$control.load``. Out of a branch that has returned leads
``continue``, out of an unrolled loop ``break``, each followed by a test whether anything can still
go on after the statement. A branch that may return is therefore written as a loop over the sides;
others are not, because Python nests no more than twenty loops, and an ``elif`` is a nested ``if``.
"""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Literal

from tilewright.frontend.expressions import Expressions
from tilewright.frontend.locations import SourceMap
from tilewright.frontend.refusals import Refusal
from tilewright.frontend.scopes import (
    assigned_names,
    contains_return,
    first_assignments,
    target_names,
)
from tilewright.frontend.source import FunctionSource
from tilewright.frontend.source_ranges import source_ranges_of
from tilewright.frontend.syntax import (
    CONTROL,
    Positioned,
    assign,
    at,
    attribute,
    call,
    constant,
    control,
    evaluate,
    load,
    load_all,
    store,
    store_all,
)


@dataclass(frozen=True)
class Rewritten:
    """A function ready to be executed: its first argument is the run-time, the rest its own."""

    code: CodeType
    source_map: SourceMap
    refused: tuple[Refusal, ...]
    assigned: Mapping[str, int]
    """Variables, and the line that assigns them first."""
    line: int
    """Of the ``def``, where the function itself is located."""
    column: int


Around = Literal["function", "branch", "loop"]
"""What a ``return`` has to get out of."""


def rewrite(
    source: FunctionSource, *, library: bool = False, statements: type[Statements] | None = None
) -> Rewritten:
    """Rewrite and compile a function; `statements` handles the statements of its language."""
    tree = source.tree
    ranges = source_ranges_of(tree)
    line, column = tree.lineno, tree.col_offset + 1
    rewriter = (statements or Statements)(tree)
    body = rewriter.function(tree)
    definition = at(
        tree,
        ast.FunctionDef(
            name=tree.name, args=_parameters(tree), body=body, decorator_list=[], returns=None
        ),
    )
    module = ast.Module([definition], [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python reports them when it reads the file
        compiled = compile(module, source.file, "exec", dont_inherit=True)
    code = next(each for each in compiled.co_consts if isinstance(each, CodeType))
    source_map = SourceMap(source.file, code, ranges, library=library)
    return Rewritten(code, source_map, tuple(rewriter.refused), rewriter.assigned, line, column)


def parameter_names(arguments: ast.arguments) -> list[str]:
    """Every parameter, in the order in which values are passed."""
    plain = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg is not None:
        plain.append(arguments.vararg.arg)
    return plain + [each.arg for each in arguments.kwonlyargs]


def _parameters(tree: ast.FunctionDef) -> ast.arguments:
    names = [CONTROL, *parameter_names(tree.args)]
    arguments = [ast.arg(name) for name in names]
    for each in arguments:
        each.lineno, each.col_offset = tree.lineno, tree.col_offset
        each.end_lineno, each.end_col_offset = tree.lineno, tree.col_offset
    return ast.arguments([], arguments, None, [], [], None, [])


class Statements(Expressions):
    """Rewrites the statements of one function; a language with more of Python derives from it."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        parameters = parameter_names(tree.args)
        self.assigned = assigned = first_assignments(tree.body)
        super().__init__(frozenset((*parameters, *assigned)), set(parameters))
        self._assigned = [name for name in assigned if name not in self.definite]
        self._around: Around = "function"
        self._statements: Mapping[type[ast.stmt], Callable[..., list[ast.stmt]]] = {
            ast.AnnAssign: self._annotated,
            ast.Assert: self._assert,
            ast.Assign: self._assign,
            ast.AugAssign: self._augmented,
            ast.Expr: self._expression,
            ast.For: self._for,
            ast.If: self._if,
            ast.Pass: _unchanged,
            ast.Return: self._return,
            ast.While: self._while,
            ast.With: self._with,
        }

    def function(self, tree: ast.FunctionDef) -> list[ast.stmt]:
        names = self._assigned
        start = control(tree, "undefined", constant(tree, tuple(names)))
        return [*store_all(tree, names, start), *self._block(tree.body)] or [at(tree, ast.Pass())]

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """A statement list, up to its ``return``: what follows it is never executed."""
        result: list[ast.stmt] = []
        for statement in statements:
            rule = self._statements.get(type(statement))
            if rule is None:
                result.append(evaluate(statement, self.refuse(statement)))
            else:
                result += rule(statement)
            if isinstance(statement, ast.Return):
                break
        return result

    def _branch(self, statements: Sequence[ast.stmt]) -> tuple[list[ast.stmt], set[str] | None]:
        """A statement list that may not run, and what is certain after it, if that is reached."""
        definite, pending = set(self.definite), set(self.pending)
        block = self._block(statements)
        after = None if statements and isinstance(statements[-1], ast.Return) else self.definite
        self.definite, self.pending = definite, pending
        return block, after

    # -- assignment --------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.expr(node.value)
        if len(node.targets) == 1:
            return self._store(node, node.targets[0], value)
        name = self.fresh("t")
        result = [assign(node, name, value)]
        for target in node.targets:
            result += self._store(node, target, load(node, name))
        return result

    def _store(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return [assign(node, target.id, self.bound(node, target.id, value))]
        names = self._structure(target)
        if names is None:
            return [evaluate(node, self._refuse_target(target))]
        bound = set(target_names(target))
        constants = tuple(sorted(bound & self.pending))
        self.definite |= bound
        self.pending -= bound
        unpacked = control(node, "unpack", constant(node, names), value, constant(node, constants))
        return [at(node, ast.Assign([target], unpacked))]

    def _structure(self, target: ast.expr) -> str | tuple[object, ...] | None:
        """Names of a target as nested tuples; None if it holds something else than names."""
        if isinstance(target, ast.Name):
            return target.id
        if not isinstance(target, (ast.Tuple, ast.List)):
            return None
        parts = [self._structure(part) for part in target.elts]
        return None if None in parts else tuple(parts)

    def _refuse_target(self, target: ast.expr) -> ast.expr:
        part = next(each for each in ast.walk(target) if isinstance(each, _BAD_TARGET_TYPES))
        return self.refuse(part, _BAD_TARGETS[type(part)])

    def _augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        if not isinstance(node.target, ast.Name):
            return [evaluate(node, self._refuse_target(node.target))]
        current = load(node.target, node.target.id)
        value = self.expr(at(node, ast.BinOp(current, node.op, node.value)))
        return self._store(node, node.target, value)

    def _annotated(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if not isinstance(node.target, ast.Name):
            return [evaluate(node, self._refuse_target(node.target))]
        is_constant = "constexpr" in ast.unparse(node.annotation)
        name = node.target.id
        if node.value is None:
            self.pending |= {name} if is_constant else set()
            return []
        value = self.expr(node.value)
        if not is_constant:
            return self._store(node, node.target, value)
        self.definite.add(name)
        now = load(node, name)
        return [
            assign(node, name, control(node, "declare", constant(node, name), value, now)),
        ]

    # -- control flow ------------------------------------------------------------------------

    def _if(self, node: ast.If) -> list[ast.stmt]:
        name = self.fresh("if")
        names = assigned_names([*node.body, *node.orelse])
        returns = contains_return([node])
        test = self.expr(node.test)
        around, self._around = self._around, "branch"
        then, after_then = self._branch(node.body)
        otherwise, after_else = self._branch(node.orelse)
        self._around = around
        self.definite = _certain(self.definite, after_then, after_else)
        flags = (names, bool(node.orelse), returns)
        start = control(
            node, "if_", test, load_all(node, names), *(constant(node, flag) for flag in flags)
        )
        begin = assign(node, name, start)
        if not returns:
            return [begin, *self._sides_in_sequence(node, name, names, then, otherwise)]
        return [begin, *self._loop_over_sides(node, name, names, then, otherwise)]

    def _sides_in_sequence(
        self,
        node: ast.If,
        name: str,
        names: Sequence[str],
        then: list[ast.stmt],
        otherwise: list[ast.stmt],
    ) -> list[ast.stmt]:
        side, sides = self.fresh("side"), self.fresh("sides")
        resume = store_all(node, names, attribute(node, name, "state"))
        leave = evaluate(node, call(node, name, "leave", load_all(node, names)))
        following = control(node, "side", load(node, sides))
        is_other = ast.Compare(load(node, side), [ast.Is()], [constant(node, False)])
        first = [*then, leave, assign(node, side, following), *copy.deepcopy(resume)]
        second = [
            *otherwise,
            copy.deepcopy(leave),
            evaluate(node, copy.deepcopy(following)),
            *copy.deepcopy(resume),
        ]
        return [
            assign(node, sides, call(node, name, "__iter__")),
            assign(node, side, copy.deepcopy(following)),
            *resume,
            at(node, ast.If(load(node, side), first, [])),
            *([at(node, ast.If(at(node, is_other), second, []))] if node.orelse else []),
        ]

    def _loop_over_sides(
        self,
        node: ast.If,
        name: str,
        names: Sequence[str],
        then: list[ast.stmt],
        otherwise: list[ast.stmt],
    ) -> list[ast.stmt]:
        side = self.fresh("side")
        loop = at(
            node,
            ast.For(
                target=at(node, ast.Name(side, ast.Store())),
                iter=load(node, name),
                body=[
                    *store_all(node, names, attribute(node, name, "state")),
                    at(node, ast.If(load(node, side), then or [at(node, ast.Pass())], otherwise)),
                    evaluate(node, call(node, name, "leave", load_all(node, names))),
                ],
                orelse=[],
            ),
        )
        return [
            loop,
            *self._out_if_done(node, returns=True),
            *store_all(node, names, attribute(node, name, "state")),
        ]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        if node.orelse:
            return [evaluate(node, self._refuse_else(node, "for"))]
        if self._structure(node.target) is None:
            return [evaluate(node, self._refuse_target(node.target))]
        name = self.fresh("for")
        targets = target_names(node.target)
        names = tuple(each for each in assigned_names(node.body) if each not in targets)
        returns = contains_return(node.body)
        iterable = node.iter
        items = self.plain_call(iterable) if isinstance(iterable, ast.Call) else self.expr(iterable)
        before = set(self.definite)
        self.definite |= set(targets)
        body = self._loop_body(node.body)
        self.definite = (before & self.definite) - set(targets)
        start = control(
            node,
            "for_",
            items,
            load_all(node, names),
            constant(node, names),
            constant(node, targets),
        )
        loop = at(
            node,
            ast.For(
                target=node.target,
                iter=load(node, name),
                body=[
                    *store_all(node, names, attribute(node, name, "state")),
                    *body,
                    evaluate(node, call(node, name, "leave", load_all(node, names))),
                ],
                orelse=[],
            ),
        )
        last = call(node, name, "last", load_all(node, targets))
        return [
            assign(node, name, start),
            loop,
            *self._out_if_done(node, returns),
            *store_all(node, names, attribute(node, name, "state")),
            *store_all(node, targets, last),
        ]

    def _while(self, node: ast.While) -> list[ast.stmt]:
        if node.orelse:
            return [evaluate(node, self._refuse_else(node, "while"))]
        if assigned_names([node.test]):
            message = ":= in the condition of a while is not supported in a kernel: assign before "
            return [
                evaluate(node, self.refuse(node.test, message + "the loop and at its body's end"))
            ]
        name = self.fresh("while")
        names = assigned_names(node.body)
        returns = contains_return(node.body)
        test = self.expr(node.test)
        before = set(self.definite)
        body = self._loop_body(node.body)
        self.definite &= before
        state = store_all(node, names, attribute(node, name, "state"))
        again = store_all(node, names, attribute(node, name, "state"))
        inner = [*again, *body, evaluate(node, call(node, name, "leave", load_all(node, names)))]
        loop = at(
            node,
            ast.For(
                target=at(node, ast.Name(self.fresh("turn"), ast.Store())),
                iter=load(node, name),
                body=[*state, at(node, ast.If(call(node.test, name, "test", test), inner, []))],
                orelse=[],
            ),
        )
        start = control(node, "while_", load_all(node, names), constant(node, names))
        return [
            assign(node, name, start),
            loop,
            *self._out_if_done(node, returns),
            *store_all(node, names, attribute(node, name, "state")),
        ]

    def _loop_body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        around, self._around = self._around, "loop"
        body, after = self._branch(statements)
        self.definite = _certain(self.definite, after)
        self._around = around
        return body

    def _refuse_else(self, node: ast.For | ast.While, keyword: str) -> ast.expr:
        return self.refuse(
            node.orelse[0],
            f"else after {keyword} is not supported in a kernel: put the statements after the loop",
        )

    def _with(self, node: ast.With) -> list[ast.stmt]:
        if contains_return(node.body):
            return [
                evaluate(
                    node,
                    self.refuse(
                        node, "return inside with is not supported in a kernel: return after it"
                    ),
                )
            ]
        first, *others = node.items
        body = [at(node, ast.With(others, node.body))] if others else node.body
        manager = first.context_expr
        is_call = isinstance(manager, ast.Call)
        manager = self.plain_call(manager) if is_call else self.expr(manager)
        targets = [] if first.optional_vars is None else [first.optional_vars]
        name, names = self.fresh("with"), assigned_names([*targets, *body])
        named = assigned_names(targets)
        start = control(node, "with_", manager, load_all(node, names), constant(node, names))
        before = set(self.definite)
        self.definite |= set(named)
        self._in_with += 1
        known = evaluate(node, control(node, "define", constant(node, named)))
        inner = [known, *self._block(body)]
        self._in_with -= 1
        # A region keeps to itself what it assigns; only what was certain before is so after it.
        self.definite = before
        state = store_all(node, names, attribute(node, name, "state"))
        entered = ast.withitem(call(node, name, "context"), first.optional_vars)
        leave = evaluate(node, call(node, name, "leave", load_all(node, names)))
        iteration = store(node, self.fresh("turn"))
        statements = [*state, at(node, ast.With([entered], inner)), leave]
        return [
            assign(node, name, start),
            at(node, ast.For(target=iteration, iter=load(node, name), body=statements, orelse=[])),
            *copy.deepcopy(state),
        ]

    def _return(self, node: ast.Return) -> list[ast.stmt]:
        value = constant(node, None) if node.value is None else self.expr(node.value)
        return [evaluate(node, control(node, "return_", value)), self._out(node)]

    def _out(self, node: Positioned) -> ast.stmt:
        """The statement that leaves what is around."""
        if self._around == "branch":
            return at(node, ast.Continue())
        if self._around == "loop":
            return at(node, ast.Break())
        return at(node, ast.Return(constant(node, None)))

    def _out_if_done(self, node: Positioned, returns: bool) -> list[ast.stmt]:
        if not returns:
            return []
        return [at(node, ast.If(attribute(node, CONTROL, "done"), [self._out(node)], []))]

    # -- the rest ------------------------------------------------------------------------------

    def _expression(self, node: ast.Expr) -> list[ast.stmt]:
        if isinstance(node.value, ast.Constant):
            return []  # a docstring, or ...
        node.value = self.expr(node.value)
        return [node]

    def _assert(self, node: ast.Assert) -> list[ast.stmt]:
        message = constant(node, "") if node.msg is None else self.expr(node.msg)
        return [evaluate(node, control(node, "assert_", self.expr(node.test), message))]


def _unchanged(node: ast.stmt) -> list[ast.stmt]:
    return [node]


_BAD_TARGETS: Mapping[type[ast.AST], str] = {
    ast.Subscript: "assignment to an element is not supported in a kernel: tensors do not change, "
    "use where(...) to make a new one or store(...) to write memory",
    ast.Attribute: "assignment to an attribute is not supported in a kernel: use a variable",
    ast.Starred: "a starred target is not supported in a kernel: name every value",
}

_BAD_TARGET_TYPES = (ast.Subscript, ast.Attribute, ast.Starred)


def _certain(before: set[str], *after: set[str] | None) -> set[str]:
    """Names certain where several paths join; a path that has returned does not lead there."""
    ways = [names for names in after if names is not None]
    return ways[0].intersection(*ways[1:]) if ways else set(before)

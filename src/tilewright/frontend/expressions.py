"""Expressions of a kernel: what Python's own evaluation would get wrong, in one frame.

Most expressions stay as they are. Rewritten are those in which Python decides by truth value, for
a run-time value has none while the kernel is traced; everything is still evaluated in the frame of
the kernel function, at its original place:

    not a            $control.not_(a)
    a and b          (($and1 := $control.logic("and")).take(a) and $and1.take(b) and None)
                         or $and1.result()
    a < b < c        the same with $and1.take(a < ($t1 := b)), $and1.take($t1 < c)
    x if c else y    (($if1 := $control.choice(c)).side(True) and $if1.put(x),
                         $if1.side(False) and $if1.put(y), $if1.result())[-1]
    f(a, k=b)        ($t1 := f, $t2 := b, $t1(a, k=$t2))[-1]     # keywords are evaluated first

`take` and `side` return whether to go on, so constants short-circuit as in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from tilewright.frontend.refusals import Refusal, refusal, span_of
from tilewright.frontend.scopes import assigned_names, target_names
from tilewright.frontend.syntax import (
    Positioned,
    at,
    attribute_of,
    call,
    call_of,
    constant,
    control,
    in_sequence,
    load,
    walrus,
)

_OF_CONSTANTS = {"type": "type_of", "value": "value"}
"""Attributes that constants have in a kernel, though not in Python, and their implementation."""


class Expressions:
    """Rewrites expressions of one function.

    `local` are the names the function assigns, `definite` those of them that certainly have a value
    at the point that is being rewritten, `pending` those that are annotated as constants and await
    their value.
    """

    def __init__(self, local: frozenset[str], definite: set[str]) -> None:
        self.local = local
        self.definite = definite
        self.pending: set[str] = set()
        self._in_with = 0
        """How many ``with`` are around: a region has to know what its body reads."""
        self.refused: list[Refusal] = []
        self._counter = 0
        self._rules: Mapping[type[ast.expr], Callable[..., ast.expr]] = {
            ast.Attribute: self._attribute,
            ast.BinOp: self._binary,
            ast.BoolOp: self._boolean,
            ast.Call: self._call,
            ast.Compare: self._compare,
            ast.Constant: _same,
            ast.FormattedValue: self._formatted,
            ast.IfExp: self._conditional,
            ast.JoinedStr: self._joined,
            ast.List: self._sequence,
            ast.ListComp: self._comprehension,
            ast.Name: self._name,
            ast.NamedExpr: self._named,
            ast.Slice: self._slice,
            ast.Starred: self._starred,
            ast.Subscript: self._subscript,
            ast.Tuple: self._sequence,
            ast.UnaryOp: self._unary,
        }

    def expr(self, node: ast.expr) -> ast.expr:
        """The expression to execute for `node`."""
        rule = self._rules.get(type(node))
        return self.refuse(node) if rule is None else rule(node)

    def fresh(self, stem: str) -> str:
        """A name that nothing else has."""
        self._counter += 1
        return f"${stem}{self._counter}"

    def refuse(self, node: ast.expr | ast.stmt, message: str | None = None) -> ast.expr:
        """A call that raises if it is ever executed."""
        found = refusal(node) if message is None else Refusal(span_of(node), message)
        self.refused.append(found)
        return control(node, "refuse", constant(node, len(self.refused) - 1))

    # -- leaves ------------------------------------------------------------------------------

    def _name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.local:
            return node
        if self._in_with:
            return control(node, "read", constant(node, node.id), node)
        if node.id in self.definite:
            return node
        return control(node, "load", constant(node, node.id), node)

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        owner = self.expr(node.value)
        if node.attr in _OF_CONSTANTS:
            return control(node, _OF_CONSTANTS[node.attr], owner)
        node.value = owner
        return node

    def _formatted(self, node: ast.FormattedValue) -> ast.expr:
        node.value = control(node.value, "formatted", self.expr(node.value))
        if node.format_spec is not None:
            node.format_spec = self.expr(node.format_spec)
        return node

    def _joined(self, node: ast.JoinedStr) -> ast.expr:
        node.values = [self.expr(value) for value in node.values]
        return node

    # -- operators and containers --------------------------------------------------------------

    def _binary(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.MatMult):
            return self.refuse(node, "@ is not supported in a kernel: use dot(a, b)")
        node.left = self.expr(node.left)
        node.right = self.expr(node.right)
        return node

    def _unary(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            return control(node, "not_", operand)
        node.operand = operand
        return node

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.expr(node.value)
        node.slice = self.expr(node.slice)
        return node

    def _slice(self, node: ast.Slice) -> ast.expr:
        for field in ("lower", "upper", "step"):
            part: ast.expr | None = getattr(node, field)
            if part is not None:
                setattr(node, field, self.expr(part))
        return node

    def _starred(self, node: ast.Starred) -> ast.expr:
        node.value = self.expr(node.value)
        return node

    def _sequence(self, node: ast.Tuple | ast.List) -> ast.expr:
        """Lists are tuples: a kernel has no memory where one could be changed."""
        return at(node, ast.Tuple([self.expr(item) for item in node.elts], ast.Load()))

    def _named(self, node: ast.NamedExpr) -> ast.expr:
        name = node.target.id
        return walrus(node, name, self.bound(node, name, self.expr(node.value)))

    def bound(self, node: Positioned, name: str, value: ast.expr) -> ast.expr:
        """What ``name = value`` stores."""
        self.definite.add(name)
        if name in self.pending:
            self.pending.discard(name)
            return control(node, "constant", constant(node, name), value)
        return control(node, "bind", constant(node, name), value)

    # -- truth -----------------------------------------------------------------------------------

    def _boolean(self, node: ast.BoolOp) -> ast.expr:
        operator = "and" if isinstance(node.op, ast.And) else "or"
        values = [self.expr(node.values[0])]
        with self._maybe():
            values += [self.expr(value) for value in node.values[1:]]
        return self._logic(node, operator, values)

    def _logic(self, node: ast.expr, operator: str, values: list[ast.expr]) -> ast.expr:
        name = self.fresh(operator)
        start = walrus(node, name, control(node, "logic", constant(node, operator)))
        steps = [call_of(node, attribute_of(node, start, "take"), values[0])]
        steps += [call(node, name, "take", value) for value in values[1:]]
        taken = at(node, ast.BoolOp(ast.And(), [*steps, constant(node, None)]))
        return at(node, ast.BoolOp(ast.Or(), [taken, call(node, name, "result")]))

    def _compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1:
            node.left = self.expr(node.left)
            node.comparators = [self.expr(node.comparators[0])]
            return node
        left = self.expr(node.left)
        parts: list[ast.expr] = []
        for index, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            value = self.expr(right)
            if index + 1 < len(node.ops):
                name = self.fresh("t")
                parts.append(_comparison(node, left, op, walrus(right, name, value)))
                left = load(right, name)
            else:
                parts.append(_comparison(node, left, op, value))
        return self._logic(node, "and", parts)

    def _conditional(self, node: ast.IfExp) -> ast.expr:
        if assigned_names([node.body, node.orelse]):
            return self.refuse(
                node,
                ":= in a side of a conditional expression is not supported in a kernel: use if",
            )
        name = self.fresh("if")
        start = walrus(node, name, control(node, "choice", self.expr(node.test)))
        with self._maybe():
            then = self.expr(node.body)
        with self._maybe():
            otherwise = self.expr(node.orelse)
        first = attribute_of(node, start, "side")
        return in_sequence(
            node,
            [
                _and(
                    node,
                    call_of(node, first, constant(node, True)),
                    call(node, name, "put", then),
                ),
                _and(
                    node,
                    call(node, name, "side", constant(node, False)),
                    call(node, name, "put", otherwise),
                ),
                call(node, name, "result"),
            ],
        )

    @contextmanager
    def _maybe(self) -> Generator[None]:
        """What a part assigns that may not be evaluated is not certain afterwards."""
        before = set(self.definite)
        yield
        self.definite &= before

    # -- calls -----------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> ast.expr:
        if any(keyword.arg is None for keyword in node.keywords):
            return self.refuse(node, "** is not supported in a kernel: name the arguments")
        reordered = not all(map(_is_quiet, node.args)) and not all(
            _is_quiet(keyword.value) for keyword in node.keywords
        )
        return self._keywords_first(node) if reordered else self.plain_call(node)

    def plain_call(self, node: ast.Call) -> ast.expr:
        """A call with its arguments evaluated as Python does."""
        node.func = self.expr(node.func)
        node.args = [self.expr(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.expr(keyword.value)
        return node

    def _keywords_first(self, node: ast.Call) -> ast.expr:
        steps: list[ast.expr] = []
        function = self.expr(node.func)
        if not _is_quiet(node.func):
            name = self.fresh("t")
            steps.append(walrus(node.func, name, function))
            function = load(node.func, name)
        for keyword in node.keywords:
            if _is_quiet(keyword.value):
                keyword.value = self.expr(keyword.value)
                continue
            name = self.fresh("t")
            source = keyword.value
            steps.append(walrus(source, name, self.expr(source)))
            keyword.value = load(source, name)
        node.func = function
        node.args = [self.expr(argument) for argument in node.args]
        return in_sequence(node, [*steps, node])

    def _comprehension(self, node: ast.ListComp) -> ast.expr:
        if len(node.generators) != 1:
            return self.refuse(
                node, "a comprehension with several for is not supported in a kernel: nest two"
            )
        generator = node.generators[0]
        # Python allows no := in the iterable itself.
        source, name = generator.iter, self.fresh("t")
        items = walrus(source, name, control(source, "items", self.expr(source)))
        generator.iter = load(source, name)
        bound = frozenset(target_names(generator.target))
        local, definite = self.local, set(self.definite)
        self.local = local - bound
        try:
            generator.ifs = [control(test, "decided", self.expr(test)) for test in generator.ifs]
            node.elt = self.expr(node.elt)
        finally:
            self.local = local
            self.definite &= definite
        return in_sequence(node, [items, control(node, "gathered", node)])


def _same(node: ast.expr) -> ast.expr:
    return node


def _and(where: ast.expr, left: ast.expr, right: ast.expr) -> ast.expr:
    return at(where, ast.BoolOp(ast.And(), [left, right]))


def _comparison(where: ast.expr, left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
    return at(where, ast.Compare(left, [op], [right]))


def _is_quiet(node: ast.expr) -> bool:
    """Whether evaluating `node` certainly emits nothing, so that its order does not matter."""
    match node:
        case ast.Constant() | ast.Name():
            return True
        case ast.Attribute(attr=attribute, value=value):
            return attribute != "T" and _is_quiet(value)  # a transpose
        case ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(map(_is_quiet, items))
        case _:
            return False

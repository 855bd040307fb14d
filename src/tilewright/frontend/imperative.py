"""Statements of a language whose kernels change memory: elements, cells, declarations, regions.

What `rewriter` refuses for a language of values is allowed here, and most of it stays Python:

    x = e                   x = $control.assign("x", e, x)      # a cell is written, not rebound
    a, b = e                ($t1, $t2) = $control.parts(2, e), then each for itself
    x[i] = e                $control.changed("x", x)[i] = e, and x decides
    x[i] += e               the same
    x.append(e)             $control.changed("x", x).append(e), and other methods that change
    x: T                    x = $control.annotate("x", T, x)
    x: T = e                x = $control.declare_as("x", T, e, x)
    with m as t: A          $with1 = $control.with_(m, names, (x, y))
                            for $entered1 in $with1:             # once, or not at all
                                x, y = $with1.state
                                t = $entered1
                                A
                                $with1.leave((x, y))
                            x, y = $with1.state
    break, continue         $control.exit_("break")

Displays, comprehensions, lambdas and nested functions are Python's own. Loops carry no variables:
one that the body assigns has no value at the beginning of an iteration, and reading it goes through
``$control.load``, which reports it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilewright.frontend.rewriter import Statements
from tilewright.frontend.scopes import assigned_names, contains_return
from tilewright.frontend.syntax import (
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


class ImperativeStatements(Statements):
    """Rewrites the statements of one function of such a language."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        super().__init__(tree)
        self._statements = {
            **self._statements,
            ast.Break: self._exit,
            ast.Continue: self._exit,
            ast.FunctionDef: self._nested,
            ast.Raise: self._raise,
        }
        self._rules = {
            **self._rules,
            ast.Dict: self._dictionary,
            ast.DictComp: _python,
            ast.GeneratorExp: _python,
            ast.Lambda: _python,
            ast.List: self._display,
            ast.ListComp: _python,
            ast.Set: self._display,
            ast.SetComp: _python,
            ast.Tuple: self._display,
        }

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        for index, statement in enumerate(statements[:-1]):
            if isinstance(statement, (ast.Break, ast.Continue)):
                keyword = "break" if isinstance(statement, ast.Break) else "continue"
                unreachable = evaluate(
                    statements[index + 1],
                    self.refuse(
                        statements[index + 1],
                        f"unreachable code after {keyword}: remove the statement, or put {keyword} "
                        "under an if",
                    ),
                )
                return [*super()._block(statements[: index + 1]), unreachable]
        return super()._block(statements)

    # -- assignment --------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        if len(node.targets) == 1:
            return super()._assign(node)
        name = self.fresh("t")
        result = [assign(node, name, control(node, "chained", self.expr(node.value)))]
        for target in node.targets:
            result += self._store(node, target, load(node, name))
        return result

    def _store(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return [assign(node, target.id, self.bound(node, target.id, value))]
        if isinstance(target, ast.Subscript):
            return [at(node, ast.Assign([self._element_target(target)], value))]
        if not isinstance(target, (ast.Tuple, ast.List)):
            return [evaluate(node, self._refuse_target(target))]
        names = [self.fresh("t") for _ in target.elts]
        parts = control(node, "parts", constant(node, len(names)), value)
        result = store_all(node, names, parts) if names else [evaluate(node, parts)]
        for part, name in zip(target.elts, names, strict=True):
            result += self._store(node, part, load(node, name))
        return result

    def _element_target(self, target: ast.Subscript) -> ast.Subscript:
        target.value = self._changed(target.value)
        target.slice = self.expr(target.slice)
        return target

    def _changed(self, owner: ast.expr) -> ast.expr:
        """What a statement changes: the language gets the name through which it is reached."""
        name = owner
        while isinstance(name, (ast.Subscript, ast.Attribute)):
            name = name.value
        found = self.expr(owner)
        if not isinstance(name, ast.Name):
            return found
        return control(owner, "changed", constant(owner, name.id), found)

    def _augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        if isinstance(node.target, ast.Subscript):
            if isinstance(node.op, ast.MatMult):
                return [evaluate(node, self._refuse_matmul(node))]
            node.target = self._element_target(node.target)
            node.value = self.expr(node.value)
            return [node]
        return super()._augmented(node)

    def _annotated(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if not isinstance(node.target, ast.Name):
            return [evaluate(node, self._refuse_target(node.target))]
        name = node.target.id
        what = [constant(node, name), self.expr(node.annotation)]
        if node.value is not None:
            what.append(self.expr(node.value))
        method = "annotate" if node.value is None else "declare_as"
        declared = control(node, method, *what, load(node, name))
        self.definite.add(name)
        return [assign(node, name, declared)]

    def bound(self, node: Positioned, name: str, value: ast.expr) -> ast.expr:
        """What ``name = value`` stores: a cell that the name stands for is written instead."""
        self.definite.add(name)
        return control(node, "assign", constant(node, name), value, load(node, name))

    # -- control flow ------------------------------------------------------------------------

    def _if(self, node: ast.If) -> list[ast.stmt]:
        names = assigned_names([*node.body, *node.orelse])
        return self._region(super()._if(node), names)

    def _for(self, node: ast.For) -> list[ast.stmt]:
        names = assigned_names(node.body)
        return self._region(super()._for(node), names)

    def _while(self, node: ast.While) -> list[ast.stmt]:
        names = assigned_names(node.body)
        return self._region(super()._while(node), names)

    def _region(self, statements: list[ast.stmt], names: Sequence[str]) -> list[ast.stmt]:
        """What a region assigns may have no value after it, even if it had one before."""
        self.definite.difference_update(names)
        return statements

    def _loop_body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        self.definite.difference_update(assigned_names(statements))
        return super()._loop_body(statements)

    def _with(self, node: ast.With) -> list[ast.stmt]:
        first, *others = node.items
        if others:
            node.body = [at(node, ast.With(others, node.body))]
        manager = first.context_expr
        entered, name = self.fresh("entered"), self.fresh("with")
        names = assigned_names(
            [*([first.optional_vars] if first.optional_vars is not None else []), *node.body]
        )
        is_call = isinstance(manager, ast.Call)
        expression = self.plain_call(manager) if is_call else self.expr(manager)
        start = control(node, "with_", expression, load_all(node, names), constant(node, names))
        before = set(self.definite)
        returns = contains_return(node.body)
        around, self._around = self._around, "loop"
        targets: list[ast.stmt] = []
        if first.optional_vars is not None:
            targets = self._store(node, first.optional_vars, load(node, entered))
        body = self._block(node.body)
        self._around = around
        self.definite.intersection_update(before)
        self.definite.difference_update(names)
        loop = ast.For(
            target=store(node, entered),
            iter=load(node, name),
            body=[
                *store_all(node, names, attribute(node, name, "state")),
                *targets,
                *body,
                evaluate(node, call(node, name, "leave", load_all(node, names))),
            ],
            orelse=[],
        )
        return [
            assign(node, name, start),
            at(node, loop),
            *self._out_if_done(node, returns),
            *store_all(node, names, attribute(node, name, "state")),
        ]

    def _exit(self, node: ast.Break | ast.Continue) -> list[ast.stmt]:
        keyword = "break" if isinstance(node, ast.Break) else "continue"
        return [evaluate(node, control(node, "exit_", constant(node, keyword)))]

    def _nested(self, node: ast.FunctionDef) -> list[ast.stmt]:
        node.decorator_list = [self.expr(each) for each in node.decorator_list]
        return [node]

    def _raise(self, node: ast.Raise) -> list[ast.stmt]:
        if node.exc is not None:
            node.exc = self.expr(node.exc)
        return [node]

    # -- expressions -------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        node.value = self.expr(node.value)
        return node

    def _binary(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.MatMult):
            return self._refuse_matmul(node)
        return super()._binary(node)

    def _refuse_matmul(self, node: ast.BinOp | ast.AugAssign) -> ast.expr:
        return self.refuse(node, "@ is not supported in a kernel: use T.gemm(A, B, C)")

    def _call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if not (isinstance(function, ast.Attribute) and function.attr in _CHANGING):
            return self.plain_call(node)
        function.value = self._changed(function.value)
        node.args = [self.expr(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.expr(keyword.value)
        return node

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> ast.expr:
        node.elts = [self.expr(item) for item in node.elts]
        return node

    def _dictionary(self, node: ast.Dict) -> ast.expr:
        node.keys = [None if key is None else self.expr(key) for key in node.keys]
        node.values = [self.expr(value) for value in node.values]
        return node


_CHANGING = frozenset(
    {
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    }
)
"""Methods of Python's containers that change them."""


def _python(node: ast.expr) -> ast.expr:
    """Python's own: it is executed as it stands."""
    return node

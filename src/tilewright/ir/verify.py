"""Checking a whole module, with every fault reported and none raised.

xDSL's ``Operation.verify`` stops at the first bad op, prints the module into the exception and
does not look at dominance. ``verify`` here walks the IR once and reports to a diagnostic engine::

    for each op:   operands dominate it          (set of visible values, see below)
                   structural rules before       (ir.structure)
                   its own verifier              (verify_operation, replaceable)
                   structural rules after

Visible values are in one set per isolated op: a block adds its arguments and, op by op, the
results; leaving the block takes them out again. A value in the set dominates the op at hand, so
the ordinary operand costs one lookup. Only a miss uses ``ir.dominance``: a use across blocks of a
CFG, or a fault. The stack of the walk is a list of generators, so nesting depth costs no recursion.
"""

from collections.abc import Callable, Generator
from typing import Protocol, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, ErasedSSAValue, Operation, Region, SSAValue
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.dominance import Dominance, ancestor_in_region
from tilewright.ir.op_verifier import verify_by_definition
from tilewright.ir.structure import (
    OpKind,
    Rule,
    StructureError,
    check_region,
    check_successors,
    kind_of,
    op_name,
    op_problem,
)
from tilewright.ir.symbols import SymbolTables

OpVerifier: TypeAlias = Callable[[Operation], str | None]
"""Checks one op by itself, nested ops excluded; returns what is wrong, without the op's name."""


Quote: TypeAlias = Callable[[Operation], str | None]
"""How to show an op in a message; None for ops that need no showing."""


class Report(Protocol):
    """A diagnostic that notes can be attached to."""

    def note(self, where: Operation, message: str) -> object: ...


class ErrorSink(Protocol):
    """The part of ``ir.diagnostics.DiagnosticEngine`` that is needed here."""

    def error(self, where: Operation, message: str, code: str | None = None) -> Report: ...


INVALID = "TW1033"
"""IR that violates a rule of its ops, in the input or as a kernel requests it."""
BROKEN_BY_A_PASS = "TW9002"
"""IR that did so only after a pass of this compiler: an internal compiler error."""

_XDSL_ISOLATION = "Operation using value defined out of its IsolatedFromAbove parent"


def verify_operation(op: Operation) -> str | None:
    """What the op's own definition, traits and ``verify_`` object to.

    ``Operation.verify`` would print the whole module into the exception. Verifiers raise more
    than ``VerifyException``, so everything is caught.
    """
    if isinstance(op, ModuleOp) and op.regions and op.body.first_block is None:
        return "region #0 ('bodyRegion') failed to verify constraint: region with 1 blocks"
    try:
        verify_by_definition(op)
    except VerifyException as error:
        message = str(error)
    except Exception as error:
        message = _message_of(error)
    else:
        return None
    if message.startswith(_XDSL_ISOLATION):
        # The walk reports the op that reaches out, which is where the fault is.
        return None
    return _one_line(op, message)


def verify(
    root: Operation,
    engine: ErrorSink,
    verify_op: OpVerifier = verify_operation,
    quote: Quote | None = None,
    code: str = INVALID,
) -> bool:
    """Check ``root`` and all it contains; report every fault and return whether there was none.

    ``quote`` gives the text of an op to show in a note, or None where the excerpt shows it anyway.
    ``code`` is the code of the diagnostics.
    """
    return _Verification(root, engine, verify_op, quote, code).run()


def verify_after(name: str, root: Operation, engine: ErrorSink) -> bool:
    """Check what the pass of this name has left; an error has the name."""

    class Blaming:
        """Reports with the pass."""

        def error(self, where: Operation, message: str, code: str | None = None) -> Report:
            report = engine.error(where, message, code)
            report.note(where, f"the pass '{name}' left this IR; it was correct before")
            return report

    return verify(root, Blaming(), code=BROKEN_BY_A_PASS)


def _message_of(error: Exception) -> str:
    text = str(error)
    if type(error) in (Exception, ValueError) and text:
        return text
    return f"verifier raised {type(error).__name__}" + (text and f": {text}")


def _one_line(op: Operation, message: str) -> str:
    """``message`` on one line and without the op's name, which some verifiers prepend."""
    message = " ".join(line.strip() for line in message.splitlines())
    name = f"'{op_name(op)}' "
    return message.removeprefix(name).removeprefix("op ") if message.startswith(name) else message


class _Verification:
    """One run of ``verify``."""

    def __init__(
        self,
        root: Operation,
        engine: ErrorSink,
        verify_op: OpVerifier,
        quote: Quote | None,
        code: str,
    ):
        self._quote = quote
        self._code = code
        self._root = root
        self._engine = engine
        self._verify_op = verify_op
        self._ok = True
        self._kinds: dict[type[Operation], OpKind] = {}
        self._symbols = SymbolTables()
        self._dominance = Dominance()
        self._visible: set[int] = set()
        """``id`` of each value that dominates the op at hand (hashing a value costs a call)."""
        self._reachable = True
        """Whether the block at hand can run; the operands of dead ops are free."""

    def run(self) -> bool:
        root = self._root
        self._check_op(root)
        stack = [self._ops_inside(root)]
        while stack:
            op = next(stack[-1], None)
            if op is None:
                stack.pop()
                continue
            self._check_operands(op)
            self._check_op(op)
            if op.regions:
                stack.append(self._ops_inside(op))
        return self._ok

    def _kind(self, op: Operation) -> OpKind:
        cls = type(op)
        kind = self._kinds.get(cls)
        if kind is None:
            kind = self._kinds[cls] = kind_of(cls)
        return kind

    def _report(self, problem: StructureError) -> None:
        self._ok = False
        report = self._engine.error(problem.where, problem.message, self._code)
        for where, message in problem.notes:
            report.note(where, message)
        quoted = self._quote(problem.where) if self._quote is not None else None
        if quoted is not None:
            report.note(problem.where, f"see current operation: {quoted}")

    # The walk.

    def _ops_inside(self, op: Operation) -> Generator[Operation]:
        """The ops directly inside ``op``; the set of visible values is right at each step."""
        kind = self._kind(op)
        outer = self._visible
        if kind.is_isolated:
            self._visible = set()
        for region in op.regions:
            if kind.has_graph_regions:
                yield from self._ops_in_any_order(region)
                continue
            single = region.first_block is region.last_block
            for block in region.blocks:
                reachable = single or self._dominance.tree(region).is_reachable(block)
                yield from self._ops_in_order(block, reachable)
        self._visible = outer

    def _ops_in_order(self, block: Block, reachable: bool) -> Generator[Operation]:
        visible = self._visible
        defined = [id(arg) for arg in block.args]
        visible.update(defined)
        for op in block.ops:
            self._reachable = reachable
            yield op
            # Results become visible after the op: its own regions must not use them.
            for result in op.results:
                defined.append(id(result))
                visible.add(id(result))
        visible.difference_update(defined)

    def _ops_in_any_order(self, region: Region) -> Generator[Operation]:
        visible = self._visible
        defined = {id(arg) for block in region.blocks for arg in block.args}
        defined.update(
            id(r) for block in region.blocks for inner in block.ops for r in inner.results
        )
        visible.update(defined)
        for block in region.blocks:
            for inner in block.ops:
                self._reachable = True
                yield inner
        visible.difference_update(defined)

    # Each op.

    def _check_op(self, op: Operation) -> None:
        kind = self._kind(op)
        sound = not op.regions or self._check_regions(op, kind)
        if op.successors and (problem := check_successors(op)) is not None:
            self._report(problem)
            sound = False
        puzzled = None
        for rule in kind.before:
            problem, error = self._apply(rule, op)
            puzzled = puzzled or error
            if problem is not None:
                self._report(problem)
                sound = False
        if not sound:
            return
        # An op too malformed for a rule to read is the own verifier's to explain.
        message = self._verify_op(op) or puzzled
        if message is not None:
            self._report(op_problem(op, message))
            return
        for rule in kind.after:
            problem, error = self._apply(rule, op)
            if error is not None:
                problem = op_problem(op, error)
            if problem is not None:
                self._report(problem)

    def _apply(self, rule: Rule, op: Operation) -> tuple[StructureError | None, str | None]:
        """The problem that ``rule`` finds, or why it could not look."""
        try:
            return rule(op, self._symbols), None
        except Exception as error:
            return None, _message_of(error)

    def _check_regions(self, op: Operation, kind: OpKind) -> bool:
        sound = True
        for region in op.regions:
            problem = check_region(
                region, op, kind.needs_terminator, lambda last: self._kind(last).is_terminator
            )
            if problem is not None:
                self._report(problem)
                sound = False
        return sound

    # Dominance.

    def _check_operands(self, op: Operation) -> None:
        if self._visible.issuperset(map(id, op.operands)):
            return
        for index, operand in enumerate(op.operands):
            if id(operand) in self._visible:
                continue
            problem = self._check_operand(op, index, operand)
            if problem is not None:
                self._report(problem)
                return

    def _check_operand(self, op: Operation, index: int, operand: SSAValue) -> StructureError | None:
        if isinstance(operand, ErasedSSAValue):
            return op_problem(op, f"operand #{index} was erased while in use")
        if isinstance(operand, ForwardDeclaredValue):
            # Its name is defined only inside a region of the op itself.
            return op_problem(op, f"operand #{index} is used but never defined")
        wall = self._isolated_op_between(op, operand)
        if wall is not None:
            note = (wall, "required by region isolation constraints")
            return op_problem(op, "using value defined outside the region", note)
        if not self._reachable or self._dominates_from_afar(operand, op):
            return None
        return StructureError(
            op, f"operand #{index} does not dominate this use", (_where_defined(op, operand),)
        )

    def _dominates_from_afar(self, operand: SSAValue, op: Operation) -> bool:
        """``Dominance.dominates`` for a value that is not in the visible set."""
        block = _block_of(operand)
        region = None if block is None else block.parent
        if region is None:
            return False
        anchor = ancestor_in_region(op, region)
        if anchor is not None and anchor.parent is block and self._root.is_ancestor(region):
            # The set is complete within one block, so the definition is after the use.
            return False
        return self._dominance.dominates(operand, op)

    def _isolated_op_between(self, op: Operation, operand: SSAValue) -> Operation | None:
        """The closest isolated op around ``op`` if ``operand`` is defined outside of it."""
        parent = op.parent_op()
        while parent is not None and not self._kind(parent).is_isolated:
            parent = parent.parent_op()
        if parent is None:
            return None
        owner = operand.owner
        return None if owner is not parent and parent.is_ancestor(owner) else parent


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner.parent if isinstance(owner, Operation) else owner


def _where_defined(op: Operation, operand: SSAValue) -> tuple[Operation, str]:
    """The note with the definition of a value that does not dominate ``op``."""
    owner, block = operand.owner, _block_of(operand)
    if isinstance(owner, Operation):
        relation = "in the same block" if block is op.parent else _relation(op, block)
        verb = "is " if relation.startswith("neither") else ""
        return owner, f"operand defined here (op {verb}{relation})"
    if owner.parent is None or owner.parent.parent is None:
        return op, "operand defined as a block argument (block without parent)"
    index = owner.parent.get_block_index(owner)
    return owner.parent.parent, (
        f"operand defined as a block argument (block #{index} {_relation(op, owner)})"
    )


def _relation(op: Operation, block: Block | None) -> str:
    """Where ``block`` is, seen from the region of ``op``."""
    here, there = op.parent_region(), None if block is None else block.parent
    if here is None or there is None:
        return "neither in a parent nor in a child region"
    if here is there:
        return "in the same region"
    if there.is_ancestor(here):
        return "in a parent region"
    if here.is_ancestor(there):
        return "in a child region"
    return "neither in a parent nor in a child region"

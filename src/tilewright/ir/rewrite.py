"""Changing IR without losing where it came from.

xDSL's rewriter gives replacement ops ``loc(unknown)``, so line information decays pass by pass.
Every change here goes through ``Rewriter``, which guarantees:

* a new op without a location takes the location of the op it replaces or is inserted for; so do
  the ops and block arguments inside its regions;
* a value that replaces another takes over its name if it has none.

Patterns are small classes or functions, named by the ops they start from. ``apply_patterns`` tries
them until none applies, folds ops and drops dead ones::

    @pattern(AddOp)
    def double(op: AddOp, rewriter: Rewriter) -> None:
        if op.lhs is op.rhs:
            rewriter.replace_op(op, ShlOp(op.lhs, one))

    apply_patterns(module, [double], materialize=make_constant)
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias

from typing_extensions import TypeVar
from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.rewriter import Rewriter as IRRewriter
from xdsl.traits import ConstantLike

from tilewright.ir.effects import always_removable, is_removable, never_removable
from tilewright.ir.hints import name_hint_of
from tilewright.ir.interfaces import Foldable, constant_value
from tilewright.ir.text.accessors import operands_of
from tilewright.ir.traversal import walk

OpT = TypeVar("OpT", bound=Operation, default=Operation)

NewOps: TypeAlias = Operation | Sequence[Operation]


class RewriteListener:
    """Hears what a rewriter does. The methods do nothing; override what is of interest."""

    def inserted(self, op: Operation) -> None:
        """``op`` (and what it contains) was put into the IR."""

    def modified(self, op: Operation) -> None:
        """``op`` got other operands, attributes or results' users, or was moved."""

    def removing(self, op: Operation) -> None:
        """``op`` (and what it contains) is about to be erased; it is still in place."""


class Rewriter:
    """The operations by which passes and patterns change IR."""

    def __init__(self, listener: RewriteListener | None = None):
        self._listener = RewriteListener() if listener is None else listener
        self.changed = False
        """Whether anything was changed; callers may reset it."""

    # Inserting.

    def insert(self, new_ops: NewOps, at: InsertPoint, origin: Operation | None = None) -> None:
        """Put ops at a point; without ``origin`` they take the location of the op after it."""
        origin = origin or at.insert_before or at.block.last_op or at.block.parent_op()
        ops = _as_list(new_ops)
        for op in ops:
            if origin is not None:
                inherit_location(op, origin.location)
            if at.insert_before is None:
                at.block.add_op(op)
            else:
                at.block.insert_op_before(op, at.insert_before)
            self.changed = True
        for op in ops:
            self._listener.inserted(op)

    def insert_before(
        self, anchor: Operation, new_ops: NewOps, origin: Operation | None = None
    ) -> None:
        """Put ops before ``anchor``, on behalf of ``origin`` (by default ``anchor``)."""
        self.insert(new_ops, InsertPoint.before(anchor), origin or anchor)

    def insert_after(
        self, anchor: Operation, new_ops: NewOps, origin: Operation | None = None
    ) -> None:
        """Put ops after ``anchor``, on behalf of ``origin`` (by default ``anchor``)."""
        self.insert(new_ops, InsertPoint.after(anchor), origin or anchor)

    # Replacing and erasing.

    def replace_op(
        self, op: Operation, new_ops: NewOps, results: Sequence[SSAValue] | None = None
    ) -> None:
        """Replace ``op`` by ``new_ops``; its users get ``results`` instead.

        By default these are the results of the last new op.
        """
        ops = _as_list(new_ops)
        if results is None:
            results = ops[-1].results if ops else ()
        if len(results) != len(op.results):
            raise ValueError(
                f"'{op.name}' has {len(op.results)} results, replacement has {len(results)}"
            )
        self.insert_before(op, ops)
        for old, new in zip(op.results, results, strict=True):
            self.replace_all_uses(old, new)
        self.erase(op)

    def replace_all_uses(self, old: SSAValue, new: SSAValue) -> None:
        """Let every user of ``old`` use ``new``."""
        if old is new:
            return
        users = [use.operation for use in old.uses]
        old.replace_all_uses_with(new)  # takes the name along
        if name_hint_of(new.name_hint) is None:
            new.name_hint = None
        for user in users:
            self.modified(user)

    def retype(self, value: SSAValue, type: Attribute) -> SSAValue:
        """Give a result or block argument another type; returns the value that stands for it."""
        users = [use.operation for use in value.uses]
        new = IRRewriter.replace_value_with_new_type(value, type)
        if isinstance(value, BlockArgument) and isinstance(new, BlockArgument):
            new.location = value.location
        for user in users:
            self.modified(user)
        self.changed = True
        return new

    def erase(self, op: Operation) -> None:
        """Take ``op`` out of the IR; its results must have no users."""
        if any(result.first_use for result in op.results):
            raise ValueError(f"'{op.name}' is erased while its results are used")
        self.changed = True
        self._listener.removing(op)
        op.detach()
        op.erase()

    # Moving.

    def move(self, op: Operation, to: InsertPoint) -> None:
        """Move ``op`` to another insertion point."""
        if to.insert_before is op:
            return
        op.detach()
        if to.insert_before is None:
            to.block.add_op(op)
        else:
            to.block.insert_op_before(op, to.insert_before)
        self.modified(op)

    def inline_block(
        self, block: Block, at: InsertPoint, arguments: Sequence[SSAValue] = ()
    ) -> None:
        """Move all ops of ``block`` to a point, ``arguments`` for its arguments, and drop it."""
        if len(arguments) != len(block.args):
            raise ValueError(f"block has {len(block.args)} arguments, given {len(arguments)}")
        for old, new in zip(block.args, arguments, strict=True):
            self.replace_all_uses(old, new)
        for op in list(block.ops):
            self.move(op, at)
        self.changed = True
        if block.parent is not None:
            block.parent.detach_block(block)
        block.erase()

    def replace_with_block(
        self, op: Operation, block: Block, arguments: Sequence[SSAValue] = ()
    ) -> None:
        """Replace ``op`` by the ops of ``block``; its terminator's operands are the results.

        This is what folding a loop that runs once, or a branch that is always taken, comes to.
        """
        terminator = block.last_op
        if terminator is None:
            raise ValueError(f"block in place of '{op.name}' has no terminator")
        self.inline_block(block, InsertPoint.before(op), arguments)
        results = tuple(terminator.operands)
        self.erase(terminator)
        self.replace_op(op, (), results)

    # In place.

    def modified(self, op: Operation) -> None:
        """Note that ``op`` was changed in place (attributes, operands, regions)."""
        self.changed = True
        self._listener.modified(op)


def inherit_location(op: Operation, location: LocationAttr) -> None:
    """Give ``location`` to ``op`` and to all ops and block arguments in it that have none."""
    if location.__class__ is UnknownLoc:
        return
    if not op.regions:
        if op.location.__class__ is UnknownLoc:
            op.location = location
        return
    for inner in walk(op):
        if isinstance(inner.location, UnknownLoc):
            inner.location = location
        for region in inner.regions:
            for block in region.blocks:
                for arg in block.args:
                    if isinstance(arg.location, UnknownLoc):
                        arg.location = location


def _as_list(new_ops: NewOps) -> Sequence[Operation]:
    return (new_ops,) if isinstance(new_ops, Operation) else new_ops


# Patterns.


class RewritePattern(ABC, Generic[OpT]):
    """One rule of a rewrite: look at an op, and change it through the rewriter or do nothing."""

    roots: Sequence[type[Operation] | str] = ()
    """Classes (with subclasses) or names of the ops to look at; none means every op."""
    benefit: int = 1
    """Patterns of greater benefit are tried first, others in the order they are given."""

    def starts_from(self, cls: type[Operation]) -> bool:
        """Whether it looks at ops of the class."""
        if not self.roots:
            return True
        return any(
            cls.name == root if isinstance(root, str) else issubclass(cls, root)
            for root in self.roots
        )

    @abstractmethod
    def match_and_rewrite(self, op: OpT, rewriter: Rewriter) -> None: ...


# Any: a list holds patterns with different roots, and a pattern only ever receives its own.
AnyPattern: TypeAlias = RewritePattern[Any]


class FunctionPattern(RewritePattern[OpT]):
    """A pattern from a plain function; see ``pattern``."""

    def __init__(
        self,
        function: Callable[[OpT, Rewriter], None],
        roots: Sequence[type[Operation] | str],
        benefit: int,
    ):
        self.function = function
        self.roots = roots
        self.benefit = benefit

    def match_and_rewrite(self, op: OpT, rewriter: Rewriter) -> None:
        self.function(op, rewriter)


def pattern(
    *roots: type[OpT], benefit: int = 1
) -> Callable[[Callable[[OpT, Rewriter], None]], FunctionPattern[OpT]]:
    """Make a function of an op and a rewriter into a pattern that starts from ``roots``."""

    def make(function: Callable[[OpT, Rewriter], None]) -> FunctionPattern[OpT]:
        return FunctionPattern(function, roots, benefit)

    return make


# The greedy driver.

Materializer: TypeAlias = Callable[[Attribute, Attribute], Operation | None]
"""Makes an op whose only result is the given constant of the given type, if it can."""


@dataclass(frozen=True)
class RewriteResult:
    """What ``apply_patterns`` did."""

    changed: bool
    converged: bool
    """Whether a last sweep found nothing to do. If not, patterns may undo each other."""
    rewrites: int
    """Ops folded, erased as dead, or changed by a pattern."""


def apply_patterns(
    root: Operation,
    patterns: Sequence[AnyPattern],
    max_iterations: int = 10,
    *,
    materialize: Materializer | None = None,
    remove_dead: bool = True,
) -> RewriteResult:
    """Rewrite everything inside ``root`` until nothing applies.

    A sweep visits all ops in textual order, and again those that a change may concern. It is
    repeated until a sweep changes nothing, ``max_iterations`` times at most; within a sweep each
    op may be rewritten that often on average before the sweep is given up.
    """
    driver = _GreedyDriver(root, patterns, materialize, remove_dead)
    for _ in range(max_iterations):
        before = driver.rewrites
        finished = driver.sweep(max_iterations)
        if driver.rewrites == before:
            return RewriteResult(before > 0, True, before)
        if not finished:
            break
    return RewriteResult(driver.rewrites > 0, False, driver.rewrites)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to try on the ops of one class."""

    never_removable: bool
    always_removable: bool
    fold: Foldable | None
    is_constant: bool
    patterns: tuple[AnyPattern, ...]
    is_of_interest: bool
    """Whether there is anything to try."""


class _GreedyDriver(RewriteListener):
    def __init__(
        self,
        root: Operation,
        patterns: Sequence[AnyPattern],
        materialize: Materializer | None,
        remove_dead: bool,
    ):
        self.rewrites = 0
        self._root = root
        self._patterns = sorted(patterns, key=lambda pattern: -pattern.benefit)
        self._materialize = materialize
        self._remove_dead = remove_dead
        self._rewriter = Rewriter(self)
        self._plans: dict[type[Operation], _Plan] = {}
        # A stack; entries are blanked when their op goes. Keyed by id: hashing an op costs a call.
        self._stack: list[Operation | None] = []
        self._position: dict[int, int] = {}

    def sweep(self, rewrites_per_op: int) -> bool:
        """Work through all ops and what follows from them; false when the budget ran out."""
        ops = list(walk(self._root))[1:]
        limit = self.rewrites + rewrites_per_op * (len(ops) + 1)
        stack, position, plans = self._stack, self._position, self._plans
        for op in reversed(ops):
            plan = plans.get(op.__class__) or self._plan(op.__class__)
            if plan.is_of_interest:
                position[id(op)] = len(stack)
                stack.append(op)
        while stack and self.rewrites < limit:
            op = stack.pop()
            if op is None:
                continue
            del position[id(op)]
            if self._rewrite(op):
                self.rewrites += 1
        finished = not stack
        stack.clear()
        position.clear()
        return finished

    def _rewrite(self, op: Operation) -> bool:
        plan = self._plans.get(op.__class__) or self._plan(op.__class__)
        if not plan.never_removable and self._is_dead(op, plan):
            self._rewriter.erase(op)
            return True
        if plan.fold is not None and self._fold(op, plan.fold):
            return True
        rewriter = self._rewriter
        for candidate in plan.patterns:
            rewriter.changed = False
            candidate.match_and_rewrite(op, rewriter)
            if rewriter.changed:
                return True
        return False

    def _is_dead(self, op: Operation, plan: _Plan) -> bool:
        for result in op.results:
            if result.first_use is not None:
                return False
        return plan.always_removable or is_removable(op)

    def _fold(self, op: Operation, trait: Foldable) -> bool:
        constants = [
            constant_value(operand) if self._is_constant(operand) else None
            for operand in op.operands
        ]
        folded = trait.fold(op, constants)
        if folded is None or all(a is b for a, b in zip(folded, op.results, strict=True)):
            return False
        new_ops: list[Operation] = []
        results: list[SSAValue] = []
        for value, result in zip(folded, op.results, strict=True):
            if isinstance(value, Attribute):
                make = self._materialize
                constant = None if make is None else make(value, result.type)
                if constant is None:
                    return False
                new_ops.append(constant)
                value = constant.results[0]
            results.append(value)
        self._rewriter.replace_op(op, new_ops, results)
        return True

    def _is_constant(self, value: SSAValue) -> bool:
        owner = value.owner
        return isinstance(owner, Operation) and self._plan(type(owner)).is_constant

    def _plan(self, cls: type[Operation]) -> _Plan:
        plan = self._plans.get(cls)
        if plan is None:
            is_constant = cls.get_trait(ConstantLike) is not None
            # A constant folds to itself; replacing it by a fresh copy would never end.
            fold = None if is_constant else cls.get_trait(Foldable)
            patterns = tuple(p for p in self._patterns if p.starts_from(cls))
            stays = not self._remove_dead or never_removable(cls)
            plan = self._plans[cls] = _Plan(
                never_removable=stays,
                always_removable=always_removable(cls),
                fold=fold,
                is_constant=is_constant,
                patterns=patterns,
                is_of_interest=not stays or fold is not None or bool(patterns),
            )
        return plan

    # The worklist, updated by the rewriter.

    def _push(self, op: Operation) -> None:
        key = id(op)
        if key not in self._position:
            self._position[key] = len(self._stack)
            self._stack.append(op)

    def inserted(self, op: Operation) -> None:
        for inner in walk(op) if op.regions else (op,):
            self.modified(inner)

    def modified(self, op: Operation) -> None:
        if self._is_inside(op):
            self._push(op)

    def removing(self, op: Operation) -> None:
        gone = {id(inner): inner for inner in (walk(op) if op.regions else (op,))}
        for key in gone:
            position = self._position.pop(key, None)
            if position is not None:
                self._stack[position] = None
        for inner in gone.values():
            for operand in operands_of(inner):
                # The definition may be dead now, or used once, which some patterns wait for.
                owner = operand.owner
                if isinstance(owner, Operation) and id(owner) not in gone:
                    self.modified(owner)

    def _is_inside(self, op: Operation) -> bool:
        return self._root.parent is None or (op is not self._root and self._root.is_ancestor(op))

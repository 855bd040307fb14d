"""How an op describes control and data flow to the IR machinery.

The dataflow solver, the verifier and the canonicaliser know no dialect by name. They read the
traits below, which a dialect attaches to its ops:

* ``RegionBranch``  structured ops (``scf.for``, ``tt.reduce``, ``ttg.warp_specialize`` ...)
* ``BranchLike``    terminators that jump to blocks (``cf.br``, ``cf.cond_br`` ...)
* ``CallLike``      calls; the function side is xDSL's own ``CallableOpInterface``
* ``Foldable``      ops that can compute their results when some operands are constant
* ``GraphRegions``  ops whose regions have no order (the module is one implicitly)

Control flow is a set of ``Edge`` values. An edge has the source and the target of control, and
which values travel into which block arguments or results. ``scf.for``, for example::

    entry ──(init)──▶ body        entry ──(init)──▶ results
    yield ──(next)──▶ body        yield ──(next)──▶ results

Memory effects and speculation need nothing new: use ``Pure``, ``MemoryReadEffect``,
``RecursiveMemoryEffect``, ``IsolatedFromAbove`` and friends from ``xdsl.traits``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.traits import CallableOpInterface, ConstantLike, HasFolder, OpTrait, ReturnLike

Point: TypeAlias = Operation | Region
"""Where control stands relative to a structured op.

As a source, the op means "before it, entering"; as a target, "after it, results defined".
A region means the ends of its blocks as a source and its entry block as a target.
"""

Folded: TypeAlias = Sequence[SSAValue | Attribute] | None
"""One existing value or constant per result, or ``None`` when nothing is known."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One way that control may take, and the values it takes along.

    ``operands[i]`` becomes ``inputs[i]``. An input that no value is forwarded to (an induction
    variable, the arguments of a combine region, the results of a reduction) is in ``unknown``.
    """

    source: Operation
    """The op that hands control over: the structured op itself, or a terminator."""
    target: Point | Block
    """A region or block to enter, or the structured op when its results are reached."""
    operands: Sequence[SSAValue] = ()
    inputs: Sequence[SSAValue] = ()
    unknown: Sequence[SSAValue] = ()


class RegionBranch(OpTrait, ABC):
    """An op that decides when its regions run and what its results are.

    The trait of ``scf.for`` reads::

        class ForBranch(RegionBranch):
            @classmethod
            def successors(cls, op, point):
                if point is op:
                    inits = op.operands[3:]
                    return enter(op, op.regions[0], inits, unknown=1), leave(op, op, inits)
                return [
                    edge
                    for end in exits(op.regions[0])
                    for edge in (
                        enter(end, op.regions[0], end.operands, unknown=1),
                        leave(end, op, end.operands),
                    )
                ]
    """

    @classmethod
    @abstractmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        """The edges that leave ``point``: the op itself (entering it) or one of its regions."""


class BranchLike(OpTrait, ABC):
    """A terminator with block successors."""

    @classmethod
    @abstractmethod
    def successor_operands(cls, op: Operation, index: int) -> Sequence[SSAValue]:
        """The operands forwarded to the arguments of ``op.successors[index]``."""


class CallLike(OpTrait, ABC):
    """An op that runs a function and whose results are what the function returns."""

    @classmethod
    @abstractmethod
    def callee(cls, op: Operation) -> SymbolRefAttr | None:
        """The symbol called, or ``None`` when it is not known statically."""

    @classmethod
    def arguments(cls, op: Operation) -> Sequence[SSAValue]:
        """The values passed, in the order of the function's arguments."""
        return op.operands


class GraphRegions(OpTrait):
    """The ops of this op's regions may be in any order: a use may precede its definition."""


class Foldable(OpTrait, ABC):
    """An op that may be replaced by existing values or constants.

    ``fold`` is read-only: it must not change the IR. An op that is ``ConstantLike``
    folds to its own value.
    """

    @abstractmethod
    def fold(self, op: Operation, operand_constants: Sequence[Attribute | None]) -> Folded:
        """What each result is, given the constant value of each operand where it is known."""


@dataclass(frozen=True)
class FoldBy(Foldable):
    """``Foldable`` through a plain function, so that fold rules can be in a table."""

    function: Callable[[Operation, Sequence[Attribute | None]], Folded]

    def fold(self, op: Operation, operand_constants: Sequence[Attribute | None]) -> Folded:
        return self.function(op, operand_constants)


def enter(
    source: Operation, region: Region, operands: Sequence[SSAValue] = (), *, unknown: int = 0
) -> Edge:
    """An edge into ``region``; its first ``unknown`` arguments receive no forwarded value."""
    block = region.first_block
    args = () if block is None else block.args
    return Edge(source, region, operands, args[unknown:], args[:unknown])


def leave(source: Operation, op: Operation, operands: Sequence[SSAValue] | None) -> Edge:
    """An edge to the results of ``op``; ``operands=None`` when the results are computed by it."""
    if operands is None:
        return Edge(source, op, unknown=op.results)
    return Edge(source, op, operands, op.results)


def exits(region: Region) -> list[Operation]:
    """The terminators by which control leaves ``region``: last in their block, no successors."""
    last_ops = (block.last_op for block in region.blocks)
    return [op for op in last_ops if op is not None and not op.successors]


def branch_edges(op: Operation) -> list[Edge]:
    """One edge per block successor; without ``BranchLike`` every argument is unknown."""
    trait = op.get_trait(BranchLike)
    if trait is None:
        return [Edge(op, block, unknown=block.args) for block in op.successors]
    return [
        Edge(op, block, trait.successor_operands(op, index), block.args)
        for index, block in enumerate(op.successors)
    ]


def function_body(op: Operation) -> Region | None:
    """The body of a function that can be called, ``None`` for a declaration or another op."""
    trait = op.get_trait(CallableOpInterface)
    if trait is None:
        return None
    body = trait.get_callable_region(op)
    return body if body.first_block is not None else None


def returns(op: Operation) -> list[Operation]:
    """The terminators that return from the function ``op``; their operands are its results."""
    body = function_body(op)
    return [] if body is None else [end for end in exits(body) if end.get_trait(ReturnLike)]


def constant_value(value: SSAValue) -> Attribute | None:
    """The attribute of ``value`` if a ``ConstantLike`` op defines it."""
    if not isinstance(value, OpResult):
        return None
    op = value.op
    fold = _fold_of_constants(type(op))
    folded = None if fold is None else fold(op)
    constant = None if folded is None else folded[0]
    return constant if isinstance(constant, Attribute) else None


def constant_integer(value: SSAValue) -> int | None:
    """The integer that `value` is, if a constant of an integer or index type defines it."""
    found = constant_value(value)
    return found.value.data if isinstance(found, IntegerAttr) else None


def constant_trip_count(first: SSAValue, end: SSAValue, step: SSAValue) -> int | None:
    """The trip count of a loop with these bounds, if they are constants."""
    bounds = [constant_integer(each) for each in (first, end, step)]
    known = [each for each in bounds if each is not None]
    return len(range(*known)) if len(known) == 3 and known[2] > 0 else None


@cache
def _fold_of_constants(cls: type[Operation]) -> Callable[[Operation], Folded] | None:
    """How a constant of this class is computed; ``None`` if ops of the class are no constants."""
    if cls.get_trait(ConstantLike) is None:
        return None
    if (trait := cls.get_trait(Foldable)) is not None:
        return lambda op: trait.fold(op, ())
    stock = cls.get_trait(HasFolder)
    return None if stock is None else stock.fold

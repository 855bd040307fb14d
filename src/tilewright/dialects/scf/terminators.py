"""What ends the regions of ``scf`` ops: ``scf.yield`` and ``scf.condition``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, OpTrait, Region, SSAValue
from xdsl.irdl import irdl_op_definition, lazy_traits_def, operand_def, var_operand_def
from xdsl.traits import HasParent, IsTerminator, Pure

from tilewright.dialects.elementwise import Operand, value_of
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser


def _yield_traits() -> tuple[OpTrait, ...]:
    from tilewright.dialects.scf.choices import ExecuteRegionOp, IfOp, IndexSwitchOp
    from tilewright.dialects.scf.loops import ForOp, WhileOp

    parents = HasParent(ExecuteRegionOp, ForOp, IfOp, IndexSwitchOp, WhileOp)
    return Pure(), IsTerminator(), parents


def _condition_traits() -> tuple[OpTrait, ...]:
    from tilewright.dialects.scf.loops import WhileOp

    return Pure(), IsTerminator(), HasParent(WhileOp)


@irdl_op_definition
class YieldOp(AsmOp):
    """Hands values to the op around it: its results, or the next iteration."""

    name = "scf.yield"
    arguments = var_operand_def()

    traits = lazy_traits_def(_yield_traits)
    ASM: ClassVar[str] = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, arguments: Sequence[Operand] = ()) -> None:
        Operation.__init__(self, operands=[value_of(argument) for argument in arguments])


@irdl_op_definition
class ConditionOp(AsmOp):
    """Ends the first region of ``scf.while``: go on with the second region, or leave."""

    name = "scf.condition"
    condition = operand_def(i1)
    arguments = var_operand_def()

    traits = lazy_traits_def(_condition_traits)
    ASM: ClassVar[str] = "`(` $condition `)` attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, condition: Operand, arguments: Sequence[Operand] = ()) -> None:
        operands: list[SSAValue] = [value_of(condition)]
        operands.extend(value_of(argument) for argument in arguments)
        Operation.__init__(self, operands=operands)


def ensure_yield(region: Region, parser: IRParser, start: int) -> None:
    """End `region`, just read, with the ``scf.yield`` that its text may leave out."""
    if region.first_block is None:
        region.add_block(Block())
    block = region.first_block
    if block is None or block is not region.last_block:
        return
    last = block.last_op
    if last is None or not last.has_trait(IsTerminator, value_if_unregistered=True):
        terminator = YieldOp()
        terminator.location = parser.location_at(start)
        block.add_op(terminator)

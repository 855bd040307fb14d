"""Compile a kernel for the values that its arguments have at launch.

    fix-arguments="values=A=33x17;n=5"     %A: memref<?x?xf16>  ->  memref<33x17xf16>
                                           %n: i32              ->  a constant

Blocks, pages and traffic of every core are part of the plan, so extents, loop bounds, conditions
and offsets have to be known when it is made. Scalars that only enter arithmetic on elements stay
run-time arguments of the kernels (`scalar_words`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tensix.json_attr import Json
from tilewright.dialects.tile import FillOp, ParallelOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import enclosing
from tilewright.passes.tenstorrent.annotations import get, put
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.reports import DATA_DEPENDENT
from tilewright.passes.tenstorrent.scalar_words import is_word_type

CONTENTS = "tt.contents"
"""The elements of tensors that the plan depends on, by position of the argument."""
MAX_CONTENTS = 4096
"""Elements of such a tensor."""
_ENTRY = "tile.entry"
_SHAPE = "tile.shape"


@dataclass(frozen=True)
class FixArguments(Pass):
    """Replace run-time extents and scalars that decide about control flow by their values."""

    name = "fix-arguments"

    values: str = ""
    """Arguments by name: extents of a tensor (``A=33x17``), the value of a scalar (``n=5``), the
    elements of a tensor that loops, branches or addresses depend on (``first=3:0,64,70``)."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        known = dict(each.split("=", 1) for each in self.values.split(";") if each)
        for function in entries(module):
            for argument in list(function.body.block.args):
                name = argument_name(argument)
                text = known.get(name)
                if not is_fixed(argument):
                    continue
                if text is not None:
                    _fix(function, argument, text)
                elif not isinstance(argument.type, MemRefType):
                    use = next(iter(argument.uses)).operation
                    engine.error(
                        use,
                        f"'{name}' decides about control flow, addresses or extents, and its value "
                        "is not known: call the kernel with it, or pass it to fix-arguments, "
                        f"values={name}=...",
                        DATA_DEPENDENT,
                    )


def entries(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions that the host calls."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks and _ENTRY in op.attributes:
            yield op


def argument_name(argument: BlockArgument) -> str:
    """The user's name of an argument."""
    found = argument_attributes(argument).get("tile.name")
    return found.data if isinstance(found, StringAttr) else name_of(argument)


def is_fixed(argument: BlockArgument) -> bool:
    """Whether the plan depends on the extents or the value of an argument."""
    if isinstance(argument.type, MemRefType):
        return DYNAMIC_INDEX in shape_of(argument.type) or needs_contents(argument)
    return bool(argument.uses) and (
        not is_word_type(argument.type) or decides_about_the_plan(argument)
    )


def needs_contents(tensor: BlockArgument) -> bool:
    """Whether the plan depends on the elements of a tensor."""
    type = tensor.type
    if not isinstance(type, MemRefType) or not isinstance(type.element_type, IntegerType):
        return False
    loads = [use.operation for use in tensor.uses if isinstance(use.operation, LoadOp)]
    return any(
        not _is_in_elementwise_loop(op) and decides_about_the_plan(op.result) for op in loads
    )


def contents_of(function: FuncOp) -> dict[SSAValue, list[int]]:
    """The elements of the tensors whose contents are known."""
    data: dict[str, list[int]] = get(function, CONTENTS) or {}
    return {function.body.block.args[int(position)]: values for position, values in data.items()}


def decides_about_the_plan(value: SSAValue) -> bool:
    """Whether control flow, an address or an extent depends on a value."""
    return any(_decides(use.operation, use.index) for use in value.uses)


def _decides(op: Operation, position: int) -> bool:
    if isinstance(op, FillOp):
        return False
    if isinstance(op, StoreOp) and position == 0:
        loads = [use.operation for use in op.memref.uses if isinstance(use.operation, LoadOp)]
        is_variable = space_of(op.memref.type) is Space.VAR
        return is_variable and any(decides_about_the_plan(each.result) for each in loads)
    if isinstance(op, (LoadOp, StoreOp)):
        return True
    if is_removable(op) and not op.regions:
        return any(decides_about_the_plan(result) for result in op.results)
    return not _is_in_elementwise_loop(op)


def _is_in_elementwise_loop(op: Operation) -> bool:
    """Branches there are selections."""
    return enclosing(op, ParallelOp) is not None


# -- values ----------------------------------------------------------------------------------------


def _fix(function: FuncOp, argument: BlockArgument, text: str) -> None:
    if isinstance(argument.type, MemRefType):
        extents, _, elements = text.partition(":")
        position = argument.index
        if DYNAMIC_INDEX in shape_of(argument.type):
            _set_extents(function, argument, tuple(int(each) for each in extents.split("x")))
        if elements:
            known: dict[str, Json] = get(function, CONTENTS) or {}
            known[str(position)] = [int(each) for each in elements.split(",")]
            put(function, CONTENTS, known)
        return
    value = float(text) if isinstance(argument.type, AnyFloat) else int(text)
    made = ConstantOp.of(value, argument.type)
    rewriter = Rewriter()
    rewriter.insert_before(_first(function), made)
    name = argument.name_hint
    rewriter.replace_all_uses(argument, made.results[0])
    argument.name_hint = name


def _first(function: FuncOp) -> Operation:
    first = function.body.block.first_op
    assert first is not None
    return first


def _set_extents(function: FuncOp, argument: BlockArgument, extents: tuple[int, ...]) -> None:
    type = argument.type
    assert isinstance(type, MemRefType)
    rewriter = Rewriter()
    tensor = rewriter.retype(
        argument, MemRefType(type.element_type, extents, type.layout, type.memory_space)
    )
    assert isinstance(tensor, BlockArgument)
    inputs = [each.type for each in function.body.block.args]
    outputs = function.function_type.outputs.data
    function.function_type = FunctionType.from_lists(inputs, outputs)
    _set_shape(function, tensor.index, extents)


def _set_shape(function: FuncOp, position: int, extents: tuple[int, ...]) -> None:
    """The attribute with the shape that the user declared."""
    if function.arg_attrs is None:
        return
    dictionaries = list(cast("ArrayAttr[DictionaryAttr]", function.arg_attrs).data)
    old = dictionaries[position].data
    if _SHAPE in old:
        shape = ArrayAttr([IntegerAttr(extent, i64) for extent in extents])
        dictionaries[position] = DictionaryAttr({**old, _SHAPE: shape})
        function.arg_attrs = ArrayAttr(dictionaries)


def described(values: Mapping[str, str]) -> str:
    """The option of the pass."""
    return ";".join(f"{name}={text}" for name, text in values.items())

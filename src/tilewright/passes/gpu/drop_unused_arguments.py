"""`drop-unused-arguments`: a kernel takes what it uses.

Extents that only served to prove something, and tensors that are read through tensor maps alone,
are arguments when a kernel is outlined. Once nothing uses them, they are no longer passed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp

from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import LaunchOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder


@dataclass(frozen=True)
class DropUnusedArguments(Pass):
    """Take arguments off kernels that do not use them."""

    name = "drop-unused-arguments"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        launches = [op for op in walk(module) if isinstance(op, LaunchOp)]
        for function in module.body.ops:
            if isinstance(function, FuncOp):
                name = function.sym_name.data
                own = [each for each in launches if each.kernel.string_value() == name]
                if len(own) == 1:
                    _shorten(function, own[0])


def _shorten(function: FuncOp, launch: LaunchOp) -> None:
    block = function.body.block
    used = [index for index, each in enumerate(block.args) if any(True for _ in each.uses)]
    if len(used) == len(block.args):
        return
    code = IndexBuilder(launch)
    passed = list(launch.arguments)
    short = LaunchOp(
        launch.kernel.string_value(), list(launch.grid), [passed[index] for index in used]
    )
    short.attributes.update(launch.attributes)
    code.add(short)
    code.rewriter.erase(launch)
    described = function.arg_attrs
    if isinstance(described, ArrayAttr):
        function.properties["arg_attrs"] = ArrayAttr([described.data[index] for index in used])
    for argument in reversed(list(block.args)):
        if argument.index not in used:
            block.erase_arg(argument)
    types = [argument.type for argument in block.args]
    function.properties["function_type"] = FunctionType.from_lists(types, [])

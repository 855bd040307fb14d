"""One function per launch: a function with several kernels becomes a chain of functions.

    func.func @mlp(%X, %W1, %W2, %Y) {        func.func @mlp_0(%X, %W1, %W2, %Y, %H) {
      %H = tile.alloc : global                  tile.kernel { ... -> %H } }
      tile.kernel { ... -> %H }          ->   func.func @mlp_1(%X, %W1, %W2, %Y, %H) {
      tile.kernel { %H -> ... -> %Y } }         tile.kernel { %H -> ... -> %Y } }

All functions of a chain have the same arguments: those of the kernel, and its workspaces, which
the caller does not pass. Index arithmetic between the kernels is copied to each that uses it. The
host enqueues the programs of a chain in order, on the same buffers. ``tt.launch`` states the name
and the position in the chain, and how many arguments the caller passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import AllocOp, KernelOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import LAUNCH, functions, get, put
from tilewright.passes.tile.clone_ops import copy_op

SEVERAL_KERNELS = "TW7013"


@dataclass(frozen=True)
class SplitLaunches(Pass):
    """Make one function of each launch, with workspaces as arguments."""

    name = "split-launches"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in list(functions(module)):
            nested = _nested(function)
            if nested is not None:
                engine.error(
                    nested,
                    "the kernel is launched in a loop or under a condition, and a Tenstorrent "
                    "program launches its kernels in a fixed order: launch it from Python instead",
                    SEVERAL_KERNELS,
                )
                continue
            kernels = _kernels(function)
            given = len(function.body.block.args)
            workspaces = _pass_workspaces(function)
            if len(kernels) > 1 or workspaces:
                _split(function, len(kernels), given)


def _kernels(function: FuncOp) -> list[KernelOp]:
    return [op for op in function.body.block.ops if isinstance(op, KernelOp)]


def _nested(function: FuncOp) -> KernelOp | None:
    """A kernel that is not at the level of its function."""
    for op in walk(function):
        if isinstance(op, KernelOp) and op.parent is not function.body.block:
            return op
    return None


def _pass_workspaces(function: FuncOp) -> int:
    """Make global memory of a call an argument; how many there are."""
    block = function.body.block
    rewriter = Rewriter()
    found = [
        op
        for op in block.ops
        if isinstance(op, AllocOp) and space_of(op.result.type) is Space.GLOBAL and not op.sizes
    ]
    for op in found:
        argument = block.insert_arg(op.result.type, len(block.args))
        argument.name_hint = op.buffer_name
        argument.location = op.location
        rewriter.replace_all_uses(op.result, argument)
        rewriter.erase(op)
    if found:
        types = [argument.type for argument in block.args]
        function.function_type = FunctionType.from_lists(
            types, list(function.function_type.outputs)
        )
        described = function.arg_attrs
        if isinstance(described, ArrayAttr):
            more: list[Attribute] = [DictionaryAttr({}) for _ in found]
            function.arg_attrs = ArrayAttr([*described.data, *more])
    return len(found)


def _split(function: FuncOp, count: int, given: int) -> None:
    rewriter = Rewriter()
    name = function.sym_name.data
    for position in range(count):
        made = copy_op(function, {})
        assert isinstance(made, FuncOp)
        for other, kernel in enumerate(_kernels(made)):
            if other != position:
                rewriter.erase(kernel)
        _drop_unused(made)
        if count > 1:
            made.sym_name = StringAttr(f"{name}_{position}")
        put(
            made,
            LAUNCH,
            {"chain": name, "position": position, "launches": count, "arguments": given},
        )
        rewriter.insert_before(function, made)
    rewriter.erase(function)


def _drop_unused(function: FuncOp) -> None:
    """Erase what only the other kernels used."""
    for op in reversed(list(function.body.block.ops)):
        if is_removable(op) and not any(result.uses for result in op.results):
            Rewriter().erase(op)


def launch_of(function: FuncOp) -> dict[str, Any] | None:
    """The position of a function in its chain; None for a kernel on its own."""
    return get(function, LAUNCH)


def chains(module: ModuleOp) -> list[list[FuncOp]]:
    """The functions that run in sequence on the same buffers, in order."""
    found: dict[str, list[FuncOp]] = {}
    for function in functions(module):
        launch = launch_of(function)
        name = function.sym_name.data if launch is None else launch["chain"]
        found.setdefault(name, []).append(function)
    return list(found.values())


def workspaces_of(function: FuncOp) -> set[int]:
    """The positions of arguments that the caller does not pass."""
    launch = launch_of(function)
    count = len(function.body.block.args)
    return set() if launch is None else set(range(launch["arguments"], count))

"""One kernel as a source file of its own."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import BlockArgument

from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import names
from tilewright.targets.cuda.emit import (
    atomics,
    cache,
    control,
    conversions,
    extern,
    memory,
    nv_ops,
    scalars,
)
from tilewright.targets.cuda.emit.emitter import Emitter, is_buffer, is_tensor_map
from tilewright.targets.cuda.header import definitions, headers

RULES = {
    **scalars.RULES,
    **conversions.RULES,
    **control.RULES,
    **memory.RULES,
    **atomics.RULES,
    **cache.RULES,
    **nv_ops.RULES,
    **extern.RULES,
}


_NAMES = """using uint = unsigned int;
using uchar = unsigned char;
using ushort = unsigned short;
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
"""
"""Names that user source takes for granted, and the run-time compiler does not have."""


@dataclass(frozen=True)
class Source:
    """The text of a kernel, and what a launch has to know."""

    name: str
    text: str
    threads: int
    shared_bytes: int


def emit_kernel(function: FuncOp, *, comments: bool = True) -> Source:
    """The source of a kernel that `outline-kernels` has made."""
    bits = _integer(function, simt_names.INDEX_BITS, 32)
    emitter = Emitter(RULES, comments=comments, index_bits=bits)
    parameters = [_parameter(emitter, each) for each in function.body.block.args]
    threads = _integer(function, simt_names.THREADS, 128)
    shared = _integer(function, simt_names.SHARED_BYTES, 0)
    if shared:
        emitter.uses.functions.setdefault("Barrier")
    emitter.body(function.body.block)
    name = function.sym_name.data
    bounds = f"{threads}, {_integer(function, simt_names.MIN_BLOCKS, 1)}"
    lines = [
        f'extern "C" __global__ void __launch_bounds__({bounds})',
        f"{name}({', '.join(parameters)}) {{",
    ]
    if shared:
        lines.append("  extern __shared__ __align__(1024) unsigned char smem[];")
    body = "\n".join([*lines, *emitter.lines, "}"])
    uses = emitter.uses
    included = sorted(uses.headers | headers(uses.functions))
    prelude = function.attributes.get(simt_names.PRELUDE)
    parts = [
        "\n".join(f"#include <{header}>" for header in included),
        prelude.data if isinstance(prelude, StringAttr) else "",
        "\n".join([_NAMES, *uses.sources]) if uses.sources else "",
        definitions(uses.functions, uses.generated),
        body,
    ]
    return Source(name, "\n\n".join(part for part in parts if part) + "\n", threads, shared)


def _parameter(emitter: Emitter, argument: BlockArgument) -> str:
    attributes = argument_attributes(argument)
    hint = attributes.get(names.NAME)
    if isinstance(hint, StringAttr):
        argument.name_hint = hint.data
    name = emitter.name(argument, "argument")
    if is_tensor_map(argument.type):
        emitter.uses.functions.setdefault("tensor_map")
        return f"const __grid_constant__ tw::TensorMap {name}"
    if is_buffer(argument.type):
        const = "const " if simt_names.CONST in attributes else ""
        restrict = " __restrict__" if simt_names.RESTRICT in attributes else ""
        return f"{const}{emitter.element(argument).name}*{restrict} {name}"
    return f"{emitter.scalar(argument.type).name} {name}"


def _integer(function: FuncOp, name: str, default: int) -> int:
    found = function.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else default


def kernels_of(module: ModuleOp) -> list[FuncOp]:
    """The kernels of a module, in its order."""
    return [
        op
        for op in module.body.ops
        if isinstance(op, FuncOp) and simt_names.KERNEL in op.attributes
    ]

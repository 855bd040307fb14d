"""One kernel as a source file of its own."""

from __future__ import annotations

from xdsl.ir import Attribute, BlockArgument

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv.tma import TensorMapType
from tilewright.dialects.simt import names as simt_names
from tilewright.targets.cuda.emit import (
    atomics,
    cache,
    nv_ops,
    ranges,
    tensor_memory,
    threads,
)
from tilewright.targets.cuda.emit.flavour import CUDA
from tilewright.targets.cuda.header import definitions, headers
from tilewright.targets.cxx import kernel as cxx
from tilewright.targets.cxx.emitter import Emitter
from tilewright.targets.cxx.kernel import Source, kernels_of

RULES = {
    **cxx.RULES,
    **ranges.RULES,
    **threads.RULES,
    **atomics.RULES,
    **cache.RULES,
    **nv_ops.RULES,
    **tensor_memory.RULES,
}


def emit_kernel(function: FuncOp, *, comments: bool = True) -> Source:
    """The source of a kernel that `outline-kernels` has made."""
    bits = cxx.integer_of(function, simt_names.INDEX_BITS, 32)
    emitter = Emitter(RULES, CUDA, comments=comments, index_bits=bits)
    parameters = [_parameter(emitter, each) for each in function.body.block.args]
    threads = cxx.integer_of(function, simt_names.THREADS, 128)
    shared = cxx.integer_of(function, simt_names.SHARED_BYTES, 0)
    if shared:
        emitter.uses.functions.setdefault("Barrier")
    emitter.body(function.body.block)
    name = function.sym_name.data
    bounds = f"{threads}, {cxx.integer_of(function, simt_names.MIN_BLOCKS, 1)}"
    lines = [
        f'extern "C" __global__ void __launch_bounds__({bounds})',
        f"{name}({', '.join(parameters)}) {{",
    ]
    if shared:
        lines.append("  extern __shared__ __align__(1024) unsigned char smem[];")
    body = "\n".join([*lines, *emitter.lines, "}"])
    uses = emitter.uses
    included = sorted(uses.headers | headers(uses.functions))
    parts = [
        "\n".join(f"#include <{header}>" for header in included),
        *cxx.user_source(function, emitter),
        definitions(uses.functions, uses.generated),
        body,
    ]
    return Source(name, cxx.joined(parts), threads, shared)


def _parameter(emitter: Emitter, argument: BlockArgument) -> str:
    if not is_tensor_map(argument.type):
        return cxx.parameter(emitter, argument)
    emitter.uses.functions.setdefault("tensor_map")
    return f"const __grid_constant__ tw::TensorMap {cxx.parameter_name(emitter, argument)}"


def is_tensor_map(type: Attribute) -> bool:
    """Whether a parameter is a TMA descriptor."""
    return isinstance(type, TensorMapType)


__all__ = ["RULES", "Source", "emit_kernel", "is_tensor_map", "kernels_of"]

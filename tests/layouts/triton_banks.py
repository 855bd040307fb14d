"""A kernel that queries Triton's compiler about bank conflicts while it is being compiled."""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

DTYPES = {8: gl.int8, 16: gl.float16, 32: gl.float32}


@gluon.jit
def query(registers: gl.constexpr, shared: gl.constexpr):
    result: gl.constexpr = gl.bank_conflicts(registers, shared)
    gl.static_print(result)


def conflicts(registers: Any, shared: Any, shape: list[int], bits: int, capsys: Any) -> int:
    """Wavefronts too many for each one that is needed."""
    dtype = DTYPES[bits]
    types = {
        (0,): gl.distributed_type(dtype, shape, registers),
        (1,): gl.shared_memory_descriptor_type(dtype, shape, shared, shape),
    }
    signature = {"registers": "constexpr", "shared": "constexpr"}
    source = GluonASTSource(fn=query, signature=signature, constexprs=types)
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    options = backend.parse_options({})
    functions = backend.get_codegen_implementation(options)
    capsys.readouterr()
    source.make_ir(target, options, functions, backend.get_module_map(), context)
    return int(capsys.readouterr().out)

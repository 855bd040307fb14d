"""Copies between float types of one width: neither widens the other, so they go through float32."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilewright import T
from tilewright.dialects.arith import ExtfOp, TruncfOp
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import Buffer, compile_simt

NUMPY = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
}
PAIRS = (
    ("float16", "bfloat16"),
    ("bfloat16", "float16"),
    ("float8_e4m3fn", "float8_e5m2"),
    ("float8_e5m2", "float8_e4m3fn"),
)


def _kernel(source: str, target: str, space: str):
    alloc = getattr(T, f"alloc_{space}")

    @T.prim_func
    def main(X: T.Tensor((64, 32), source), Y: T.Tensor((64, 32), target)):
        with T.Kernel(1, threads=128):
            x = alloc((64, 32), source)
            T.copy(X, x)
            T.copy(x, Y)

    return main


@pytest.mark.parametrize("space", ["fragment", "shared"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_copy_between_float_types_of_one_width_was_invalid_ir(source, target, space) -> None:
    module, engine = _kernel(source, target, space).module.clone(), DiagnosticEngine()
    GpuPipeline().run(module, engine)
    verify(module, engine)
    engine.raise_if_errors()
    casts = [op for op in walk(module) if isinstance(op, ExtfOp | TruncfOp)]
    assert casts
    assert all(bit_width(op.operands[0].type) != bit_width(op.results[0].type) for op in casts)
    x = np.random.default_rng(0).integers(-9, 10, (64, 32)).astype(NUMPY[source])
    y = np.zeros((64, 32), NUMPY[target])
    compile_simt(module).launch([Buffer("X", x), Buffer("Y", y)])
    wanted = x.astype(np.float32).astype(NUMPY[target])
    np.testing.assert_array_equal(y.astype(np.float32), wanted.astype(np.float32))

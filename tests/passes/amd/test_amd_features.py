"""`check-amd-features`: PTX in imported source; the other findings are cases of `wrong_kernels`."""

from __future__ import annotations

import pytest

from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.amd.pipeline import AmdPipeline

PTX = (
    'asm volatile("{ .reg .b32 t; mov.b32 t, %1; prmt.b32 %0, t, 0, 0x0123; }" : "=r"(y) : "r"(x));'
)
AMD = 'asm volatile("v_alignbit_b32 %0, %1, %1, 8" : "=v"(y) : "v"(x));'
GUARDED = f"""
#if defined(__CUDA_ARCH__)
  {PTX}
#else
  y = __builtin_bswap32(x);
#endif
"""


def codes(body: str) -> list[str | None]:
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            T.import_source(f"__device__ inline int swap(int x) {{ int y; {body} return y; }}")
            for i in T.Parallel(64):
                A[i] = T.call_extern("int32", "swap", A[i])

    engine = DiagnosticEngine()
    AmdPipeline(target="hip:gfx942").run(kernel.module.clone(), engine)
    return [each.code for each in engine.diagnostics if each.code == "TW7520"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PTX, ["TW7520"]),
        (AMD, []),
        (GUARDED, []),
        ("y = x; /* not asm: mov.b32 */", []),
    ],
)
def test_only_ptx_that_stays_is_refused(body: str, expected: list[str]) -> None:
    assert codes(body) == expected

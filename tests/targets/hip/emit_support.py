"""Thread-level IR as HIP text."""

from __future__ import annotations

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.targets.cxx.kernel import Source
from tilewright.targets.hip.emit.kernel import Refresh, emit_kernel, kernels_of


def emitted(
    text: str, arch: str = "gfx942", waves: int | None = None, refresh: Refresh = Refresh.NEVER
) -> Source:
    """The source of the only kernel of `text`; ``CHIP`` in it is `arch`."""
    engine = DiagnosticEngine()
    source = text.replace("CHIP", arch)
    parsed = parse_source(make_context(), source, "kernel.mlir", engine, keep_names=True)
    engine.raise_if_errors()
    assert parsed is not None
    (kernel,) = kernels_of(parsed.module)
    return emit_kernel(kernel, chip_named(arch), waves_per_simd=waves, refresh=refresh)


def kernel(body: str, arguments: str = "", attributes: str = "") -> str:
    """A kernel around statements."""
    listed = ", ".join(["simt.kernel", "tile.target = #tile.target<hip, CHIP>", attributes])
    return f"""
#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
func.func @k({arguments}) attributes {{{listed.rstrip(", ")}}} {{
  %c0 = arith.constant 0 : index
{body}
  func.return
}}
"""


def body_of(text: str) -> str:
    """The statements of the kernel, without the device functions before it."""
    return text[text.index('extern "C"') :]

"""A barrier that a check has no rule for is not analysed: what it orders is no data race."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.irdl import irdl_op_definition

from tests.targets.numpy.simt.simt_support import device_module
from tilewright.dialects import make_context
from tilewright.dialects.nv import MBarrierArriveOp
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.text import parse_source
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.passes.tile.check_barriers import CheckBarriers

BARRIERS = "memref<1x!nv.mbarrier, #barrier>"
SHARED = "memref<64x64xf16, #shared>"
FRAGMENT = "memref<64x64xf16, #tile.space<fragment>>"
ROLES = f"""
#shared = #tile.space<shared>
#barrier = #tile.space<barrier>
func.func @roles() {{
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(256) {{
    %s = tile.alloc "s" : {SHARED}
    %full = tile.alloc "full" init [128] : {BARRIERS}
    tile.ws custom
    role "writer" threads(0 to 128) {{
      %f = tile.alloc "f" : {FRAGMENT}
      tile.copy %f -> %s : {FRAGMENT} -> {SHARED}
      nv.mbarrier.arrive %full[%c0] : {BARRIERS}
    }}
    role "reader" threads(128 to 256) {{
      %f = tile.alloc "f" : {FRAGMENT}
      tile.copy %s -> %f : {SHARED} -> {FRAGMENT}
    }}
  }}
  func.return
}}
"""
THREADS = device_module(f"""
    %s = tile.alloc "s" offset 0 : memref<256xf32, #shared>
    %b = tile.alloc "b" init [1] offset 2048 : {BARRIERS}
    scf.if %first {{
      %x = memref.load %In[%c0] : memref<1024xf32, #global>
      memref.store %x, %s[%c0] : memref<256xf32, #shared>
      nv.mbarrier.arrive %b[%c0] : {BARRIERS}
    }}
    %y = memref.load %s[%c0] : memref<256xf32, #shared>
    memref.store %y, %Out[%tid] : memref<1024xf32, #global>
""")


@irdl_op_definition
class TokenOp(BarrierOp):
    """A barrier of a kind that no check has heard of."""

    name = "nv.token.pass"


def _module(text: str, *, is_known: bool) -> ModuleOp:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "k.mlir", engine)
    assert source is not None
    for op in list(walk(source.module)):
        if isinstance(op, MBarrierArriveOp) and not is_known:
            assert op.parent is not None
            made = TokenOp.build(operands=[op.barrier, op.index])
            op.parent.insert_ops_before([made], op)
            op.detach()
            op.erase()
    return source.module


def _messages(module: ModuleOp, check: Pass) -> list[str]:
    engine = DiagnosticEngine()
    check.run(module, engine)
    return [each.message for each in engine.diagnostics]


@pytest.mark.parametrize(
    ("text", "check"), [(ROLES, CheckBarriers()), (THREADS, CheckThreadSync())]
)
def test_an_unknown_barrier_is_not_analysed(text: str, check: Pass) -> None:
    (race,) = _messages(_module(text, is_known=True), check)
    assert race.startswith(("data race", "b[0] is used"))
    (message,) = _messages(_module(text, is_known=False), check)
    assert message in (
        "barriers not analysed: nv.token.pass is not analysed",
        "synchronisation not analysed: the effect of nv.token.pass is unknown",
    )

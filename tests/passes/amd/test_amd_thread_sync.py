"""Copies to LDS: barriers are inserted after their waits, and a missing wait or barrier is found.

The kernels are those that the executor of the thread level judges, in `tests/targets/numpy/simt`.
"""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.targets.numpy.simt.amd_kernels import COPY, READ, START, G, S, kernel, mirrored, tensors
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.passes.gpu.insert_thread_syncs import InsertThreadSyncs
from tilewright.targets.numpy.simt import Buffer, SimtFault, compile_simt

SECOND = f"""
    %s2 = tile.alloc "s2" offset 4096 : {S}
    amd.load_lds %In[%i] -> %s2[%base] lanes(4) : {G}, {S}"""
OF_WAVE_0 = f"""
    %s2 = tile.alloc "s2" offset 4096 : {S}
    %first = arith.cmpi ult, %tid, %c64 : index
    scf.if %first {{
      amd.load_lds %In[%i] -> %s2[%base] lanes(4) : {G}, {S}
    }}"""
# Two stages: the copy of the next iteration is in flight while this one is read.
RING = f"""
    %two = arith.constant 2 : index
    %last = arith.constant 6 : index
    {START}
    scf.for %k = %c0 to %last step %one {{
      %next = arith.addi %k, %one : index
      %slot = arith.remui %next, %two : index
      %ahead = arith.muli %slot, %half : index
      %to = arith.addi %base, %ahead : index
      %now = arith.remui %k, %two : index
      %start = arith.muli %now, %half : index
      %at = arith.addi %from, %start : index
      FIRST
      amd.load_lds %In[%i] -> %s[%to] lanes(4) : {G}, {S}
      WAIT
      simt.move %s[%at] -> %r[%c0] lanes(4) : {S}, memref<4xf32, #local>
      END
    }}
    simt.move %r[%c0] -> %Out[%i] lanes(4) : memref<4xf32, #local>, {G}"""
HALF = "%half = arith.constant 512 : index"


def ring(first: str = "", wait: str = "amd.wait loads(1)\ngpu.barrier", end: str = "") -> str:
    body = RING.replace("FIRST", first).replace("WAIT", wait).replace("END", end)
    return f"{COPY}\n{HALF}\n{body}"


RIGHT = {
    "waited": mirrored("amd.wait loads(0)\ngpu.barrier"),
    "the last in flight": f"{COPY}\n{START}\n{SECOND}\namd.wait loads(1)\ngpu.barrier\n{READ}",
    "two stages": ring(end="gpu.barrier"),
    "two stages, barrier first": ring(first="gpu.barrier"),
}
WRONG = {
    "nothing": mirrored(""),
    "no wait": mirrored("gpu.barrier"),
    "no barrier": mirrored("amd.wait loads(0)"),
    "barrier before the wait": mirrored("gpu.barrier\namd.wait loads(0)"),
    "left in flight": mirrored("amd.wait loads(1)\ngpu.barrier"),
    "two left in flight": f"{COPY}\n{START}\n{SECOND}\namd.wait loads(2)\ngpu.barrier\n{READ}",
    "waves differ": f"{COPY}\n{START}\n{OF_WAVE_0}\namd.wait loads(1)\ngpu.barrier\n{READ}",
    "still read": f"{mirrored('amd.wait loads(0)' + chr(10) + 'gpu.barrier')}\n{START}",
    "two stages, still read": ring(),
    "two stages, left in flight": ring(wait="amd.wait loads(2)\ngpu.barrier", end="gpu.barrier"),
    "two stages, no barrier": ring(wait="amd.wait loads(1)", end="gpu.barrier"),
}


def parsed(body: str) -> ModuleOp:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), kernel(body, "gfx950"), "kernel.mlir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    return source.module


def reported(module: ModuleOp) -> list[str]:
    engine = DiagnosticEngine()
    CheckThreadSync().run(module, engine)
    return [str(each.message) for each in engine.diagnostics]


def executed(module: ModuleOp) -> str | None:
    try:
        compile_simt(module).launch([Buffer(name, each) for name, each in tensors().items()])
    except SimtFault as fault:
        return fault.kind
    return None


@pytest.mark.parametrize("name", RIGHT)
def test_kernels_that_are_right(name: str):
    assert executed(parsed(RIGHT[name])) is None
    assert reported(parsed(RIGHT[name])) == []


@pytest.mark.parametrize("name", WRONG)
def test_kernels_that_are_wrong(name: str):
    assert executed(parsed(WRONG[name])) == "race"
    (found,) = reported(parsed(WRONG[name]))
    assert found.startswith("data race: thread 0")
    assert "cp.async" not in found


def test_the_message_names_the_copy():
    (found,) = reported(parsed(WRONG["no wait"]))
    assert found == (
        "data race: thread 0 reads s[508] to [511], and nothing orders it after a copy to LDS of "
        "warp 1"
    )


@pytest.mark.parametrize("name", ["no barrier", "two stages, no barrier", "still read"])
def test_barriers_are_inserted_after_waits(name: str):
    module = parsed(WRONG[name])
    InsertThreadSyncs().run(module, DiagnosticEngine())
    assert executed(module) is None
    assert reported(module) == []


def test_a_destination_out_of_bounds():
    body = f"""{COPY}
    %high = arith.addi %base, %c1024 : index
    %less = arith.subi %high, %c256 : index
    amd.load_lds %In[%i] -> %s[%less] lanes(4) : {G}, {S}"""
    (found,) = reported(parsed(body))
    assert "out-of-bounds access: bytes 3072 to 5119 of shared memory" in found


def test_writes_of_two_loops_to_one_tensor_stay_in_order():
    """By a barrier that orders tensors, although no thread reads them."""

    @T.prim_func
    def twice(C: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(256):
                C[i] = 1.0
            for i in T.Parallel(256):
                C[255 - i] = 2.0 + T.cast(i, "float32")

    module = lowered(twice.module, AmdPipeline(target="hip:gfx90a"))
    found = np.zeros(256, np.float32)
    compile_simt(module).launch([Buffer("C", found)])
    np.testing.assert_array_equal(found, 257 - np.arange(256))

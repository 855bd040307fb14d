"""examples/buffers/gemm_epilogue.mlir: the result leaves through the bytes of the operands."""

from pathlib import Path

import pytest

from tests.passes.pass_support import parse
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.memory import Memory
from tilewright.passes.merging.blocks import plan_module
from tilewright.passes.merging.merge_shared_memory import MergeSharedMemory
from tilewright.passes.merging.trace import MORE_RUNS, check_module
from tilewright.passes.tlx.storage_alias.planning import target_of

FILE = Path(__file__).parents[3] / "examples" / "buffers" / "gemm_epilogue.mlir"


def merged():
    module, engine = parse(FILE.read_text()), DiagnosticEngine()
    MergeSharedMemory().run(module, engine)
    verify(module, engine)
    engine.raise_if_errors()
    return module


def test_the_result_takes_no_room_of_its_own():
    module = parse(FILE.read_text())
    (plan,) = plan_module(module, target_of(module))
    assert plan.unmerged(Memory.SMEM) == 4 * 32768 + 24
    assert plan.needed(Memory.SMEM) == 3 * 32768 + 24
    assert plan.plan.optimal


def test_nothing_is_lost():
    module = merged()
    assert sum(op.name == "ttg.local_alloc" for op in walk(module)) == 3
    verdict = check_module(module, MORE_RUNS)
    assert (verdict.faults, verdict.unknown, verdict.buffers) == ((), (), 2)


def test_triton_builds_it():
    pytest.importorskip("triton", reason="the binary is built with Triton, which is not installed")
    from tests.dumps.consumer import build
    from tests.passes.merging.dumps import allocated

    text = print_module(merged())
    assert allocated(text, "sm90")[1] == 3 * 32768 + 24
    assert build(text, "ttgir", "sm90").startswith(b"\x7fELF")

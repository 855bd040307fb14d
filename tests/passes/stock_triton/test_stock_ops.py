"""Ops that stock Triton does not have: named before its parser meets them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.dialects import DIALECTS, make_context
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.passes.stock_triton import LACKING, NO_EQUIVALENT, why_unreadable

OF_OLDER_RELEASES = {"tt.advance", "tt.make_tensor_ptr", "ttg.local_barrier"}
"""What the newest release no longer has."""
NEWEST = "3.9"


def all_ops() -> list[str]:
    return [op.name for _, load in sorted(DIALECTS.items()) for op in load().operations]


@pytest.fixture(scope="module")
def message(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """What the parser of the installed Triton reports about an op without operands."""
    triton = pytest.importorskip("triton", reason="Triton is not installed")
    if not triton.__version__.startswith(NEWEST):
        pytest.skip(f"the list is that of Triton {NEWEST}, not {triton.__version__}")
    from triton._C.libtriton import amd, ir, nvidia

    context = ir.context()
    for load in (ir.load_dialects, nvidia.load_dialects, amd.load_dialects):
        load(context)
    file = tmp_path_factory.mktemp("ops") / "op.mlir"

    def message(name: str) -> str:
        file.write_text(f'module {{\n "{name}"() : () -> ()\n}}\n')
        return _errors(lambda: ir.parse_mlir_module(str(file), context))

    return message


def _errors(call: Callable[[], object]) -> str:
    """What C++ writes to standard error."""
    read, write = os.pipe()
    before = os.dup(2)
    os.dup2(write, 2)
    try:
        call()
    except RuntimeError:
        pass
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(write)
    with os.fdopen(read, errors="replace") as pipe:
        return pipe.read()


def test_the_ops_that_are_refused_are_those_that_triton_does_not_know(message):
    names = all_ops()
    unknown: set[str] = set()
    dialects: set[str] = set()
    for name in names:
        found = message(name)
        if "unregistered dialect" in found:
            dialects.add(name.partition(".")[0])
        if "unregistered" in found:
            unknown.add(name)
    assert dialects >= {"tile", "tlx", "nv"}
    refused = {name for name in names if why_unreadable(_Named(name)) is not None}
    assert refused == unknown - OF_OLDER_RELEASES
    assert {name for name in LACKING if not name.startswith("builtin.")} <= unknown


class _Named:
    """As much of an op as the check looks at."""

    def __init__(self, name: str) -> None:
        self.name = name


PLAIN = """\
tt.func public @k(%p: !tt.ptr<f32>) {{
  %x = arith.constant 1.0 : f32
  {op}
  tt.store %p, %y : !tt.ptr<f32>
  tt.return
}}
"""
TTGIR = """\
#blocked = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
module attributes {{"ttg.num-warps" = 4 : i32, "ttg.num-ctas" = 1 : i32, "ttg.target" = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @k(%p: !tt.ptr<i64>, %x: f32) {{
    {op}
    tt.store %p, %y : !tt.ptr<i64>
    tt.return
  }}
}}
"""
CASES = {
    "plain": (PLAIN, "%y = math.softsign %x : f32", "math.softsign"),
    "ttgir": (TTGIR, "%y = ttg.clock64", "ttg.clock64"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_op_that_triton_does_not_know_is_an_error_with_its_name(tmp_path: Path, case: str):
    pytest.importorskip("triton", reason="Triton is not installed")
    from tilewright.targets.triton.compile import compile_module

    text, op, name = CASES[case]
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text.format(op=op), "kernel.mlir", engine)
    assert source is not None, engine.diagnostics
    line = 1 + [op in each for each in text.format(op=op).splitlines()].index(True)
    with pytest.raises(CompileError) as caught:
        compile_module(source.module, capability=90)
    (found,) = caught.value.diagnostics
    assert str(caught.value).startswith(f"kernel.mlir:{line}:")
    assert found.message == f"'{name}' has no equivalent in stock Triton"
    assert found.code == NO_EQUIVALENT

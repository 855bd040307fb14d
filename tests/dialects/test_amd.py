"""The ``amd`` dialect: samples of every op, what each accesses, and what passes may do with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    IndexType,
    MemRefType,
    ModuleOp,
    NoneAttr,
)
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from tests.targets.numpy.simt.amd_kernels import kernel, mirrored
from tilewright.dialects import make_context
from tilewright.dialects.amd.ops import (
    Amd,
    BufferLoadOp,
    LoadLdsOp,
    MatrixCoreOp,
    MfmaOp,
    SchedGroupOp,
    WaitOp,
    WmmaOp,
)
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tile import AllocOp, Space, SpaceAttr
from tilewright.dialects.tile.attributes import TargetAttr
from tilewright.dialects.tile.interfaces import is_async, reads, writes
from tilewright.dialects.tile.names import TARGET
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import CHIPS, MatrixInstruction
from tilewright.passes.cleanup.canonicalize import Canonicalize
from tilewright.passes.cleanup.cse import Cse
from tilewright.passes.cleanup.dce import Dce

THREAD_LEVEL = Path(__file__).parents[1] / "lit/dialects/amd/thread-level.mlir"


def parsed(text: str) -> ModuleOp:
    source = parse_source(make_context(), text, "kernel.mlir", DiagnosticEngine())
    assert source is not None
    return source.module


def samples() -> Iterator[Operation]:
    for op in walk(parsed(THREAD_LEVEL.read_text())):
        if op.name.startswith("amd."):
            yield op


def test_every_op_has_a_sample():
    assert {op.name for op in samples()} == {op.name for op in Amd.operations}


def test_generic_text_comes_back():
    module = parsed(THREAD_LEVEL.read_text())
    assert print_module(parsed(print_module(module, generic=True))) == print_module(module)


def test_nothing_can_be_dropped():
    for op in samples():
        assert not is_removable(op), op.name


def test_only_copies_to_lds_go_on():
    assert {op.name for op in samples() if is_async(op)} == {"amd.load_lds"}


def regions(op: Operation) -> tuple[list[str], list[str]]:
    found = ([re.sub(r"%\w+", "%_", str(each)) for each in side(op)] for side in (reads, writes))
    left, right = found
    return left, right


def test_what_matrix_instructions_access():
    """Registers that a lane holds for one instruction, by the GPU."""
    accessed = {
        (op.instruction().name, *(int(each.split("+")[1][:-1]) for each in regions(op)[0]))
        for op in samples()
        if isinstance(op, MfmaOp | WmmaOp)
    }
    assert accessed == {
        ("mfma_f32_32x32x8_f16_f16", 4, 4, 16),
        ("mfma_f32_16x16x32_f8e4m3fnuz_f8e5m2fnuz", 8, 8, 4),
        ("mfma_i32_32x32x16_i8_i8", 8, 8, 16),
        ("mfma_f32_16x16x8_xf32_xf32", 2, 2, 4),
        ("mfma_f32_16x16x4_f32_f32", 1, 1, 4),
        ("wmma_f32_16x16x16_bf16_bf16", 8, 8, 8),
        ("wmma_i32_16x16x16_i8_i8", 8, 8, 8),
    }
    for op in samples():
        if isinstance(op, MfmaOp | WmmaOp):
            assert regions(op)[1] == regions(op)[0][2:]


def test_what_moves_access():
    found = {op.name: regions(op) for op in samples() if isinstance(op, BufferLoadOp | LoadLdsOp)}
    assert found["amd.buffer_load"] == (["%_[%_ +1]"], ["%_[%_ +1]"])
    # A wave of 64 lanes, two elements each.
    assert found["amd.load_lds"] == (["%_[%_ +2]"], ["%_[%_ +128]"])


def test_constructors_make_what_the_parser_makes():
    def registers(element: Float16Type | Float32Type, size: int) -> AllocOp:
        type = MemRefType(element, (size,), NoneAttr(), SpaceAttr(Space.LOCAL))
        return AllocOp(type, name="r")

    zero = ConstantOp.of(0, IndexType())
    a, c = registers(Float16Type(), 8), registers(Float32Type(), 16)
    made = MfmaOp((a, zero), (a, zero), (c, zero), (32, 32, 8))
    assert made.mnk == (32, 32, 8)
    assert made.multiplied_types == ("f16", "f16")
    wide = WmmaOp((a, zero), (a, zero), (c, zero), (16, 16, 16), unsigned=(True, False))
    assert wide.unsigned == (True, False)
    assert SchedGroupOp("lds_read", 2).mask == 0x100
    assert WaitOp(3).loads.value.data == 3


def multiplication(each: MatrixInstruction) -> MatrixCoreOp:
    a, b = (type.replace("xf32", "f32") for type in (each.a, each.b))
    shape = ", ".join(map(str, each.shape))
    marks = "{xf32}" if each.a == "xf32" else ""
    text = f"""#l = #tile.space<local>
    func.func @k(%a: memref<64x{a}, #l>, %b: memref<64x{b}, #l>, %c: memref<64x{each.c}, #l>,
        %i: index) {{
      amd.{each.kind} %a[%i], %b[%i] -> %c[%i] shape [{shape}] {marks}
        : memref<64x{a}, #l>, memref<64x{b}, #l> -> memref<64x{each.c}, #l>
      func.return
    }}"""
    (op,) = (op for op in walk(parsed(text)) if isinstance(op, MatrixCoreOp))
    return op


def test_shapes_are_those_of_the_gpu():
    """Every instruction of the table is accepted by the GPUs that have it, and by no other."""
    keys = {
        (each.kind, each.shape, each.a, each.b): each
        for chip in CHIPS.values()
        for each in chip.instructions
    }
    accepted = 0
    for key, each in keys.items():
        op = multiplication(each)
        function = op.parent_op()
        assert function is not None
        for chip in CHIPS.values():
            function.attributes[TARGET] = TargetAttr.of("hip", chip.name)
            has = any((own.kind, own.shape, own.a, own.b) == key for own in chip.instructions)
            assert _is_accepted(op) == has, (chip.name, each.name)
            accepted += has
    assert accepted == sum(len(chip.instructions) for chip in CHIPS.values())


def _is_accepted(op: Operation) -> bool:
    try:
        op.verify()
    except VerifyException:
        return False
    return True


def test_passes_keep_copies_and_waits():
    """Neither merged nor moved: they have effects that no value shows."""
    module = parsed(kernel(mirrored("amd.wait loads(0)\ngpu.barrier\namd.wait loads(0)"), "gfx950"))
    before = [op.name for op in walk(module) if op.name.startswith(("amd.", "gpu.barrier"))]
    for each in (Canonicalize(), Cse(), Dce()):
        each.run(module, DiagnosticEngine())
    after = [op.name for op in walk(module) if op.name.startswith(("amd.", "gpu.barrier"))]
    assert after == before == ["amd.load_lds", "amd.wait", "gpu.barrier", "amd.wait"]


def test_an_attribute_that_the_package_lacks():
    import tilewright.dialects.amd as package

    assert package.Amd is Amd
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = package.Nothing

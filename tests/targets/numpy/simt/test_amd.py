"""AMD's ops at the thread level: every matrix instruction is exact, copies land late, faults show.

Operands are packed by the tables of the manuals, not by the layouts that the executor uses. Values
are small whole numbers, so that no order of adding up can hide a wrong element.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.layouts.hardware.amd_tables import accumulator_point, operand_point
from tests.targets.numpy.simt.amd_kernels import fault, module_text, run
from tilewright.dialects.amd.matrix import matrix_core
from tilewright.layouts.hardware.amd_chips import CHIPS, MatrixInstruction

ELEMENTS: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "i8": np.int8,
    "i32": np.int32,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
}


def element_type(name: str) -> np.dtype[Any]:
    return np.dtype(ELEMENTS[name])


# -- matrix instructions -------------------------------------------------------------------------

INSTRUCTIONS = {
    f"{chip.name}-{each.name}": (chip.name, each)
    for chip, each in {
        (each.name, each.width): (chip, each)
        for chip in CHIPS.values()
        for each in chip.instructions
    }.values()
}
"""Each once: some GPUs have the same."""


def multiplication(
    chip: str, instruction: MatrixInstruction, waves: int, marks: str = ""
) -> tuple[str, dict[str, str]]:
    """Every lane loads its registers as they are, multiplies, and stores its accumulators."""
    wave = CHIPS[chip].wave
    width, count = instruction.width, instruction.accumulators(wave)
    a, b = (each.replace("xf32", "f32") for each in (instruction.a, instruction.b))
    if "xf32" in instruction.a:
        marks = "{xf32}"
    threads = wave * waves
    tensors = {
        "A": f"{threads * width}x{a}",
        "B": f"{threads * width}x{b}",
        "C": f"{threads * count}x{instruction.c}",
    }
    sizes = {"A": width, "B": width, "C": count}
    elements = {name: type.split("x", 1)[1] for name, type in tensors.items()}
    registers = {name: f"memref<{sizes[name]}x{elements[name]}, #local>" for name in tensors}
    memory = {name: f"memref<{tensors[name]}, #global>" for name in tensors}
    lines: list[str] = []
    for name in tensors:
        lanes = min(sizes[name], 16 // element_type(elements[name]).itemsize)
        lines += [
            f'%r{name} = tile.alloc "r{name}" : {registers[name]}',
            f"%n{name} = arith.constant {sizes[name]} : index",
            f"%i{name} = arith.muli %tid, %n{name} : index",
        ]
        for at in range(0, sizes[name], lanes):
            lines += [
                f"%k{name}{at} = arith.constant {at} : index",
                f"%j{name}{at} = arith.addi %i{name}, %k{name}{at} : index",
                f"simt.move %{name}[%j{name}{at}] -> %r{name}[%k{name}{at}] lanes({lanes}) : "
                f"{memory[name]}, {registers[name]}",
            ]
    shape = ", ".join(map(str, instruction.shape))
    lines.append(
        f"amd.{instruction.kind} %rA[%c0], %rB[%c0] -> %rC[%c0] shape [{shape}] {marks} : "
        f"{registers['A']}, {registers['B']} -> {registers['C']}"
    )
    for at in range(0, count, 4):
        lines.append(
            f"simt.move %rC[%kC{at}] -> %C[%jC{at}] lanes(4) : {registers['C']}, {memory['C']}"
        )
    return module_text(chip, tensors, "\n    ".join(lines), threads), tensors


def packed(instruction: MatrixInstruction, a: Any, b: Any, c: Any) -> dict[str, Any]:
    """Registers of all lanes, [waves, lanes * registers], by the tables."""
    core = matrix_core(instruction)
    lanes = range(core.wave)
    operand = [operand_point(core, lane, r) for lane in lanes for r in range(core.width)]
    held = [accumulator_point(core, lane, r) for lane in lanes for r in range(core.accumulators)]
    rows, depth = (np.array(each) for each in zip(*operand, strict=True))
    down, across = (np.array(each) for each in zip(*held, strict=True))
    return {
        "A": a[:, rows, depth].reshape(-1),
        "B": b[:, depth, rows].reshape(-1),
        "C": c[:, down, across].reshape(-1),
    }


@pytest.mark.parametrize(("chip", "instruction"), INSTRUCTIONS.values(), ids=INSTRUCTIONS)
def test_every_matrix_instruction_is_exact(chip: str, instruction: MatrixInstruction):
    rng = np.random.default_rng(len(instruction.name))
    m, n, k = instruction.shape
    waves = 2
    text, _ = multiplication(chip, instruction, waves)
    a, b = rng.integers(-3, 4, (waves, m, k)), rng.integers(-3, 4, (waves, k, n))
    c = rng.integers(-9, 10, (waves, m, n))
    types = {
        "A": element_type(instruction.a.replace("xf32", "f32")),
        "B": element_type(instruction.b.replace("xf32", "f32")),
        "C": element_type(instruction.c),
    }
    given = packed(instruction, a, b, c)
    arrays = {name: np.ascontiguousarray(given[name].astype(types[name])) for name in given}
    run(text, arrays)
    expected = packed(instruction, a, b, c + a @ b)["C"]
    np.testing.assert_array_equal(arrays["C"].astype(np.int64), expected)


def instruction_of(chip: str, type: str, m: int = 16) -> MatrixInstruction:
    return next(each for each in CHIPS[chip].instructions_for(type, type) if each.m == m)


@pytest.mark.parametrize("marks", ["", "{unsigned_a}", "{unsigned_b}", "{unsigned_a, unsigned_b}"])
def test_bytes_with_and_without_a_sign(marks: str):
    instruction = instruction_of("gfx1201", "i8")
    rng = np.random.default_rng(1)
    signs = ["unsigned_a" in marks, "unsigned_b" in marks]
    a, b = (
        rng.integers(0, 256, (1, 16, 16)) if unsigned else rng.integers(-128, 128, (1, 16, 16))
        for unsigned in signs
    )
    text, _ = multiplication("gfx1201", instruction, 1, marks)
    given = packed(instruction, a, b, np.zeros((1, 16, 16), np.int64))
    arrays = {
        "A": given["A"].astype(np.uint8).view(np.int8),
        "B": given["B"].astype(np.uint8).view(np.int8),
        "C": given["C"].astype(np.int32),
    }
    run(text, arrays)
    np.testing.assert_array_equal(arrays["C"], packed(instruction, a, b, a @ b)["C"])


def test_xf32_drops_low_bits_of_its_operands():
    instruction = instruction_of("gfx942", "xf32")
    text, _ = multiplication("gfx942", instruction, 1)
    a = np.zeros((1, 16, 8), np.float32)
    a[0, 3, 2] = 1 + 2.0**-10 + 2.0**-13
    b = np.zeros((1, 8, 16), np.float32)
    b[0, 2, 5] = 1
    given = packed(instruction, a, b, np.zeros((1, 16, 16), np.float32))
    run(text, given)
    expected = np.zeros((1, 16, 16), np.float32)
    expected[0, 3, 5] = 1 + 2.0**-10
    np.testing.assert_array_equal(given["C"], packed(instruction, a, b, expected)["C"])


def test_lanes_that_repeat_an_operand_must_agree():
    instruction = instruction_of("gfx1100", "f16")
    text, _ = multiplication("gfx1100", instruction, 1)
    ones = np.ones((1, 16, 16), np.float16)
    given = packed(instruction, ones, ones, ones.astype(np.float32))
    given["B"][17 * instruction.width + 3] = 2
    found = fault(text, given)
    assert found.kind == "divergent"
    assert "'rB' differs between lanes 16 apart" in str(found)


def test_a_matrix_instruction_needs_whole_waves():
    instruction = instruction_of("gfx942", "f16")
    text, _ = multiplication("gfx942", instruction, 1)
    given = packed(instruction, *(np.ones((1, 16, 16), np.float16) for _ in range(3)))
    given["C"] = given["C"].astype(np.float32)
    head, _, tail = text.partition("amd.mfma")
    guarded = f"""%half = arith.constant 32 : index
    %some = arith.cmpi ult, %tid, %half : index
    scf.if %some {{
    amd.mfma{tail.split(chr(10), 1)[0]}
    }}
    {tail.split(chr(10), 1)[1]}"""
    assert "needs all lanes of a warp" in str(fault(head + guarded, given))
    fewer = text.replace("simt.threads = 64", "simt.threads = 48")
    assert "the last one has fewer" in str(fault(fewer, given))

"""What is live at once counts: not the arrays of loops that run sequentially."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.ir import Region, SSAValue

from tests.passes.pass_support import parse
from tilewright.analysis.lifetimes.array_peaks import peak_bits, sequence_bits
from tilewright.dialects.tile import AllocOp, KernelOp
from tilewright.ir.traversal import walk

ACC, ONE, TWO = 32 * 100, 32 * 10, 32 * 7


def measured(body: str, measure: Callable[[Region, dict[SSAValue, int]], int]) -> int:
    text = f"""
#fragment = #tile.space<fragment>
func.func @kernel(%n: index) attributes {{tile.entry}} {{
  tile.kernel (%bx) in (1) threads(32) {{
    %acc = tile.alloc "acc" : memref<100xf32, #fragment>
    %one = tile.alloc "one" : memref<10xf32, #fragment>
    %two = tile.alloc "two" : memref<7xf32, #fragment>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %yes = arith.constant true
{body}
  }}
  func.return
}}
"""
    (kernel,) = (op for op in walk(parse(text)) if isinstance(op, KernelOp))
    sizes = {"acc": ACC, "one": ONE, "two": TWO}
    arrays: dict[SSAValue, int] = {
        op.result: sizes[op.buffer_name] for op in walk(kernel) if isinstance(op, AllocOp)
    }
    return measure(kernel.body, arrays)


def fill(name: str, size: int) -> str:
    return f"tile.fill %{name}, %zero : memref<{size}xf32, #fragment>, f32\n"


def loop(body: str) -> str:
    depth = body.count("scf.for")
    return f"scf.for %i{depth} = %c0 to %n step %c1 {{\n{body}}}\n"


def convert(source: str, size: int, target: str, length: int) -> str:
    """Reads one array and fills another."""
    return f"""tile.parallel (%x{source}) in ({size}) {{
  %v{source} = memref.load %{source}[%x{source}] : memref<{size}xf32, #fragment>
  memref.store %v{source}, %{target}[%x{source}] : memref<{length}xf32, #fragment>
}}
"""


F_ACC, F_ONE, F_TWO = fill("acc", 100), fill("one", 10), fill("two", 7)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", 0),
        (F_ACC + F_ONE, ACC),
        (F_TWO + convert("two", 7, "one", 10) + F_ONE, ONE),
        (F_TWO + F_ACC + convert("two", 7, "one", 10) + F_ONE + F_ACC, ACC + ONE),
        (F_ONE + F_ACC + F_ONE, ACC + ONE),
        (F_ACC + loop(F_ONE) + loop(F_TWO) + F_ACC, ACC + ONE),
        (F_ACC + loop(F_ONE) + loop(F_TWO + F_ONE) + F_ACC, ACC + ONE + TWO),
        (loop(loop(F_ONE) + loop(F_TWO)), ONE),
        (loop(F_TWO + loop(F_ONE) + F_TWO), ONE + TWO),
        (f"scf.if %yes {{\n{F_ONE}}} else {{\n{F_TWO}}}\n", ONE),
        (F_TWO + f"scf.if %yes {{\n{F_ONE}{F_TWO}}}\n", ONE + TWO),
        (F_ONE + loop(F_ONE + F_TWO) + loop(F_ACC), ACC),
    ],
)
def test_live_bits(body: str, expected: int) -> None:
    assert measured(body, peak_bits) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (F_ACC + F_ONE, ACC + TWO),
        (F_ACC + loop(F_ONE) + loop(F_TWO) + F_ACC, ACC + ONE),
        (F_ACC + loop(F_ONE + F_TWO) + F_ACC, ACC + ONE + TWO),
        (loop(loop(F_ONE) + loop(F_TWO) + F_ACC), ACC + ONE + TWO),
        (loop(F_ONE + F_ACC) + loop(F_ONE + F_TWO), ACC + ONE),
    ],
)
def test_bits_of_a_sequence(body: str, expected: int) -> None:
    assert measured(body, sequence_bits) == expected

"""Ops the analysis does not know: their results may depend on anything, in every lane.

Claiming less would call an address independent of the program that is not. Element-wise ops are
functions of their operands, unless they are assembly that reads special registers.
"""

from __future__ import annotations

import pytest

from tests.analysis.pid_address.support import only_access
from tilewright.analysis.pid_address import Pattern, Reason

POINTERS = "tensor<64x!tt.ptr<f32>>"


def load_at(index: str, arguments: str = "") -> str:
    """A kernel that loads 64 floats at `%i`, a tensor that `index` defines."""
    return f"""
    tt.func public @k(%p: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}{arguments}) {{
      {index}
      %q = tt.splat %p : !tt.ptr<f32> -> {POINTERS}
      %r = tt.addptr %q, %i : {POINTERS}, tensor<64xi32>
      %v = tt.load %r : {POINTERS}
      tt.return
    }}"""


def asm(text: str, pure: str = "true") -> str:
    attributes = f'constraints = "=r,r", packed_element = 1 : i32, pure = {pure}'
    return f"""%l = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32>
      %i = tt.elementwise_inline_asm "{text}" {{{attributes}}} %l : tensor<64xi32> -> tensor<64xi32>"""


ANYTHING = {
    "no operands": '%i = "builtin.unrealized_conversion_cast"() : () -> tensor<64xi32>',
    "program id by another name": """%b = gpu.block_id x
      %c = arith.index_cast %b : index to i32
      %i = tt.splat %c : i32 -> tensor<64xi32>""",
    "assembly that reads a register": asm("mov.u32 $0, %smid;"),
    "assembly with effects": asm("mov.b32 $0, $1;", pure="false"),
}


@pytest.mark.parametrize("name", ANYTHING)
def test_anything_may_come_out(name: str) -> None:
    access = only_access(load_at(ANYTHING[name]))
    assert access.pattern is Pattern.UNKNOWN
    assert access.pid_axes == (0, 1, 2)


def test_a_tensor_from_nowhere_differs_from_lane_to_lane() -> None:
    access = only_access(load_at(ANYTHING["no operands"]))
    assert access.block_size == 1
    assert access.coalesced is None
    assert access.lane_strides == (None,)


def test_plain_assembly_is_a_function_of_its_operands() -> None:
    access = only_access(load_at(asm("mov.b32 $0, $1;")))
    assert access.pattern is Pattern.INDEPENDENT
    assert access.lane_strides == (None,)


def test_a_function_that_is_only_declared_may_read_the_program_id() -> None:
    text = "tt.func private @f(i32) -> i32\n" + load_at(
        """%j = tt.call @f(%n) : (i32) -> i32
        %i = tt.splat %j : i32 -> tensor<64xi32>""",
        ", %n: i32",
    )
    access = only_access(text)
    assert access.pattern is Pattern.UNKNOWN
    assert access.reason is Reason.DATA_DEPENDENT

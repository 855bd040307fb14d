"""The text and the checks of the part of ``gpu`` that is defined."""

import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.traits import is_side_effect_free

from tests.dialects.text_support import (
    check_same_as_triton,
    messages,
    printed_body,
    returning,
    through_generic_form,
    triton_messages,
)
from tilewright.dialects import gpu

DIMENSIONS = (
    *("thread_id", "block_id", "block_dim", "grid_dim", "global_id", "cluster_id"),
    *("cluster_dim", "cluster_block_id", "cluster_dim_blocks"),
)

LINES = [
    *(f"%{op}_{axis} = gpu.{op} {axis}" for op in DIMENSIONS for axis in "xyz"),
    "%thread_id_x_0 = gpu.thread_id x upper_bound 64 {a}",
    "%0 = gpu.lane_id",
    "%1 = gpu.lane_id upper_bound 32 {a}",
    "%2 = gpu.subgroup_id : index",
    "%3 = gpu.num_subgroups upper_bound 4 {a} : index",
    "%4 = gpu.subgroup_size : index",
    "gpu.barrier",
    "gpu.barrier {a}",
    "gpu.barrier memfence [#gpu.address_space<workgroup>, #gpu.address_space<global>] {a}",
    "gpu.barrier memfence []",
    "gpu.barrier scope <subgroup>",
    "gpu.barrier memfence [#gpu.address_space<private>] scope <cluster>",
    "%c1_i32 = arith.constant {a = #gpu<dim y>, b = #gpu.barrier_scope<cluster>, c = #gpu.address_space<constant>} 1 : i32",
]


def test_lines_come_back():
    text = returning("\n".join(LINES))
    assert printed_body(text) == LINES
    assert through_generic_form(text) == LINES
    check_same_as_triton(text)


def test_every_op_has_a_line():
    shown = {word for line in LINES for word in line.split() if word.startswith("gpu.")}
    assert {op.name for op in gpu.Gpu.operations} == shown


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("%0 = gpu.thread_id  x", "%thread_id_x = gpu.thread_id x"),
        ("gpu.barrier scope<workgroup>", "gpu.barrier"),
        (
            "gpu.barrier scope<cluster> memfence [#gpu.address_space<global>]",
            "gpu.barrier memfence [#gpu.address_space<global>] scope <cluster>",
        ),
    ],
)
def test_other_spelling(written: str, printed: str):
    text = returning(written)
    assert printed_body(text) == [printed]
    check_same_as_triton(text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '%0 = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> i32',
            "'gpu.thread_id' op result #0 must be index, but got 'i32'",
        ),
        (
            '%0 = "gpu.thread_id"() : () -> index',
            "'gpu.thread_id' op requires attribute 'dimension'",
        ),
    ],
)
def test_fault(line: str, message: str, capfd: pytest.CaptureFixture[str]):
    text = returning(line)
    assert messages(text) == [message]
    assert triton_messages(text, capfd) == [message]


def test_construction():
    op = gpu.ThreadIdOp("y")
    op.verify()
    assert op.dimension.data is gpu.Dimension.Y
    assert op.result.type == IndexType()
    assert is_side_effect_free(op)
    assert is_side_effect_free(gpu.LaneIdOp())
    assert not is_side_effect_free(gpu.BarrierOp())

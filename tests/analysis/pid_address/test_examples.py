"""The worked examples: lines of the report, verbatim."""

from __future__ import annotations

import pytest

from tests.analysis.pid_address.support import corpus_module, fixture_module, lines_of
from tilewright.analysis.pid_address import analyze, read_kernels
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine

SKETCH = """
tt.func @vector_add(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: !tt.ptr<f32>) {
    %c128 = arith.constant 128 : i32
    %pid = tt.get_program_id x : i32
    %block_start = arith.muli %pid, %c128 : i32
    %offsets = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32>
    %indices = arith.addi %block_start, %offsets : tensor<128xi32>

    %ptr_a = tt.splat %arg0 : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %ptrs_a = tt.addptr %ptr_a, %indices : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %a = tt.load %ptrs_a : tensor<128x!tt.ptr<f32>>
    ...
}
"""


def test_the_sketch_of_the_design_gives_its_five_lines() -> None:
    engine = DiagnosticEngine()
    module = read_kernels(make_context(), SKETCH, "sketch.mlir", engine)
    assert module is not None and not list(engine.diagnostics)
    assert lines_of(analyze(module)) == [
        "%pid:       PID_INFO(axis=0, stride=1, offset=0)",
        "%block_start: PID_INFO(axis=0, stride=128, offset=0)",
        "%indices:   PID_INFO(axis=0, stride=128, offset=[0,127], elem_range)",
        "%ptrs_a:    ADDR_INFO(base=%arg0, axis=0, stride=512, offset=[0,508], coalesced=true)",
        "%a (load):  PATTERN(PID_AFFINE, block_size=128, stride=512, coalesced=true)",
    ]


SKETCH_FAULTS = {
    "a name that is nowhere": (
        ("%offsets : tensor", "%offset : tensor"),
        "use of undeclared SSA value name '%offset'",
    ),
    "an op that is unknown, after the sketched part": (
        ("tt.load %ptrs_a", "tt.lod %ptrs_a"),
        "unknown operation 'tt.lod'; did you mean 'tt.load'?",
    ),
    "an op that is unknown, before it": (
        ("tt.get_program_id x", "tt.get_program x"),
        "unknown operation 'tt.get_program'; did you mean 'tt.get_program_id'?",
    ),
}


@pytest.mark.parametrize("name", SKETCH_FAULTS)
def test_the_error_in_a_sketch_is_reported_not_that_it_is_a_sketch(name: str) -> None:
    engine = DiagnosticEngine()
    (old, new), message = SKETCH_FAULTS[name]
    assert read_kernels(make_context(), SKETCH.replace(old, new), "sketch.mlir", engine) is None
    [error] = engine.diagnostics
    assert error.message == message


def test_vector_add_line_by_line() -> None:
    assert lines_of(analyze(corpus_module("vector_add")))[:6] == [
        "%pid:       PID_INFO(axis=0, stride=1, offset=0)",
        "%offs_0:    PID_INFO(axis=0, stride=1024, offset=0)",
        "%offs_2:    PID_INFO(axis=0, stride=1024, offset=0)",
        "%offs_3:    PID_INFO(axis=0, stride=1024, offset=[0,1023], elem_range)",
        "%x_5:       ADDR_INFO(base=%x_ptr, axis=0, stride=4096, offset=[0,4092], coalesced=true)",
        "%x_6 (load): PATTERN(PID_AFFINE, block_size=1024, stride=4096, coalesced=true)",
    ]


EXAMPLES = {
    "softmax_row": [
        "%x_5 (load): PATTERN(PID_AFFINE, block_size=1024, stride=4*in_row_stride, coalesced=true)",
        "%3 (store): PATTERN(PID_AFFINE, block_size=1024, stride=4*out_row_stride, coalesced=true)",
    ],
    "matmul_grouped": [
        "%a_57 (load): PATTERN(PID_NONLINEAR, block_size=64, strides=[0:?], coalesced=true, "
        "loops=[%k:128], reason=div_mod)",
        "%b_60 (load): PATTERN(PID_NONLINEAR, block_size=16, strides=[0:?], coalesced=true, "
        "loops=[%k:128*stride_bk], reason=div_mod)",
        "%c_ptrs_43 (store): PATTERN(PID_NONLINEAR, block_size=256, strides=[0:?], "
        "coalesced=true, reason=div_mod)",
    ],
    "layernorm_fwd": [
        "%x_17 (load): PATTERN(PID_AFFINE, block_size=1024, stride=2*stride, coalesced=true, "
        "loops=[%off:2048])",
        "%0 (store): PATTERN(PID_AFFINE, block_size=1, stride=4, coalesced=true)",
        "%w_15 (load): PATTERN(PID_INDEPENDENT, block_size=1024, coalesced=true, "
        "loops=[%off:2048])",
    ],
    "embedding_gather": [
        "%ids_12 (load): PATTERN(PID_AFFINE, block_size=16, stride=64, coalesced=true)",
        "%vals_25 (load): PATTERN(UNKNOWN, block_size=128, strides=[0:?, 1:256], coalesced=true, "
        "reason=data_dependent)",
        "%5 (store): PATTERN(PID_MULTI_AXIS, block_size=128, strides=[0:32*dim, 1:256], "
        "coalesced=true)",
    ],
    "histogram_atomic": [
        "%v_7 (load): PATTERN(PID_AFFINE, block_size=512, stride=2048, coalesced=true)",
        "%2 (atomic): PATTERN(UNKNOWN, block_size=1, strides=[0:?], coalesced=unknown, "
        "reason=data_dependent)",
    ],
    "flash_attn_fwd": [
        "%q_47 (load): PATTERN(PID_NONLINEAR, block_size=64, strides=[0:256*stride_qm, 1:?], "
        "coalesced=true, reason=div_mod)",
        "%k_61 (load): PATTERN(PID_NONLINEAR, block_size=64, strides=[1:?], coalesced=true, "
        "loops=[%start_n:128*stride_kn], reason=div_mod)",
        "%5 (store): PATTERN(PID_MULTI_AXIS, block_size=128, strides=[0:512, 1:4*N_CTX], "
        "coalesced=true)",
    ],
    "matmul_tma": [
        "%a_6 (load): PATTERN(PID_AFFINE, block_size=64, stride=256*K, coalesced=true, "
        "loops=[%k:128])",
        "%b (load):  PATTERN(PID_AFFINE, block_size=64, strides=[1:256*K], coalesced=true, "
        "loops=[%k:128])",
        "%c_desc_1 (store): PATTERN(PID_MULTI_AXIS, block_size=128, strides=[0:256*N, 1:256], "
        "coalesced=true)",
    ],
    "matmul_block_ptr": [
        "%a (load):  PATTERN(PID_AFFINE, block_size=32, stride=256*stride_am, coalesced=true, "
        "loops=[%k:64])",
        "%b (load):  PATTERN(PID_AFFINE, block_size=64, strides=[1:128], coalesced=true, "
        "loops=[%k:64*stride_bk])",
        "%c_blk (store): PATTERN(PID_MULTI_AXIS, block_size=64, strides=[0:512*stride_cm, 1:256], "
        "coalesced=true)",
    ],
    "transpose_2d": [
        "%x_19 (load): PATTERN(PID_MULTI_AXIS, block_size=32, strides=[0:128*stride_xm, 1:128], "
        "coalesced=true)",
        "%6 (store): PATTERN(PID_MULTI_AXIS, block_size=32, strides=[0:128, 1:128*stride_yn], "
        "coalesced=true)",
    ],
    "noinline_rowsum": [
        "%4 (load) @%s_1: PATTERN(PID_AFFINE, block_size=512, stride=4*stride, coalesced=true)",
        "%4 (load) @%t: PATTERN(PID_INDEPENDENT, block_size=512, coalesced=true)",
    ],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_lines_of_the_corpus(name: str) -> None:
    lines = lines_of(analyze(corpus_module(name)))
    for line in EXAMPLES[name]:
        assert line in lines


def test_persistent_tiles() -> None:
    store = analyze(fixture_module("persistent_matmul")).accesses[-1]
    assert store.info() == (
        "PATTERN(PID_NONLINEAR, block_size=128, strides=[0:?], coalesced=true, loops=[%tile:?], "
        "reason=div_mod)"
    )
    assert store.virtual is not None
    assert store.virtual.pattern.value == "PID_MULTI_AXIS"
    assert {name: str(stride) for name, stride in store.virtual.strides.items()} == {
        "%tm": "256*stride_cm",
        "%tn": "256",
    }
    assert {name: str(value) for name, value in store.virtual.coordinates.items()} == {
        "%tm": "tdiv(pid0 + 132*it(%tile), tdiv(N + 127, 128))",
        "%tn": "trem(pid0 + 132*it(%tile), tdiv(N + 127, 128))",
    }


def test_a_tile_index_used_directly_stays_affine() -> None:
    load, store = analyze(fixture_module("grid_stride")).accesses
    for access in (load, store):
        assert access.info() == (
            "PATTERN(PID_AFFINE, block_size=256, stride=1024, coalesced=true, "
            "loops=[%tile:1024*np0])"
        )


def test_groups_of_matrices_read_from_memory() -> None:
    accesses = analyze(fixture_module("grouped_gemm")).accesses
    sizes, rows, matrix = accesses[0], accesses[3], accesses[5]
    assert sizes.info() == ("PATTERN(PID_INDEPENDENT, block_size=1, coalesced=true, loops=[%g:4])")
    assert matrix.info() == (
        "PATTERN(UNKNOWN, block_size=64, strides=[0:?], coalesced=true, "
        "loops=[%g:?, while:?, %kk:128], reason=data_dependent)"
    )
    assert (matrix.base, [str(stride) for stride in matrix.lane_strides]) == (
        "*%a_13",
        ["2*%lda_12", "2"],
    )
    assert (matrix.align_bytes, matrix.vector_bits) == (2, 16)
    # The address of the group's data is the same for all programs; whether they are read is not.
    assert (sizes.guard_axes, rows.guard_axes) == ((), (0,))
    assert rows.pid_axes == ()


def test_a_clamped_tail() -> None:
    load, store = analyze(fixture_module("clamped_tail")).accesses
    for access in (load, store):
        assert access.info() == (
            "PATTERN(PID_NONLINEAR, block_size=256, strides=[0:?], coalesced=true, "
            "reason=piecewise)"
        )


def test_a_triangular_walk_is_quadratic_in_the_counter() -> None:
    load = analyze(fixture_module("triangular_walk")).accesses[0]
    assert str(load.offset) == "512*it(%i)*it(%i) + 4*lane0 + 512*it(%i)"
    assert load.loop_strides[0].stride is None


def test_interleaved_rows_are_one_run() -> None:
    for access in analyze(fixture_module("interleave")).accesses:
        assert access.info() == ("PATTERN(PID_AFFINE, block_size=512, stride=2048, coalesced=true)")


def test_choices_by_an_argument_and_by_the_program() -> None:
    load, store = analyze(fixture_module("branch_result")).accesses
    assert load.reason is not None and load.reason.value == "piecewise"
    assert load.virtual is not None
    assert {name: str(stride) for name, stride in load.virtual.strides.items()} == {"%1": "4"}
    assert store.virtual is not None
    assert list(store.virtual.strides) == ["%1", "%3"]


def test_locations_point_into_the_source() -> None:
    accesses = analyze(corpus_module("vector_add")).accesses
    assert [access.loc for access in accesses] == [
        "kernels.py:12:9",
        "kernels.py:13:9",
        "kernels.py:14:5",
    ]


def test_the_same_kernel_gives_the_same_report() -> None:
    first = analyze(fixture_module("grouped_gemm"))
    second = analyze(fixture_module("grouped_gemm"))
    assert str(first) == str(second)
    assert [str(access.offset) for access in first.accesses] == [
        str(access.offset) for access in second.accesses
    ]

"""The reader of assembly: loops are found, and what a matrix loop must not have is reported."""

from __future__ import annotations

from functools import cache

import pytest

from tests.targets.hip.isa import (
    LDS_READ,
    Loop,
    findings,
    loops,
    matrix_loops,
    unordered_barriers,
    whole_chunks,
)
from tests.targets.hip.support import CHIPS, needs_clang
from tests.targets.hip.triton_assembler import compile_source, needs_triton_for_amd
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.targets.hip.clang import assembly, clang_for
from tilewright.targets.hip.header import KEYWORDS, definitions
from tilewright.targets.hip.notes import architecture, kernel_notes

MATMUL = """
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef float f4 __attribute__((ext_vector_type(4)));

static __attribute__((device)) inline void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(128, 128), amdgpu_waves_per_eu(2)))
void mm(f4* __restrict__ c, const h8* __restrict__ a, const h8* __restrict__ b, int n, int m) {
  __attribute__((shared)) static h8 A[128], B[128];
  const int t = __builtin_amdgcn_workitem_id_x();
  f4 sum = {0, 0, 0, 0};
  for (int k = 0; k < n; ++k) {
    A[t] = a[k * 128 + t];
    B[t] = LOAD_B;
    sync();
    const h8 x = A[(t * 5) % 128];
    const h8 y = READ_B;
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x.lo, y.lo, sum, 0, 0, 0);
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x.hi, y.hi, sum, 0, 0, 0);
    EXTRA
    sync();
  }
  c[t] = sum;
  for (int k = 0; k < m; ++k) c[k * 128 + t] *= 2.0f;
}
"""


@cache
def _isa(load: str = "b[k * 128 + t]", read: str = "B[(t * 3) % 128]", extra: str = "") -> str:
    text = MATMUL.replace("LOAD_B", load).replace("READ_B", read).replace("EXTRA", extra)
    return assembly(text, "gfx942")


@needs_clang
def test_loops_and_their_instructions() -> None:
    found = loops(_isa())
    assert len(found) >= 2
    (loop,) = matrix_loops(_isa())
    assert findings(loop) == []
    assert loop.depth == 1
    expected = {"v_mfma_f32_16x16x16_f16": 2, "global_load_dwordx4": 2, "ds_read_b128": 2}
    assert {name: loop.opcodes[name] for name in expected} == expected
    assert loop.full_waits == 1  # it is not pipelined
    others = [each for each in found if each.header != loop.header]
    assert any(each.opcodes["global_store_dwordx4"] for each in others)
    assert not any(each.has_matrix_instructions for each in others)


@needs_clang
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"load": "(h8){((const h4*)b)[k * 999 + t].x}"},
            "global loads that are not 128 bits wide: 1",
        ),
        ({"read": "(h8){((h4*)B)[t * 7 % 256].y}"}, "LDS reads that are not 128 bits wide: 1"),
        (
            {
                "extra": "float p[64]; for (int i = 0; i < 64; ++i) p[i] = sum[i % 4] * k; "
                "sum.x += p[m % 64];"
            },
            "scratch memory",
        ),
        (
            {
                "extra": "volatile float* q = m > 5 ? (volatile float*)A : (volatile float*)c; "
                "*q = sum.x;"
            },
            "accesses of unknown address space",
        ),
    ],
    ids=["narrow load", "narrow LDS read", "scratch", "flat"],
)
def test_a_planted_fault_is_found(change: dict[str, str], expected: str) -> None:
    found = [each for loop in matrix_loops(_isa(**change)) for each in findings(loop)]
    assert any(each.startswith(expected) for each in found), found


def test_agprs_and_calls_are_found() -> None:
    text = """\
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
\tv_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
\tv_accvgpr_read_b32 v4, a0              ; comment
; %bb.2:                                ;   in Loop: Header=BB0_1 Depth=1
\ts_swappc_b64 s[30:31], s[4:5]
\ts_cbranch_scc1 .LBB0_1
; %bb.3:
\tscratch_store_dword off, v0, off
"""
    (loop,) = matrix_loops(text)
    assert findings(loop) == ["copies between VGPRs and AGPRs: 1", "calls: 1"]
    assert loop.full_waits == 0


ROTATED = """
static __attribute__((device)) inline void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  WAIT
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(128, 128)))
void rotated(float* __restrict__ y, const float* __restrict__ x, int n) {
  __attribute__((shared)) static float tile[2][128];
  const int t = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  tile[0][t] = x[t];
  sync();
  for (int k = 1; k < n; ++k) {
    const float next = x[k * 128 + t];
    sync();
    sum += tile[(k - 1) % 2][127 - t];
    tile[k % 2][t] = next;
  }
  y[t] = sum;
}
"""


@needs_clang
def test_fences_do_not_wait_for_lds_at_the_barrier_of_a_loop() -> None:
    """Why the header waits explicitly: LLVM 19 removes the wait of the fence there."""
    fenced = assembly(ROTATED.replace("WAIT", ""), "gfx942")
    waiting = assembly(ROTATED.replace("WAIT", "__builtin_amdgcn_s_waitcnt(0xc07f);"), "gfx942")
    assert unordered_barriers(waiting) == []
    if clang_for("gfx942").major == 19:
        assert len(unordered_barriers(fenced)) == 1


@needs_clang
@pytest.mark.parametrize(
    ("chip", "name"),
    [
        *((chip, name) for chip in CHIPS for name in ("sync", "sync_local")),
        ("gfx942", "sync_local_keeping_copies"),
    ],
)
def test_barriers_of_the_header_wait_for_lds_alone(chip: str, name: str) -> None:
    header = definitions([name], {}, chip_named(chip))
    body = ROTATED[ROTATED.index("extern") :].replace("sync()", f"tw::{name}()")
    isa = assembly(f"{KEYWORDS}\n{header}\n{body}", chip)
    assert unordered_barriers(isa) == []
    (loop,) = (each for each in loops(isa) if each.count(LDS_READ))
    # What is loaded at the top of an iteration is waited for at its end, or at the barrier.
    barrier = next(n for n, each in enumerate(loop.instructions) if "s_barrier" in each)
    before = Loop("", 1, loop.instructions[:barrier])
    assert bool(before.full_waits) == (name == "sync")


def test_barriers_with_accesses_in_flight_are_found() -> None:
    text = """\
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
\tds_write_b32 v0, v1
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tds_read_b32 v0, v1
\ts_waitcnt lgkmcnt(1)
\ts_barrier
\ts_wait_dscnt 0x0
\ts_barrier_signal -1
\ts_barrier_wait -1
\ts_cbranch_scc1 .LBB0_3
; %bb.2:
\ts_barrier
\tds_write_b32 v0, v1
\ts_branch .LBB0_4
.LBB0_3:
\ts_barrier
.LBB0_4:
\ts_barrier
\ts_endpgm
"""
    # Line 19 is reached with the write of line 14 in flight.
    assert unordered_barriers(text) == ["7: s_barrier", "19: s_barrier"]


@needs_triton_for_amd
def test_gfx950_through_tritons_assembler() -> None:
    done = compile_source(
        MATMUL.replace("LOAD_B", "b[k * 128 + t]")
        .replace("READ_B", "B[t ^ 1]")
        .replace("EXTRA", "")
    )
    assert architecture(done.code_object) == "gfx950"
    assert kernel_notes(done.code_object)["mm"].lds_bytes == 4096
    (loop,) = matrix_loops(done.isa)
    assert findings(loop) == []


def test_the_way_of_whole_chunks() -> None:
    text = """\
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
\tv_mfma_f32_32x32x8_f16 v[8:23], v[0:1], v[2:3], v[8:23]
\ts_cbranch_scc0 .LBB0_3
; %bb.2:                                ;   in Loop: Header=BB0_1 Depth=1
\tglobal_load_ushort v4, v[4:5], off
\ts_waitcnt vmcnt(0)
\ts_branch .LBB0_4
.LBB0_3:                                ;   in Loop: Header=BB0_1 Depth=1
\tglobal_load_dwordx4 v[4:7], v[4:5], off
.LBB0_4:                                ;   in Loop: Header=BB0_1 Depth=1
\ts_waitcnt vmcnt(0)
\ts_cbranch_scc1 .LBB0_1
; %bb.5:
\ts_endpgm
"""
    (loop,) = matrix_loops(text)
    way = whole_chunks(text, loop)
    assert (loop.full_waits, way.full_waits) == (2, 1)
    assert "global_load_dwordx4 v[4:7], v[4:5], off" in way.instructions
    waiting = text.replace("\tglobal_load_dwordx4", "\ts_waitcnt vmcnt(0)\n\tglobal_load_dwordx4")
    assert whole_chunks(waiting, loop).full_waits == 2

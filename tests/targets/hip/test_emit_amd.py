"""Ops of AMD's machine as HIP text: matrix cores, buffer accesses, copies to LDS, hints."""

from __future__ import annotations

import pytest

from tests.targets.hip.emit_support import body_of, emitted, kernel
from tests.targets.hip.support import needs_clang
from tilewright.targets.hip.clang import assembly


def matrix_kernel(kind: str, shape: str, width: int, accumulators: int, type: str) -> str:
    result = "i32" if type == "i8" else "f32"
    return kernel(
        f"""
  %t = gpu.thread_id x
  %c1 = arith.constant 1 : index
  %a = tile.alloc "a" : memref<{2 * width}x{type}, #l>
  %b = tile.alloc "b" : memref<{width}x{type}, #l>
  %c = tile.alloc "c" : memref<{accumulators}x{result}, #l>
  %v = memref.load %x[%t] : memref<?x{type}, #g>
  memref.store %v, %a[%c1] : memref<{2 * width}x{type}, #l>
  memref.store %v, %b[%c1] : memref<{width}x{type}, #l>
  amd.{kind} %a[%c0], %b[%c0] -> %c[%c0] shape [{shape}]
      : memref<{2 * width}x{type}, #l>, memref<{width}x{type}, #l>
      -> memref<{accumulators}x{result}, #l>
  %w = memref.load %c[%c1] : memref<{accumulators}x{result}, #l>
  memref.store %w, %y[%t] : memref<?x{result}, #g>
""",
        f"%x: memref<?x{type}, #g>, %y: memref<?x{result}, #g>",
    )


@needs_clang
@pytest.mark.parametrize(
    ("chip", "text", "function", "instruction"),
    [
        (
            "gfx942",
            matrix_kernel("mfma", "32, 32, 8", 4, 16, "f16"),
            "mfma_f32_32x32x8_f16_f16",
            "v_mfma_f32_32x32x8_f16",
        ),
        (
            "gfx90a",
            matrix_kernel("mfma", "16, 16, 16", 4, 4, "bf16"),
            "mfma_f32_16x16x16_bf16_bf16",
            "v_mfma_f32_16x16x16bf16_1k",
        ),
        (
            "gfx1201",
            matrix_kernel("wmma", "16, 16, 16", 8, 8, "f8E4M3FN"),
            "wmma_f32_16x16x16_f8e4m3fn_f8e4m3fn",
            "v_wmma_f32_16x16x16_fp8_fp8",
        ),
    ],
)
def test_matrix_instructions(chip: str, text: str, function: str, instruction: str) -> None:
    source = emitted(text, chip)
    assert f"tw::{function}(c, a, b);" in source.text
    assert assembly(source.text, chip).count(instruction) == 1


@needs_clang
@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_buffer_accesses(chip: str) -> None:
    source = emitted(
        kernel(
            """
  %t = gpu.thread_id x
  %c8 = arith.constant 8 : index
  %i = arith.muli %t, %c8 : index
  %inside = arith.cmpi slt, %t, %m : index
  %a = tile.alloc "a" : memref<8xf16, #l>
  amd.buffer_load %x[%i] -> %a[%c0] lanes(8) elements %n if %inside
      : memref<?xf16, #g>, memref<8xf16, #l>
  amd.buffer_store %a[%c0] -> %y[%i] lanes(8) elements %n {nontemporal}
      : memref<8xf16, #l>, memref<?xf16, #g>
""",
            "%x: memref<?xf16, #g>, %y: memref<?xf16, #g>, %n: index, %m: index",
        ),
        chip,
    )
    for expected in (
        "tw::buffer_load<16>(a, tw::rsrc(x, unsigned(n) * 2u), "
        "t < m ? int(i * 2) : int(0x80000000u));",
        "tw::buffer_store<16, 2>(tw::rsrc(y, unsigned(n) * 2u), int(i * 2), a);",
    ):
        assert expected in source.text, body_of(source.text)
    isa = assembly(source.text, chip)
    width = "dwordx4" if chip == "gfx942" else "b128"
    assert isa.count(f"buffer_load_{width}") == isa.count(f"buffer_store_{width}") == 1
    assert "s_cbranch_execz" not in isa


@needs_clang
def test_copies_to_lds_write_arrays_of_their_own() -> None:
    """Then reads of other arrays do not wait for them; in one arena they do."""
    text = kernel(
        """
  %t = gpu.thread_id x
  %c256 = arith.constant 256 : index
  %next = arith.addi %t, %c256 : index
  %A = tile.alloc "A" offset 1024 {amd.own_array} : memref<256xf32, #s>
  %B = tile.alloc "B" offset 2048 {amd.own_array} : memref<256xf32, #s>
  %C = tile.alloc "C" offset 0 : memref<256xf32, #s>
  %v = memref.load %x[%next] : memref<?xf32, #g>
  memref.store %v, %C[%t] : memref<256xf32, #s>
  amd.load_lds %x[%t] -> %A[%c0] lanes(1) elements %n : memref<?xf32, #g>, memref<256xf32, #s>
  amd.wait loads(0)
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  amd.load_lds %x[%next] -> %B[%c0] lanes(1) : memref<?xf32, #g>, memref<256xf32, #s>
  %u = memref.load %A[%t] : memref<256xf32, #s>
  %w = memref.load %C[%t] : memref<256xf32, #s>
  %s = arith.addf %u, %w : f32
  memref.store %s, %y[%t] : memref<?xf32, #g>
  amd.wait loads(3)
""",
        "%x: memref<?xf32, #g>, %y: memref<?xf32, #g>, %n: index",
        "simt.threads = 64 : i64, simt.shared_bytes = 3072 : i64",
    )
    source = emitted(text)
    for expected in (
        "unsigned char smem[1024];",
        "__shared__ __attribute__((aligned(1024))) float A[256];",
        "__shared__ __attribute__((aligned(1024))) float B[256];",
        "float* const C = reinterpret_cast<float*>(smem);",
        "tw::load_lds<4>(A, tw::rsrc(x, unsigned(n) * 4u), int(t * 4));",
        "tw::wait_loads<3>();",
    ):
        assert expected in source.text, body_of(source.text)
    isa = assembly(source.text, "gfx942")
    assert ".group_segment_fixed_size: 3072" in isa
    assert isa.count("buffer_load_dword") == 2
    after = isa[isa.rindex("buffer_load_dword") :]
    reads = after[: after.rindex("ds_read")]
    assert "vmcnt(0)" not in reads, reads
    arena = emitted(text.replace(" {amd.own_array}", "")).text
    after = (isa := assembly(arena, "gfx942"))[isa.rindex("buffer_load_dword") :]
    assert "vmcnt(0)" in after[: after.rindex("ds_read")], "the reason for arrays of their own"


@needs_clang
def test_hints() -> None:
    source = emitted(
        kernel(
            """
  amd.setprio 1
  amd.sched_group mfma count(4)
  amd.sched_group lds_read count(2) {sync = 1 : i64}
  amd.sched_barrier 0
  amd.iglp 0
"""
        )
    )
    calls = [each.strip() for each in body_of(source.text).splitlines() if "tw::" in each]
    assert calls == [
        "tw::prio<1>();",
        "tw::sched_group<8, 4>();",
        "tw::sched_group<256, 2, 1>();",
        "tw::sched_barrier<0>();",
        "tw::iglp<0>();",
    ]
    assert "s_setprio 1" in assembly(source.text, "gfx942")

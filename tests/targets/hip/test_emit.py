"""Thread-level IR becomes HIP text that clang compiles."""

from __future__ import annotations

import re

import pytest

from tests.targets.hip.emit_support import body_of, emitted, kernel
from tests.targets.hip.every_rule import FLOATS, SMALL, every_rule
from tests.targets.hip.support import CHIPS, needs_clang
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.hip.clang import assembly
from tilewright.targets.hip.emit.kernel import Refresh

_STAGED = kernel(
    """
  %t = gpu.thread_id x
  %S = tile.alloc "S" offset 0 : memref<256xf16, #s>
  %v = memref.load %x[%t] : memref<?xf16, #g>
  memref.store %v, %S[%t] : memref<256xf16, #s>
  gpu.barrier
  %w = memref.load %S[%t] : memref<256xf16, #s>
  memref.store %w, %x[%t] : memref<?xf16, #g>
""",
    "%x: memref<?xf16, #g> {simt.restrict}",
    "simt.threads = 256 : i64, simt.shared_bytes = 512 : i64",
)


def check_rules(chip: str, *floats: str) -> None:
    isa = assembly(emitted(every_rule(floats), chip).text, chip, ("-O1",))
    assert "s_swappc" not in isa
    assert ".vgpr_spill_count: 0" in isa


@needs_clang
def test_rules_of_arithmetic_compile() -> None:
    """Small floats are converted where the machine computes; these are most of the rules."""
    check_rules("gfx1201", "bf16", "f8E5M2")


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
def test_every_rule_of_arithmetic_compiles(chip: str) -> None:
    check_rules(chip, *FLOATS, *SMALL)


@needs_clang
def test_a_kernel_is_written_for_its_launch() -> None:
    source = emitted(_STAGED)
    assert (source.name, source.threads, source.shared_bytes) == ("k", 256, 512)
    for expected in (
        'extern "C" __global__ __attribute__((\n'
        "    amdgpu_flat_work_group_size(256, 256), amdgpu_waves_per_eu(2)))\n"
        "void k(_Float16* __restrict__ x) {",
        "__shared__ __attribute__((aligned(1024))) unsigned char smem[512];",
        "_Float16* const S = reinterpret_cast<_Float16*>(smem);",
        "const int t = tw::thread_x();",
        "tw::sync();",
    ):
        assert expected in source.text, source.text
    assert "#include" not in source.text
    isa = assembly(source.text, "gfx942")
    assert ".group_segment_fixed_size: 512" in isa
    assert ".max_flat_workgroup_size: 256" in isa
    assert not re.search(r"flat_(load|store)", isa)


def test_waves_per_simd() -> None:
    """Two where half of the registers only hold accumulators; more for many threads or blocks."""
    assert "amdgpu_waves_per_eu(1)" in emitted(_STAGED, waves=1).text
    assert "amdgpu_waves_per_eu(2)" in emitted(_STAGED, "gfx1100").text  # 8 waves on 4 SIMDs
    many = _STAGED.replace("simt.threads = 256", "simt.threads = 1024")
    assert "amdgpu_waves_per_eu(4)" in emitted(many).text
    blocks = _STAGED.replace("simt.kernel", "simt.kernel, simt.min_blocks = 3 : i64")
    assert "amdgpu_waves_per_eu(3)" in emitted(blocks).text


_TWO_LOOPS = kernel(
    """
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %tid = gpu.thread_id x
  %n = gpu.block_id x
  scf.for %k = %c0 to %n step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c4 step %c1 {
        %v = memref.load %x[%tid] : memref<?xf32, #g>
        memref.store %v, %y[%tid] : memref<?xf32, #g>
      } {tile.unroll}
    } {tile.unroll}
    gpu.barrier
  }
""",
    "%x: memref<?xf32, #g>, %y: memref<?xf32, #g>",
    "simt.threads = 256 : i64",
)


@needs_clang
def test_thread_indices_are_refreshed() -> None:
    """After barriers, or before loops that are unrolled: there, and nowhere else."""
    plain = body_of(emitted(_TWO_LOOPS).text)
    assert "const int tid = tw::thread_x();" in plain
    assert "refresh" not in plain
    barriers = emitted(_TWO_LOOPS, refresh=Refresh.BARRIERS).text
    assert "  int tid = tw::thread_x();" in barriers
    assert body_of(barriers).count("refresh") == 1
    assert "    tw::sync();\n    tw::refresh<256>(tid);\n  }" in barriers
    loops = emitted(_TWO_LOOPS, refresh=Refresh.LOOPS).text
    assert body_of(loops).count("refresh") == 1
    assert "    tw::refresh<256>(tid);\n    // kernel.mlir:13\n    #pragma unroll\n" in loops
    for text in (barriers, loops):
        assert ".vgpr_spill_count: 0" in assembly(text, "gfx942")


_CHOICES = kernel(
    """
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %c = tile.alloc "c" : memref<16xTYPE, #l>
  scf.for %i = %c0 to %c16 step %c1 {
    %p = arith.muli %t, %i : index
    %v = memref.load %x[%p] : memref<?xTYPE, #g>
    memref.store %v, %c[%i] : memref<16xTYPE, #l>
  } {tile.unroll}
  scf.for %j = %c0 to %c16 step %c1 {
    %q = arith.addi %t, %j : index
    %inside = arith.cmpi slt, %q, %n : index
    %w = scf.if %inside -> (TYPE) {
      %a = memref.load %c[%j] : memref<16xTYPE, #l>
      scf.yield %a : TYPE
    } else {
      %b = memref.load %x[%q] : memref<?xTYPE, #g>
      scf.yield %b : TYPE
    }
    memref.store %w, %y[%q] : memref<?xTYPE, #g>
  } {tile.unroll}
  %d = memref.load %c[%c1] : memref<16xTYPE, #l>
  %e = memref.load %x[%n] : memref<?xTYPE, #g>
  %odd = arith.cmpi eq, %t, %n : index
  %f = arith.select %odd, %d, %e : TYPE
  memref.store %f, %y[%t] : memref<?xTYPE, #g>
""",
    "%x: memref<?xTYPE, #g>, %y: memref<?xTYPE, #g>, %n: index",
)


@needs_clang
@pytest.mark.parametrize("type", ["f32", "f16", "i8", "f8E4M3FN", "i64"])
def test_chosen_loads_stay_apart(type: str) -> None:
    """One load of either memory would put the registers into scratch memory."""
    text = emitted(_CHOICES.replace("TYPE", type)).text
    assert "w = tw::pinned(c[j]);" in text
    assert "odd ? tw::pinned(c[1]) : x[n]" in text.replace("t == n", "odd")
    isa = assembly(text, "gfx942")
    assert ".private_segment_fixed_size: 0" in isa
    assert not re.search(r"flat_(load|store)", isa)


@needs_clang
def test_the_reason_to_keep_loads_apart() -> None:
    """Accumulators of a matrix instruction and a bias: scratch memory without the pin."""
    bias = kernel(
        """
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %t = gpu.thread_id x
  %a = tile.alloc "a" : memref<4xf32, #l>
  %c = tile.alloc "c" : memref<16xf32, #l>
  simt.move %x[%t] -> %a[%c0] lanes(4) : memref<?xf32, #g>, memref<4xf32, #l>
  amd.mfma %a[%c0], %a[%c1] -> %c[%c0] shape [32, 32, 2]
      : memref<4xf32, #l>, memref<4xf32, #l> -> memref<16xf32, #l>
  scf.for %j = %c0 to %c16 step %c4 {
    %z = tile.alloc "z" : memref<4xf32, #l>
    scf.for %k = %c0 to %c4 step %c1 {
      %e = arith.addi %j, %k : index
      %q = arith.addi %t, %e : index
      %inside = arith.cmpi slt, %q, %n : index
      %w = scf.if %inside -> (f32) {
        %u = memref.load %c[%e] : memref<16xf32, #l>
        scf.yield %u : f32
      } else {
        %b = memref.load %x[%q] : memref<?xf32, #g>
        scf.yield %b : f32
      }
      %s = memref.load %c[%e] : memref<16xf32, #l>
      %m = arith.addf %s, %w : f32
      memref.store %m, %z[%k] : memref<4xf32, #l>
    } {tile.unroll}
    simt.move %z[%c0] -> %y[%j] lanes(4) : memref<4xf32, #l>, memref<?xf32, #g>
  } {tile.unroll}
""",
        "%x: memref<?xf32, #g>, %y: memref<?xf32, #g>, %n: index",
    )
    text = emitted(bias).text
    apart, merged = (assembly(each, "gfx942") for each in (text, text.replace("tw::pinned", "")))
    assert ".private_segment_fixed_size: 0" in apart
    assert ".private_segment_fixed_size: 0" not in merged


def test_barriers() -> None:
    text = emitted(
        kernel(
            """
  gpu.barrier
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  tile.sync
  tile.sync warp
"""
        )
    ).text
    calls = re.findall(r"^  (tw::\w+\(\);)$", body_of(text), re.M)
    assert calls == ["tw::sync();", "tw::sync_local();", "tw::sync();", "tw::wave_sync();"]


@pytest.mark.parametrize("scope", ["grid", "cluster"])
def test_barriers_of_many_blocks_are_refused(scope: str) -> None:
    with pytest.raises(CompileError, match=f"no barrier of a {scope}"):
        emitted(kernel(f"  tile.sync {scope}"))


@needs_clang
@pytest.mark.parametrize(
    ("chip", "ballot", "type"), [("gfx942", "i64", "long long"), ("gfx1201", "i32", "int")]
)
def test_exchange(chip: str, ballot: str, type: str) -> None:
    """A xor of a known number of lanes is a move between registers."""
    source = emitted(
        kernel(
            f"""
  %t = gpu.thread_id x
  %lane = gpu.lane_id
  %wave = gpu.subgroup_id : index
  %c4 = arith.constant 4 : i32
  %c16 = arith.constant 16 : i32
  %v = memref.load %x[%t] : memref<?xf32, #g>
  %a = tile.shuffle xor %v, %c4 : f32
  %b = tile.shuffle xor %a, %n width 8 : f32
  %c = tile.shuffle down %b, %c4 width 16 : f32
  %h = arith.truncf %c : f32 to f16
  %d = tile.shuffle idx %h, %n : f16
  %e = tile.shuffle xor %d, %c16 width 16 : f16
  %s = tile.warp_reduce sum %e : f16
  %p = arith.cmpi slt, %lane, %wave : index
  %q = tile.vote any %p : i1
  %m = tile.vote ballot %q : {ballot}
  memref.store %m, %y[%t] : memref<?x{ballot}, #g>
  %w = arith.extf %s : f16 to f32
  memref.store %w, %x[%t] : memref<?xf32, #g>
""",
            f"%x: memref<?xf32, #g>, %y: memref<?x{ballot}, #g>, %n: i32",
        ),
        chip,
    )
    wave = 64 if chip == "gfx942" else 32
    for expected in (
        "const float a = tw::shuffle_xor_by<4>(x[t]);",
        "const float b = tw::shuffle_xor(a, n, 8);",
        "const float c = tw::shuffle_down(b, 4, 16);",
        f"const _Float16 d = tw::shuffle_from(_Float16(c), n, {wave});",
        # Lanes that are not in the group: the function decides.
        "const _Float16 e = tw::shuffle_xor(d, 16, 16);",
        "const _Float16 s = tw::warp_sum(e);",
        "tw::vote_any(tw::lane() < tw::wave())",
    ):
        assert expected in source.text, source.text
    cast = f"({type})" if " " in type else type
    assert f"const {type} m = {cast}(tw::ballot(q));" in source.text
    assembly(source.text, chip)


@needs_clang
def test_atomics() -> None:
    source = emitted(
        kernel(
            """
  %v = arith.constant 1 : i32
  %f = arith.constant 1.5 : f16
  tile.atomic add %x[%i], %v : memref<?xi32, #g>, i32
  %a = tile.atomic umax %x[%i], %v order acq_rel : memref<?xi32, #g>, i32 -> i32
  tile.atomic max %h[%i], %f : memref<?xf16, #g>, f16
  %b = tile.atomic load %x[%i] order acquire : memref<?xi32, #g> -> i32
  %c = arith.addi %a, %b : i32
  tile.atomic store %x[%i], %c order release : memref<?xi32, #g>, i32
  %d = tile.atomic cas %h[%i], %f compare %f order acquire scope cta : memref<?xf16, #g>, f16 -> f16
  %e = tile.atomic cas %x[%i], %b compare %v order release scope sys : memref<?xi32, #g>, i32 -> i32
""",
            "%x: memref<?xi32, #g>, %h: memref<?xf16, #g>, %i: index",
        )
    )
    statements = [
        each.strip() for each in body_of(source.text).splitlines() if not each.startswith("  //")
    ]
    assert statements[3:-1] == [
        "tw::atomic_add<int>(x + i, 1);",
        "tw::fence();",
        "const int a = int(tw::atomic_max(reinterpret_cast<unsigned*>(x + i), (unsigned)(1)));",
        "tw::fence();",
        "tw::atomic_max<_Float16>(h + i, _Float16(1.5f));",
        "const int b = tw::atomic_load(x + i);",
        "tw::fence();",
        "tw::fence();",
        "tw::atomic_store<int>(x + i, int(unsigned(a) + unsigned(b)));",
        "const _Float16 d = tw::atomic_cas<_Float16>(h + i, _Float16(1.5f), _Float16(1.5f));",
        "tw::fence_block();",
        "tw::fence_system();",
        "const int e = tw::atomic_cas_system<int>(x + i, 1, b);",
    ]
    assert "global_atomic_add" in assembly(source.text, "gfx942")


@needs_clang
def test_infinities_nan_and_small_floats() -> None:
    source = emitted(
        kernel(
            """
  %a = arith.constant 0x7f800000 : f32
  memref.store %a, %x[%i] : memref<?xf32, #g>
  %b = arith.constant 0xff800000 : f32
  memref.store %b, %x[%i] : memref<?xf32, #g>
  %c = arith.constant 0x7fc00000 : f32
  memref.store %c, %x[%i] : memref<?xf32, #g>
  %d = arith.constant 0xff80 : bf16
  memref.store %d, %y[%i] : memref<?xbf16, #g>
  %e = memref.load %y[%i] : memref<?xbf16, #g>
  %f = arith.addf %e, %d : bf16
  memref.store %f, %y[%i] : memref<?xbf16, #g>
""",
            "%x: memref<?xf32, #g>, %y: memref<?xbf16, #g>, %i: index",
        )
    )
    for expected in (
        "x[i] = __builtin_inff();",
        "x[i] = -__builtin_inff();",
        "x[i] = __builtin_bit_cast(float, 0x7fc00000u);",
        "y[i] = __bf16(-__builtin_inff());",
        "y[i] = __bf16(float(y[i]) + float(__bf16(-__builtin_inff())));",
    ):
        assert expected in source.text, source.text
    assembly(source.text, "gfx942")


def test_what_no_device_can_do_is_refused() -> None:
    with pytest.raises(CompileError, match=r"T\.print is not supported on AMD GPUs"):
        emitted(kernel('  tile.print "x"'))
    with pytest.raises(CompileError, match=r"TW9050.*'nv.elect' cannot be emitted as HIP"):
        emitted(kernel("  %e = nv.elect"))

// RUN: tilewright-opt -split-input-file -verify-diagnostics %s --tlx-verify-storage-alias="report=true"

// A lowered module against what its records promise. Each module is what lowering makes of
// distinct(a, b), or shared(a, b), with one number changed.

// W7 negative: as lowering leaves it.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!m = !ttg.memdesc<65536xi8, #flat, #smem, mutable>
!b = !ttg.memdesc<4x64x64xf32, #shared, #smem, mutable>
// expected-remark @+1 {{placement verified: 2 buffers in 1 allocation}}
module {
  tt.func @sound(%i: i32) {
    %m = ttg.local_alloc : () -> !m
    %a = tlx.local_alias %m {tlx.placement = {buffer = "a", count = 2 : i64, offset = 0 : i64, paths = ["distinct[0]"], radices = array<i64>, strides = array<i64: 32768>, window = 32768 : i64}} : !m -> !ttg.memdesc<3x64x64xf32, #shared, #smem, mutable>
    %b = tlx.local_alias %m {tlx.placement = {buffer = "b", count = 2 : i64, offset = 16384 : i64, paths = ["distinct[1]"], radices = array<i64>, strides = array<i64: 32768>, window = 32768 : i64}} : !m -> !b
    %c2 = arith.constant 2 : i32
    %0 = arith.muli %i, %c2 : i32
    %c1 = arith.constant 1 : i32
    %1 = arith.addi %0, %c1 : i32
    %x = ttg.memdesc_index %b[%1] : !b -> !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    tt.return
  }
}

// -----

// W7 positive: an index that forgets its offset, and one that was worked over by other passes.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!m = !ttg.memdesc<65536xi8, #flat, #smem, mutable>
!b = !ttg.memdesc<4x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  tt.func @wrong_index(%i: i32, %folded: i32) {
    %m = ttg.local_alloc : () -> !m
    %a = tlx.local_alias %m {tlx.placement = {buffer = "a", count = 2 : i64, offset = 0 : i64, paths = ["distinct[0]"], radices = array<i64>, strides = array<i64: 32768>, window = 32768 : i64}} : !m -> !ttg.memdesc<3x64x64xf32, #shared, #smem, mutable>
    // expected-note @+1 {{the other buffer is here}}
    %b = tlx.local_alias %m {tlx.placement = {buffer = "b", count = 2 : i64, offset = 16384 : i64, paths = ["distinct[1]"], radices = array<i64>, strides = array<i64: 32768>, window = 32768 : i64}} : !m -> !b
    %c2 = arith.constant 2 : i32
    %0 = arith.muli %i, %c2 : i32
    %c0 = arith.constant 0 : i32
    %1 = arith.addi %0, %c0 : i32
    // expected-error @+1 {{index of 'b' is not 2*i + 1, as its placement requires}}
    %x = ttg.memdesc_index %b[%1] : !b -> !one
    // expected-warning @+1 {{index arithmetic was changed since lowering; not analysed}}
    %y = ttg.memdesc_index %b[%folded] : !b -> !one
    tt.return
  }
}

// -----

// Distinct buffers that touch.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!m = !ttg.memdesc<65536xi8, #flat, #smem, mutable>
module {
  tt.func @overlap() {
    %m = ttg.local_alloc : () -> !m
    // expected-error @+1 {{distinct buffers overlap: 'a'[0] (bytes 0..16384) and 'b'[0] (bytes 0..16384) both have bytes 0..16384}}
    %a = tlx.local_alias %m {tlx.placement = {buffer = "a", count = 1 : i64, offset = 0 : i64, paths = ["distinct[0]"], radices = array<i64>, strides = array<i64: 32768>, window = 32768 : i64}} : !m -> !ttg.memdesc<1x64x64xf32, #shared, #smem, mutable>
    // expected-note @+1 {{the other buffer is here}}
    %b = tlx.local_alias %m {tlx.placement = {buffer = "b", count = 1 : i64, offset = 0 : i64, paths = ["distinct[1]"], radices = array<i64>, strides = array<i64: 32768>, window = 32768 : i64}} : !m -> !ttg.memdesc<1x64x64xf32, #shared, #smem, mutable>
    tt.return
  }
}

// -----

// A view by address that leaves its window, its allocation and its alignment.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!m = !ttg.memdesc<16384xi8, #flat, #smem, mutable>
module {
  tt.func @address() {
    %m = ttg.local_alloc {alignment = 1024 : i32} : () -> !m
    // expected-error @+3 {{outside the window of its logical index: 'a'[0] (bytes 128..8320) is not inside logical index 0, 0..8192}}
    // expected-error @+2 {{misaligned: 'a'[0] (bytes 128..8320) has to start at a multiple of 1024}}
    // expected-error @+1 {{outside the backing storage: 'a'[1] (bytes 8320..16512) is not inside 'shared memory', 0..16384}}
    %a = tlx.placed_alias %m offset = 128, radices = [], strides = [8192] {tlx.placement = {buffer = "a", count = 2 : i64, paths = ["shared[0]"], window = 8192 : i64}} : !m -> !ttg.memdesc<2x64x64xf16, #tile, #smem, mutable>
    // expected-error @-1 {{outside the window of its logical index: 'a'[1] (bytes 8320..16512) is not inside logical index 1, 8192..16384}}
    // expected-error @-2 {{misaligned: 'a'[1] (bytes 8320..16512) has to start at a multiple of 1024}}
    tt.return
  }
}

// -----

// A record that cannot be read.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!m = !ttg.memdesc<16384xi8, #flat, #smem, mutable>
module {
  tt.func @unreadable() {
    %m = ttg.local_alloc : () -> !m
    // expected-error @+1 {{'tlx.placement' has no 'offset'}}
    %a = tlx.local_alias %m {tlx.placement = {buffer = "a"}} : !m -> !m
    tt.return
  }
}

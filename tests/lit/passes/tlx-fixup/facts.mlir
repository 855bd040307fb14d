// RUN: tilewright-opt -split-input-file -triton-tlx-fixup="num-warps=8 target=cuda:90 threads-per-warp=32 num-ctas=1" %s | filecheck %s

// The options are noted on a module that uses TLX.

// CHECK: module attributes {{{.*}}"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32{{.*}}} {
// CHECK-LABEL: tt.func @uses_tlx
module {
  tt.func @uses_tlx() {
    %spec = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
    tt.return
  }
}

// -----

// Plain Triton is left alone.

// CHECK: module {
// CHECK-LABEL: tt.func @plain
module {
  tt.func @plain() {
    tt.return
  }
}

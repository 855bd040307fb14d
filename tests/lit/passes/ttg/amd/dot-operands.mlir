// RUN: tilewright-opt -split-input-file -swizzle-dot-operands %s | filecheck %s

// Rows along K: groups of the elements that a lane holds are permuted. B is written along N, and
// stays in rows along N.

#rows = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// CHECK: #[[K:.*]] = #ttg.swizzled_shared<{vec = 4, perPhase = 2, maxPhase = 8, order = [1, 0]}>
// CHECK-LABEL: tt.func @gemm
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func @gemm(%a: !ttg.memdesc<2x64x32xf16, #rows, #smem, mutable>, %b: !ttg.memdesc<32x64xf16, #rows, #smem, mutable>, %c: tensor<64x64xf32>, %i: i32) -> tensor<64x64xf32> {
    %v = ttg.memdesc_index %a[%i] : !ttg.memdesc<2x64x32xf16, #rows, #smem, mutable> -> !ttg.memdesc<64x32xf16, #rows, #smem, mutable>
    // CHECK: tlx.require_layout %{{.*}} : !ttg.memdesc<64x32xf16, #{{.*}}, #smem, mutable> -> !ttg.memdesc<64x32xf16, #[[K]], #smem, mutable>
    %x = ttg.local_load %v : !ttg.memdesc<64x32xf16, #rows, #smem, mutable> -> tensor<64x32xf16>
    %y = ttg.local_load %b : !ttg.memdesc<32x64xf16, #rows, #smem, mutable> -> tensor<32x64xf16>
    %d = tt.dot %x, %y, %c : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    tt.return %d : tensor<64x64xf32>
  }
}

// -----

// B is filled from memory in which K is consecutive: its rows run along K too.

#rows = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// CHECK: #[[K:.*]] = #ttg.swizzled_shared<{vec = 8, perPhase = 4, maxPhase = 4, order = [0, 1]}>
// CHECK-LABEL: tt.func @turned
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx950"} {
  tt.func @turned(%p: !tt.ptr<f16>, %s: i32, %a: tensor<64x32xf16>, %b: !ttg.memdesc<32x64xf16, #rows, #smem, mutable>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %k = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %n = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %i = tt.expand_dims %k {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %j = tt.expand_dims %n {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %w = tt.splat %s : i32 -> tensor<1x64xi32>
    %js = arith.muli %j, %w : tensor<1x64xi32>
    %ib = tt.broadcast %i : tensor<32x1xi32> -> tensor<32x64xi32>
    %jb = tt.broadcast %js : tensor<1x64xi32> -> tensor<32x64xi32>
    %o = arith.addi %ib, %jb : tensor<32x64xi32>
    %t = amdg.buffer_load_to_local %p[%o] into %b : <f16>[tensor<32x64xi32>] -> <32x64xf16, #rows, #smem, mutable>
    // CHECK: tlx.require_layout %arg3 : {{.*}} -> !ttg.memdesc<32x64xf16, #[[K]], #smem, mutable>
    %y = ttg.local_load %b : !ttg.memdesc<32x64xf16, #rows, #smem, mutable> -> tensor<32x64xf16>
    %d = tt.dot %a, %y, %c : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    tt.return %d : tensor<64x64xf32>
  }
}

// -----

// The kernel chose the layout.

#rows = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#mine = #tlx.user_layout<#rows>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @chosen
// CHECK-NOT: require_layout
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"} {
  tt.func @chosen(%a: !ttg.memdesc<64x32xf16, #mine, #smem, mutable>, %y: tensor<32x64xf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %x = ttg.local_load %a : !ttg.memdesc<64x32xf16, #mine, #smem, mutable> -> tensor<64x32xf16>
    %d = tt.dot %x, %y, %c : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    tt.return %d : tensor<64x64xf32>
  }
}

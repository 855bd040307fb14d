// RUN: tilewright-opt -split-input-file -allow-unregistered-dialect -tlx-propagate-layout %s | filecheck %s

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1], instrShape = [16, 16, 16], isTransposed = false}>
#dot = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  // What no load can satisfy is converted, and the same layout is no requirement.
  // CHECK-LABEL: @residual
  tt.func @residual(%x: tensor<64x64xf16, #rows>) -> (tensor<64x64xf16, #columns>, tensor<64x64xf16, #rows>) {
    // CHECK: %[[C:.*]] = ttg.convert_layout %{{.*}} : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #blocked1>
    // CHECK-NEXT: tt.return %[[C]], %arg0
    %0 = tlx.require_layout %x : tensor<64x64xf16, #rows> -> tensor<64x64xf16, #columns>
    %1 = tlx.release_layout %x : tensor<64x64xf16, #rows> -> tensor<64x64xf16, #rows>
    tt.return %0, %1 : tensor<64x64xf16, #columns>, tensor<64x64xf16, #rows>
  }

  // Tensors without layouts wait for the pass that gives them some.
  // CHECK-LABEL: @undecided
  tt.func @undecided(%x: tensor<64x64xf16>) -> tensor<64x64xf16, #rows> {
    // CHECK: tlx.require_layout
    %0 = tlx.require_layout %x : tensor<64x64xf16> -> tensor<64x64xf16, #rows>
    tt.return %0 : tensor<64x64xf16, #rows>
  }

  // Loads on all ways to a requirement load in its layout.
  // CHECK-LABEL: @loop
  tt.func @loop(%b: !ttg.memdesc<64x64xf16, #plain, #smem, mutable>, %n: i32) -> tensor<64x64xf16, #dot> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: ttg.local_load {{.*}} -> tensor<64x64xf16, #ttg.dot_op<
    %x = ttg.local_load %b : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> tensor<64x64xf16, #rows>
    // CHECK: %[[R:.*]] = scf.for {{.*}} -> (tensor<64x64xf16, #ttg.dot_op<
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<64x64xf16, #rows>) : i32 {
      // CHECK: ttg.local_load {{.*}} -> tensor<64x64xf16, #ttg.dot_op<
      %y = ttg.local_load %b : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> tensor<64x64xf16, #rows>
      scf.yield %y : tensor<64x64xf16, #rows>
    }
    // CHECK: tt.return %[[R]]
    %d = tlx.require_layout %r : tensor<64x64xf16, #rows> -> tensor<64x64xf16, #dot>
    tt.return %d : tensor<64x64xf16, #dot>
  }

  // Another user needs the layout that the load has.
  // CHECK-LABEL: @shared_value
  tt.func @shared_value(%b: !ttg.memdesc<64x64xf16, #plain, #smem, mutable>) -> (tensor<64x64xf16, #dot>, tensor<64x64xf16, #rows>) {
    // CHECK: ttg.local_load {{.*}} -> tensor<64x64xf16, #blocked>
    // CHECK: ttg.convert_layout
    %x = ttg.local_load %b : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> tensor<64x64xf16, #rows>
    %d = tlx.require_layout %x : tensor<64x64xf16, #rows> -> tensor<64x64xf16, #dot>
    %y = arith.addf %x, %x : tensor<64x64xf16, #rows>
    tt.return %d, %y : tensor<64x64xf16, #dot>, tensor<64x64xf16, #rows>
  }

  // A buffer that is written once and read back is no detour for an operand, if nobody stores to it.
  // CHECK-LABEL: @detours
  tt.func @detours(%x: tensor<64x64xf16, #rows>) -> (tensor<64x64xf16, #dot>, tensor<64x64xf16, #dot>) {
    // CHECK: ttg.convert_layout
    // CHECK: ttg.local_alloc
    // CHECK: ttg.local_store
    // CHECK: ttg.local_load
    %b = ttg.local_alloc %x : (tensor<64x64xf16, #rows>) -> !ttg.memdesc<64x64xf16, #plain, #smem>
    %d = ttg.local_load %b : !ttg.memdesc<64x64xf16, #plain, #smem> -> tensor<64x64xf16, #dot>
    %c = ttg.local_alloc %x : (tensor<64x64xf16, #rows>) -> !ttg.memdesc<64x64xf16, #plain, #smem, mutable>
    ttg.local_store %x, %c : tensor<64x64xf16, #rows> -> !ttg.memdesc<64x64xf16, #plain, #smem, mutable>
    %e = ttg.local_load %c : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> tensor<64x64xf16, #dot>
    tt.return %d, %e : tensor<64x64xf16, #dot>, tensor<64x64xf16, #dot>
  }
}

// -----

// Tasks that disagree keep their requirements; one that disagrees with itself is reported (propagate-errors.mlir).
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#narrow = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @tasks
  tt.func @tasks() {
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #plain, #smem, mutable>
    ttg.warp_specialize(%b)
    default {
      ttg.warp_yield
    }
    // CHECK: partition0(%{{.*}}: !ttg.memdesc<64x64xf16, #shared{{1?}}, #smem, mutable>)
    // CHECK: tlx.require_layout
    partition0(%x: !ttg.memdesc<64x64xf16, #plain, #smem, mutable>) num_warps(1) {
      %0 = tlx.require_layout %x : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
      "test.use"(%0) : (!ttg.memdesc<64x64xf16, #wide, #smem, mutable>) -> ()
      ttg.warp_return
    }
    // CHECK: tlx.require_layout
    partition1(%x: !ttg.memdesc<64x64xf16, #plain, #smem, mutable>) num_warps(1) {
      %0 = tlx.require_layout %x : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>
      "test.use"(%0) : (!ttg.memdesc<64x64xf16, #narrow, #smem, mutable>) -> ()
      ttg.warp_return
    } : (!ttg.memdesc<64x64xf16, #plain, #smem, mutable>) -> ()
    tt.return
  }
}

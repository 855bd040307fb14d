// RUN: tilewright-opt --tlx-print-ttgir-to-tlx %s | filecheck %s

#blocked = #ttg.blocked<{sizePerThread = [1, 128], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tiles = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {

// Loops assign what they carry, all at once; branches assign their results.
// CHECK: @triton.jit
// CHECK-NEXT: def control(arg0, arg1):
// CHECK-NEXT: arg2, arg3 = arg0, 0
// CHECK-NEXT: for arg4 in range(0, arg1, 2):
// CHECK-NEXT: [[T:var_[0-9]+]] = arg4 < arg2
// CHECK-NEXT: if [[T]]:
// CHECK-NEXT: [[S:var_[0-9]+]] = arg3 + arg4
// CHECK-NEXT: [[R:var_[0-9]+]] = [[S]]
// CHECK-NEXT: else:
// CHECK-NEXT: [[R]] = arg3
// CHECK-NEXT: arg2, arg3 = arg3, [[R]]
// CHECK-NEXT: return arg2
tt.func @control(%start: i32, %end: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %r:2 = scf.for %i = %c0 to %end step %c2 iter_args(%p = %start, %q = %c0) -> (i32, i32) : i32 {
    %less = arith.cmpi slt, %i, %p : i32
    %n = scf.if %less -> (i32) {
      %sum = arith.addi %q, %i : i32
      scf.yield %sum : i32
    } else {
      scf.yield %q : i32
    }
    scf.yield %q, %n : i32, i32
  }
  tt.return %r#0 : i32
}

// Partitions use what they capture by the names outside; columns of tensor memory are sliced in the
// last dimension of several buffers; layouts have no text.
// CHECK: def tasks(arg0):
// CHECK-NEXT: [[BAR:var_[0-9]+]] = tlx.alloc_barriers(2)
// CHECK-NEXT: [[A:var_[0-9]+]] = tlx.local_alloc((128, 64), tl.float16, 3)
// CHECK-NEXT: [[D:var_[0-9]+]] = tlx.local_alloc((128, 128), tl.float32, 2, tlx.storage_kind.tmem)
// CHECK-NEXT: with tlx.async_tasks():
// CHECK-NEXT: with tlx.async_task("default"):
// CHECK-NEXT: [[V:var_[0-9]+]] = tlx.local_view([[BAR]], arg0)
// CHECK-NEXT: tlx.barrier_wait([[V]], 1)
// CHECK-NEXT: tlx.subslice([[D]], 64, 64)
// CHECK: with tlx.async_task(num_warps=4, registers=24):
// CHECK-NEXT: [[W:var_[0-9]+]] = tlx.local_view([[BAR]], arg0)
// CHECK-NEXT: tlx.barrier_expect_bytes([[W]], 16384)
// CHECK-NEXT: tlx.barrier_arrive([[W]], 1)
tt.func @tasks(%i: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bars = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
  %first = ttg.memdesc_index %bars[%c0] : !ttg.memdesc<2x1xi64, #bars, #smem, mutable> -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
  ttng.init_barrier %first, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
  %a = ttg.local_alloc : () -> !ttg.memdesc<3x128x64xf16, #tiles, #smem, mutable>
  %d = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
  ttg.warp_specialize(%bars, %i) attributes {requestedRegisters = array<i32: 24>}
  default {
    %b = ttg.memdesc_index %bars[%i] : !ttg.memdesc<2x1xi64, #bars, #smem, mutable> -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.wait_barrier %b, %c1, %true : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    %s = ttng.tmem_subslice %d {N = 64 : i32} : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<2x128x64xf32, #tmem, #ttng.tensor_memory, mutable, 2x128x128>
    ttg.warp_yield
  }
  partition0(%mine: !ttg.memdesc<2x1xi64, #bars, #smem, mutable>, %j: i32) num_warps(4) {
    %t = arith.constant true
    %b = ttg.memdesc_index %mine[%j] : !ttg.memdesc<2x1xi64, #bars, #smem, mutable> -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.barrier_expect %b, 16384, %t : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttg.warp_return
  } : (!ttg.memdesc<2x1xi64, #bars, #smem, mutable>, i32) -> ()
  tt.return
}

// The view of the first barrier was only initialised.
// CHECK: def tensors(arg0):
// CHECK-NEXT: [[X:var_[0-9]+]] = arg0 * tl.full([128, 128], 2.0, tl.float32)
// CHECK-NEXT: [[Y:var_[0-9]+]] = tl.max([[X]], axis=1)
// CHECK-NEXT: tl.expand_dims([[Y]], axis=1)
// CHECK-NEXT: [[X]].to(tl.float16)
tt.func @tensors(%x: tensor<128x128xf32, #blocked>) {
  %two = arith.constant dense<2.0> : tensor<128x128xf32, #blocked>
  %y = arith.mulf %x, %two : tensor<128x128xf32, #blocked>
  %m = "tt.reduce"(%y) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<128x128xf32, #blocked>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %e = tt.expand_dims %m {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xf32, #blocked>
  %h = arith.truncf %y : tensor<128x128xf32, #blocked> to tensor<128x128xf16, #blocked>
  tt.return
}
}

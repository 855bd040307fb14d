// RUN: tilewright-opt -split-input-file -convert-triton-to-tritongpu="num-warps=4 target=cuda:90" %s | filecheck %s

// Nobody asks for anything: one element a thread, rows first. Numbers of warps and CTAs are noted.

// CHECK: [[$B:#.+]] = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
// CHECK: module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}
// CHECK-LABEL: tt.func @nobody_asks
module {
  tt.func @nobody_asks(%x: f32) -> tensor<32x64xf32> {
    // CHECK: tt.splat %{{.*}} : f32 -> tensor<32x64xf32, [[$B]]>
    %0 = tt.splat %x : f32 -> tensor<32x64xf32>
    // CHECK: tt.return %{{.*}} : tensor<32x64xf32, [[$B]]>
    tt.return %0 : tensor<32x64xf32>
  }
}

// -----

// The accumulator of a loop has the layout of the instruction from the start; what follows from it
// (a maximum of rows, its broadcast) has slices of it, and nothing is converted. The operand of the
// second product is converted from accumulator to operand: the same registers.

#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
// CHECK: [[$MMA:#mma]] = #ttg.nvidia_mma
// CHECK-LABEL: tt.func @softmax_step
module {
  tt.func @softmax_step(%q: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, %k: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32, [[$MMA]]>
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    // CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]]) -> (tensor<64x64xf32, [[$MMA]]>)
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
      // CHECK-NOT: require_layout
      %init = tlx.require_layout %zero : tensor<64x64xf32> -> tensor<64x64xf32, #tlx.no_verify_layout<#mma>>
      // CHECK: %[[S:.*]] = ttng.warp_group_dot %{{.*}}, %{{.*}}, %[[ZERO]]
      %d = ttng.warp_group_dot %q, %k, %init {isAsync = true} : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> * !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf32, #tlx.no_verify_layout<#mma>>
      %w = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<64x64xf32, #tlx.no_verify_layout<#mma>>
      %s = tlx.release_layout %w : tensor<64x64xf32, #tlx.no_verify_layout<#mma>> -> tensor<64x64xf32>
      // CHECK: "tt.reduce"
      %max = "tt.reduce"(%s) <{axis = 1 : i32}> ({
      ^bb0(%a: f32, %b: f32):
        %m = arith.maxnumf %a, %b : f32
        tt.reduce.return %m : f32
      // CHECK: }) : (tensor<64x64xf32, [[$MMA]]>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = [[$MMA]]}>>
      }) : (tensor<64x64xf32>) -> tensor<64xf32>
      // CHECK-NOT: convert_layout
      %e = tt.expand_dims %max {axis = 1 : i32} : tensor<64xf32> -> tensor<64x1xf32>
      %f = tt.broadcast %e : tensor<64x1xf32> -> tensor<64x64xf32>
      %p = arith.subf %s, %f : tensor<64x64xf32>
      // CHECK: %[[H:.*]] = arith.truncf %{{.*}} : tensor<64x64xf32, [[$MMA]]> to tensor<64x64xf16, [[$MMA]]>
      %h = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
      // CHECK-NEXT: %[[A:.*]] = ttg.convert_layout %[[H]] : tensor<64x64xf16, [[$MMA]]> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = [[$MMA]], kWidth = 2}>>
      %pa = tlx.require_layout %h : tensor<64x64xf16> -> tensor<64x64xf16, #tlx.no_verify_layout<#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>>
      %ra = tlx.require_layout %acc : tensor<64x64xf32> -> tensor<64x64xf32, #tlx.no_verify_layout<#mma>>
      // CHECK-NEXT: ttng.warp_group_dot %[[A]], %{{.*}}, %[[ACC]]
      %o = ttng.warp_group_dot %pa, %k, %ra {isAsync = true} : tensor<64x64xf16, #tlx.no_verify_layout<#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>> * !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf32, #tlx.no_verify_layout<#mma>>
      %ow = ttng.warp_group_dot_wait %o {pendings = 0 : i32} : tensor<64x64xf32, #tlx.no_verify_layout<#mma>>
      %next = tlx.release_layout %ow : tensor<64x64xf32, #tlx.no_verify_layout<#mma>> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tt.return
  }
}

// -----

// What is cheap is computed again in each layout that is asked for; what was loaded is converted,
// as a row and not as a matrix.

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
// CHECK-DAG: [[$MMA:#mma]] = #ttg.nvidia_mma
// CHECK-LABEL: tt.func @add_bias
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @add_bias(%x: tensor<64x64xf32, #mma>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) -> tensor<64x64xf32, #mma> {
    // CHECK-DAG: tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = [[$MMA]]}>>
    // CHECK-DAG: tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #blocked>
    %columns = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %base = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %at = tt.addptr %base, %columns : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    // CHECK: %[[BIAS:.*]] = tt.load
    %bias = tt.load %at : tensor<64x!tt.ptr<f32>>
    // CHECK-NEXT: %[[ROW:.*]] = ttg.convert_layout %[[BIAS]] : tensor<64xf32, #blocked> -> tensor<64xf32, #ttg.slice<{dim = 0, parent = [[$MMA]]}>>
    // CHECK: tt.expand_dims %[[ROW]] {axis = 0 : i32} : tensor<64xf32, #ttg.slice<{dim = 0, parent = [[$MMA]]}>> -> tensor<1x64xf32, [[$MMA]]>
    %e = tt.expand_dims %bias {axis = 0 : i32} : tensor<64xf32> -> tensor<1x64xf32>
    %b = tt.broadcast %e : tensor<1x64xf32> -> tensor<64x64xf32>
    %free = tlx.release_layout %x : tensor<64x64xf32, #mma> -> tensor<64x64xf32>
    %y = arith.addf %free, %b : tensor<64x64xf32>
    %float = arith.sitofp %columns : tensor<64xi32> to tensor<64xf32>
    %e2 = tt.expand_dims %float {axis = 0 : i32} : tensor<64xf32> -> tensor<1x64xf32>
    %b2 = tt.broadcast %e2 : tensor<1x64xf32> -> tensor<64x64xf32>
    %z = arith.addf %y, %b2 : tensor<64x64xf32>
    %r = tlx.require_layout %z : tensor<64x64xf32> -> tensor<64x64xf32, #mma>
    tt.return %r : tensor<64x64xf32, #mma>
  }
}

// -----

// A partition has warps of its own.

// CHECK-DAG: [[$EIGHT:#.+]] = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>
// CHECK-DAG: [[$FOUR:#.+]] = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK-LABEL: tt.func @tasks
module {
  tt.func @tasks(%x: f32) {
    ttg.warp_specialize(%x)
    default {
      // CHECK: tt.splat {{.*}} tensor<512xf32, [[$FOUR]]>
      %0 = tt.splat %x : f32 -> tensor<512xf32>
      tt.print "x" {hex = false, isSigned = array<i32: 0>} : %0 : tensor<512xf32>
      ttg.warp_yield
    }
    partition0(%y: f32) num_warps(8) {
      // CHECK: tt.splat {{.*}} tensor<512xf32, [[$EIGHT]]>
      %1 = tt.splat %y : f32 -> tensor<512xf32>
      tt.print "y" {hex = false, isSigned = array<i32: 0>} : %1 : tensor<512xf32>
      ttg.warp_return
    } : (f32) -> ()
    tt.return
  }
}

// -----

// Both operands of a join are spelled alike, whatever they come from. Halves of an accumulator stay
// in the threads that have them: nothing is converted.

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
// CHECK-LABEL: tt.func @halves
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @halves(%x: tensor<64x64xf32, #mma>) -> tensor<64x32x2xf32> {
    %f = tlx.release_layout %x : tensor<64x64xf32, #mma> -> tensor<64x64xf32>
    // CHECK-NEXT: %[[R:.*]] = tt.reshape %{{.*}} : tensor<64x64xf32, #mma> -> tensor<64x2x32xf32, #linear
    %r = tt.reshape %f : tensor<64x64xf32> -> tensor<64x2x32xf32>
    // CHECK-NEXT: %[[T:.*]] = tt.trans %[[R]]
    %t = tt.trans %r {order = array<i32: 0, 2, 1>} : tensor<64x2x32xf32> -> tensor<64x32x2xf32>
    // CHECK-NEXT: %[[LEFT:.*]], %[[RIGHT:.*]] = tt.split %[[T]] : tensor<64x32x2xf32, {{.*}}> -> tensor<64x32xf32, [[HALF:#.*]]>
    %l, %h = tt.split %t : tensor<64x32x2xf32> -> tensor<64x32xf32>
    // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32, [[HALF]]>
    %zero = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
    // CHECK-NEXT: tt.join %[[LEFT]], %[[ZERO]] : tensor<64x32xf32, [[HALF]]> -> tensor<64x32x2xf32
    %j = tt.join %l, %zero : tensor<64x32xf32> -> tensor<64x32x2xf32>
    tt.return %j : tensor<64x32x2xf32>
  }
}

// RUN: tilewright-opt -verify-diagnostics -remark-layouts %s

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#operand = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#column = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @in_loop(%x: tensor<64x64xf16, #mma>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // Once is no remark.
    %once = ttg.convert_layout %x : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
    // expected-note @+1 {{in each iteration of this loop}}
    scf.for %i = %c0 to %n step %c1 : i32 {
      // From accumulator to operand: the same registers.
      %free = ttg.convert_layout %x : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #operand>
      // expected-remark @+2 {{layout conversion in every iteration: 64 x 64 tensor, 8192 B through shared memory, from an MMA accumulator layout to a blocked layout (1 x 8 elements per thread)}}
      // expected-note @+1 {{help: this costs time only; to avoid it, move the use of the tensor out of the loop}}
      %cost = ttg.convert_layout %x : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
    }
    tt.return
  }

  tt.func @through_registers(%a: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, %c: tensor<64x64xf32, #mma>) {
    // expected-note @+1 {{loaded here; wgmma can read A directly from this buffer}}
    %r = ttg.local_load %a : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf16, #operand>
    // expected-remark @+1 {{wgmma operand A is copied to registers first}}
    %d = ttng.warp_group_dot %r, %a, %c : tensor<64x64xf16, #operand> * !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf32, #mma>
    tt.return
  }

  // Neighbours of a warp are 256 bytes apart in a buffer that is not swizzled: 32 turns.
  tt.func @banks(%a: !ttg.memdesc<64x64xf32, #plain, #smem, mutable>, %v: tensor<64x64xf32, #column>) {
    // No alias, no remark.
    ttg.local_store %v, %a : tensor<64x64xf32, #column> -> !ttg.memdesc<64x64xf32, #plain, #smem, mutable>
    // expected-note @+1 {{the layout of this view determines the address of each element}}
    %alias = ttg.memdesc_reinterpret %a : !ttg.memdesc<64x64xf32, #plain, #smem, mutable> -> !ttg.memdesc<64x64xf32, #plain, #smem, mutable>
    // expected-remark @+1 {{bank conflicts in a buffer with aliased storage}}
    ttg.local_store %v, %alias : tensor<64x64xf32, #column> -> !ttg.memdesc<64x64xf32, #plain, #smem, mutable>
    tt.return
  }
}

// RUN: tilewright-opt -split-input-file -verify-diagnostics -triton-tlx-fixup="num-warps=4 target=cuda:100 threads-per-warp=32 num-ctas=1" %s

// Tensor cores of two CTAs work together everywhere in a kernel, or nowhere.

#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#tile_t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
module {
  tt.func @mixed(%a: !ttg.memdesc<128x64xf16, #tile, #smem, mutable>, %b: !ttg.memdesc<64x128xf16, #tile_t, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #acc, #ttng.tensor_memory, mutable>, %yes: i1) {
    ttng.tc_gen5_mma %a, %b, %d, %yes, %yes {two_ctas} : !ttg.memdesc<128x64xf16, #tile, #smem, mutable>, !ttg.memdesc<64x128xf16, #tile_t, #smem, mutable>, !ttg.memdesc<128x128xf32, #acc, #ttng.tensor_memory, mutable>
    // expected-error @+1 {{Expecting all dot ops to be 2cta together or 1cta together}}
    ttng.tc_gen5_mma %a, %b, %d, %yes, %yes : !ttg.memdesc<128x64xf16, #tile, #smem, mutable>, !ttg.memdesc<64x128xf16, #tile_t, #smem, mutable>, !ttg.memdesc<128x128xf32, #acc, #ttng.tensor_memory, mutable>
    tt.return
  }
}

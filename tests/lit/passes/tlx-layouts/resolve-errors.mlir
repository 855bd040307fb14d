// RUN: tilewright-opt -verify-diagnostics -tlx-resolve-placeholder-layouts %s

#whole = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
module attributes {"ttg.num-warps" = 2 : i32} {
  tt.func @too_few(%m: !ttg.memdesc<128x64xf32, #whole, #ttng.tensor_memory, mutable>) {
    // expected-error @+1 {{tensor memory of 128 rows requires a task of 4 or 8 warps, got 2}}
    %0 = ttng.tmem_load %m : !ttg.memdesc<128x64xf32, #whole, #ttng.tensor_memory, mutable> -> tensor<128x64xf32, #tlx.dummy_register_layout<[128, 64], f32, true>>
    tt.return
  }
}

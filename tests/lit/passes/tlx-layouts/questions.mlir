// RUN: tilewright-opt -verify-diagnostics -tlx-finalize-user-layouts -tlx-dump-layout %s

// Marks are gone when the author is answered; layouts are compared by where elements are.

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#linear = #ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], block = []}>
#wide = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @questions(%x: tensor<128xf32, #blocked>, %y: tensor<128xf32, #linear>, %z: tensor<128xf32, #wide>) {
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #tlx.user_layout<#plain>, #smem, mutable>
    // expected-remark @+3 {{tlx.dump_layout @ the value}}
    // expected-note @+2 {{type: !ttg.memdesc<64x64xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>}}
    // expected-note @+1 {{cute: (_64,_64):(_64,_1)}}
    tlx.dump_layout %b : !ttg.memdesc<64x64xf16, #tlx.user_layout<#plain>, #smem, mutable>
    tlx.assert_same_layout %x, %y : tensor<128xf32, #blocked>, tensor<128xf32, #linear>
    // expected-remark @+3 {{tlx.dump_layout @ the value}}
    // expected-note @+2 {{type: tensor<128xf32, #ttg.blocked<}}
    // expected-note @+1 {{cute: ((_32,_4),_4):((_4,_0),_1)}}
    tlx.dump_layout %z : tensor<128xf32, #wide>
    // expected-error @+3 {{layout assertion failed: LinearLayouts differ}}
    // expected-note @+2 {{lhs: #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>}}
    // expected-note @+1 {{rhs: #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>}}
    tlx.assert_same_layout %x, %z : tensor<128xf32, #blocked>, tensor<128xf32, #wide>
    tt.return
  }
}

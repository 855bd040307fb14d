// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --check-tile-sizes="enabled=true" --verify-diagnostics --split-input-file
// RUN: tilewright-opt %s --bind-target="target=hip:gfx950" --check-tile-sizes="enabled=true" | filecheck %s
// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --check-tile-sizes | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK-LABEL: func.func @gemm
func.func @gemm(%A: memref<128x4096xf16, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    %as = tile.alloc "As" : memref<128x160xf16, #shared>
    %bs = tile.alloc "Bs" : memref<128x128xf16, #shared>
    %c = tile.alloc "C" : memref<128x128xf32, #fragment>
    %d = tile.alloc "D" : memref<160x128xf32, #fragment>
    // expected-error @+1 {{shared memory exceeded: at least 73728 B needed in this loop, 65536 B available per block on gfx942}}
    tile.pipeline %k = 0 to 32 num_stages(2) {
      %r = tile.region %A[0, 0] [128, 160] : memref<128x4096xf16, #global> to !tile.region<128x160xf16, #global>
      tile.copy %r -> %as : !tile.region<128x160xf16, #global> -> memref<128x160xf16, #shared>
      %part = tile.region %as[0, 0] [128, 128] : memref<128x160xf16, #shared> to !tile.region<128x128xf16, #shared>
      tile.gemm %part, %bs -> %c : !tile.region<128x128xf16, #shared>, memref<128x128xf16, #shared> -> memref<128x128xf32, #fragment>
    }
    // Three iterations may end as no loop, and buffers of this one may overlap.
    tile.pipeline %k = 0 to 3 num_stages(2) {
      tile.gemm %as, %bs -> %d {transpose_a} : memref<128x160xf16, #shared>, memref<128x128xf16, #shared> -> memref<160x128xf32, #fragment>
    }
    tile.pipeline %k = 0 to 32 {
      tile.gemm %as, %bs -> %d {transpose_a} : memref<128x160xf16, #shared>, memref<128x128xf16, #shared> -> memref<160x128xf32, #fragment>
    }
    // Buffers of loops inside may be private to their iterations.
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    tile.pipeline %k = 0 to 32 num_stages(2) {
      scf.for %n = %c0 to %c8 step %c1 {
        tile.gemm %bs, %bs -> %c : memref<128x128xf16, #shared>, memref<128x128xf16, #shared> -> memref<128x128xf32, #fragment>
      }
      tile.copy %as -> %as : memref<128x160xf16, #shared> -> memref<128x160xf16, #shared>
    }
  }
  func.return
}

// RUN: tilewright-opt %s | tilewright-opt | filecheck %s

#t = #tile.space<tmem>
#s = #tile.space<shared>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @all
func.func @all(%first: i1, %k: index) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (2) threads(128) cluster(2) {
    %a = tile.alloc : memref<128x128xf8E4M3FN, #s>
    %b = tile.alloc : memref<64x128xf8E4M3FN, #s>
    %packed = tile.alloc : memref<1x128xi32, #s>
    %acc = tile.alloc : memref<2x128x128xf32, #t>
    %c = tile.alloc : memref<128x128xf32, #t>
    %sa = tile.alloc : memref<128x4xi32, #t>
    %full = tile.alloc init [1] : memref<1x!nv.mbarrier, #b>
    // CHECK: tile.transpose_scales %{{.*}} : memref<1x128xi32, #shared>
    tile.transpose_scales %packed : memref<1x128xi32, #s>
    // CHECK: tile.tcgen05_copy_scales %{{.*}} -> %{{.*}} {two_cta} : memref<1x128xi32, #shared> -> memref<128x4xi32, #tmem>
    tile.tcgen05_copy_scales %packed -> %sa {two_cta} : memref<1x128xi32, #s> -> memref<128x4xi32, #t>
    // CHECK: tile.tcgen05_gemm %{{.*}}, %{{.*}} -> %{{.*}} clear_if %{{.*}} scales(%{{.*}} : memref<128x4xi32, #tmem>, %{{.*}} : memref<128x4xi32, #tmem>) at %{{.*}} barrier %{{.*}}[%{{.*}}] : memref<1x!nv.mbarrier, #barrier> {{{.*}}two_cta}
    tile.tcgen05_gemm %a, %b -> %c clear_if %first scales(%sa : memref<128x4xi32, #t>, %sa : memref<128x4xi32, #t>) at %k barrier %full[%c0] : memref<1x!nv.mbarrier, #b> {transpose_b, two_cta, a_granularity = 128 : i64, b_granularity = 128 : i64} : memref<128x128xf8E4M3FN, #s>, memref<64x128xf8E4M3FN, #s> -> memref<128x128xf32, #t>
    // CHECK: tile.tcgen05_commit %{{.*}}[%{{.*}}] {two_cta} : memref<1x!nv.mbarrier, #barrier>
    tile.tcgen05_commit %full[%c0] {two_cta} : memref<1x!nv.mbarrier, #b>
  }
  func.return
}

// RUN: tilewright-opt -insert-expect-tx -verify-diagnostics %s

#g = #tile.space<global>
#s = #tile.space<shared>
#b = #tile.space<barrier>

func.func @kernel(%A: memref<64x32xf16, #g>) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (4) threads(128) cluster(2) {
    %one = tile.alloc "one" init [1] : memref<1x!nv.mbarrier, #b>
    %two = tile.alloc "two" init [1] : memref<1x!nv.mbarrier, #b>
    %x = tile.alloc "x" : memref<64x32xf16, #s>
    // expected-note @+2 {{help: in one thread of every destination CTA call T.mbarrier_arrive_expect_tx}}
    // expected-error @+1 {{multicast copy completes 4096 B on the mbarrier of every destination CTA, but no CTA issues expect-tx for them}}
    tile.async_copy %A -> %x barrier %one[%c0] {cluster_mask = 3 : i64, instruction = "tma"} : memref<64x32xf16, #g> -> memref<64x32xf16, #s>, memref<1x!nv.mbarrier, #b>
    nv.mbarrier.arrive_expect_tx %two[%c0], 4096 : memref<1x!nv.mbarrier, #b>
    // expected-note @+2 {{help: set the cluster size with T.ClusterKernel(}}
    // expected-error @+1 {{cluster_mask=0x4 selects CTAs outside the cluster: the cluster has 2, so the mask must be in 1 to 0x3}}
    tile.async_copy %A -> %x barrier %two[%c0] {cluster_mask = 4 : i64, instruction = "tma"} : memref<64x32xf16, #g> -> memref<64x32xf16, #s>, memref<1x!nv.mbarrier, #b>
  }
  func.return
}

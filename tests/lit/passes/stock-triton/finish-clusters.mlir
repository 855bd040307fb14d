// RUN: tilewright-opt -split-input-file -finish-for-stock-triton %s | filecheck %s

// An arrival in another CTA is assembly. The cluster meets before and after; the warps that Triton
// adds to a task of one warp come to the meetings, too.

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @remote
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @remote(%rank: i32) {
    %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    // CHECK: ttng.init_barrier
    // CHECK-NEXT: ttg.inline_asm "fence.mbarrier_init.release.cluster; barrier.cluster.arrive.release;" {constraints = "~{memory}", pure = false} : () -> ()
    ttng.init_barrier %b, 2 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    // CHECK-NEXT: ttg.warp_specialize(%{{.*}}, %{{.*}}) attributes {requestedRegisters = array<i32: 32, 24, 24>}
    ttg.warp_specialize(%b, %rank) attributes {requestedRegisters = array<i32: 32>}
    default {
      // CHECK: ttg.inline_asm "barrier.cluster.wait.acquire;"
      // CHECK: ttg.inline_asm "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
      // CHECK: ttg.warp_yield
      ttg.warp_yield
    }
    // CHECK: partition0(%[[B:.*]]: !ttg.memdesc<1xi64, #shared, #smem, mutable>, %[[R:.*]]: i32) num_warps(1)
    partition0(%p: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %r: i32) num_warps(1) {
      // CHECK-NEXT: ttg.inline_asm "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
      %m = ttng.map_to_remote_buffer %p, %r : !ttg.memdesc<1xi64, #bars, #smem, mutable> -> !ttg.memdesc<1xi64, #bars, #ttng.shared_cluster_memory, mutable>
      // CHECK-NEXT: ttg.inline_asm "{{.*}}mapa.shared::cluster.u32 there, $0, $1; @p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there], 1; }" {constraints = "r,r,~{memory}", pure = false} %[[B]], %[[R]]
      ttng.arrive_barrier %m, 1 : !ttg.memdesc<1xi64, #bars, #ttng.shared_cluster_memory, mutable>
      // CHECK-NEXT: ttg.inline_asm "barrier.cluster.arrive.release;"
      // CHECK-NEXT: ttg.warp_return
      ttg.warp_return
    // CHECK: partition1({{.*}}) num_warps(1)
    // CHECK: partition2({{.*}}) num_warps(2)
    } : (!ttg.memdesc<1xi64, #bars, #smem, mutable>, i32) -> ()
    tt.return
  }
}

// -----

// The product of a pair: 256 x 128 x 16 four times, f16, B down its rows; both CTAs are told.

#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
// CHECK: module attributes {{.*}}"ttng.two-ctas" = true
// CHECK-LABEL: tt.func @pair
module attributes {"ttg.num-warps" = 1 : i32, ttg.target = "cuda:100"} {
  tt.func @pair(%a: !ttg.memdesc<128x64xf16, #tile, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, %bar: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %use: i1) {
    %true = arith.constant true
    // CHECK: %[[U:.*]] = arith.extui %{{.*}} : i1 to i32
    // CHECK: %[[P:.*]] = arith.extui %{{.*}} : i1 to i32
    // CHECK: ttg.inline_asm "{{.*}}add.u32 x, al, 0;{{.*}}add.u32 y, bl, 0;{{.*}}@p tcgen05.mma.cta_group::2.kind::f16 [$2], da, db, 270598160, q;{{.*}}add.u32 x, al, 6; mov.b64 da, {x, 1073758272}; add.u32 y, bl, 384; mov.b64 db, {y, 1073758272}; @p tcgen05.mma.cta_group::2.kind::f16 [$2], da, db, 270598160, q; }" {constraints = "r,r,r,r,r,~{memory}", pure = false} %{{.*}}, %{{.*}}, %{{.*}}, %[[U]], %[[P]]
    // CHECK: ttg.inline_asm "{{.*}}tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [$0], mask; }"
    // CHECK-NOT: tc_gen5
    ttng.tc_gen5_mma %a, %b, %d, %use, %true, %bar[%true] {is_async, two_ctas} : !ttg.memdesc<128x64xf16, #tile, #smem, mutable>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.tc_gen5_commit %bar, %true : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    tt.return
  }
}

// RUN: tilewright-opt -finish-for-stock-triton %s | filecheck %s

// Small instructions are assembly on scalars; only what depends on time or order is not pure.

module attributes {"ttg.num-warps" = 4 : i32} {
  // CHECK-LABEL: tt.func @registers
  tt.func @registers() -> (i32, i32, i64, index) {
    // CHECK: tt.elementwise_inline_asm "mov.u32 $0, %cluster_ctarank;" {constraints = "=r", packed_element = 1 : i32, pure = true} -> i32
    %rank = nvg.cluster_id
    // CHECK: tt.elementwise_inline_asm "mov.u32 $0, %cluster_nctarank;"
    %size = ttng.cluster_size_1d
    // CHECK: tt.elementwise_inline_asm "mov.u64 $0, %clock64;" {constraints = "=l,~{memory}", packed_element = 1 : i32, pure = false} -> i64
    %clock = ttg.clock64
    // CHECK: %[[T:.*]] = tt.elementwise_inline_asm "mov.u32 $0, %tid.x;"
    // CHECK-NEXT: arith.index_cast %[[T]] : i32 to index
    %thread = gpu.thread_id x
    tt.return %rank, %size, %clock, %thread : i32, i32, i64, index
  }

  // CHECK-LABEL: tt.func @order
  tt.func @order(%mask: i32, %yes: i1) -> i32 {
    // CHECK: tt.elementwise_inline_asm "fence.acq_rel.gpu; mov.u32 $0, 0;" {constraints = "=r,~{memory}", packed_element = 1 : i32, pure = false} -> i32
    ttng.fence {scope = "gpu"}
    // CHECK: tt.elementwise_inline_asm "barrier.cluster.arrive.release; mov.u32 $0, 0;"
    ttng.cluster_arrive {relaxed = false}
    // CHECK: tt.elementwise_inline_asm "barrier.cluster.wait.acquire; mov.u32 $0, 0;"
    ttng.cluster_wait
    // CHECK: %[[Y:.*]] = arith.extui
    // CHECK: tt.elementwise_inline_asm "{ .reg .pred p; setp.ne.u32 p, $2, 0; vote.sync.ballot.b32 $0, p, $1; }" {{.*}} %{{.*}}, %[[Y]] : i32, i32 -> i32
    %votes = ttng.vote_ballot_sync %mask, %yes : i1 -> i32
    tt.return %votes : i32
  }
}

// RUN: tilewright-opt -split-input-file -finish-for-stock-triton %s | filecheck %s
// RUN: tilewright-opt -split-input-file -finish-for-stock-triton="sync-before-arrivals=true" %s | filecheck %s --check-prefix=OLD

// Barriers get rows, in captures too; marks of TLX on the module go.

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
// CHECK-NOT: tlx.has_tlx_ops
// CHECK-LABEL: tt.func @arrays
module attributes {tlx.has_tlx_ops = true, "ttg.num-warps" = 4 : i32} {
  tt.func @arrays() {
    // CHECK: %[[B:.*]] = ttg.local_alloc : () -> !ttg.memdesc<3x1xi64, #shared, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<3xi64, #bars, #smem, mutable>
    // CHECK: ttg.warp_specialize(%[[B]])
    ttg.warp_specialize(%b)
    default {
      ttg.warp_yield
    }
    // CHECK: partition0(%[[P:.*]]: !ttg.memdesc<3x1xi64, #shared, #smem, mutable>)
    partition0(%p: !ttg.memdesc<3xi64, #bars, #smem, mutable>) num_warps(2) {
      %c0 = arith.constant 0 : i32
      // CHECK: %[[I:.*]] = ttg.memdesc_index %[[P]]{{.*}} -> !ttg.memdesc<1xi64, #shared, #smem, mutable>
      %i = ttg.memdesc_index %p[%c0] : !ttg.memdesc<3xi64, #bars, #smem, mutable> -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
      // Every thread of the two warps arrives: one of them says 64.
      // CHECK-NEXT: ttng.arrive_barrier %[[I]], 64 :
      // OLD: ttg.barrier local
      // OLD-NEXT: ttng.arrive_barrier %{{.*}}, 64 :
      ttng.arrive_barrier %i, 1 {perThread} : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      ttg.warp_return
    } : (!ttg.memdesc<3xi64, #bars, #smem, mutable>) -> ()
    tt.return
  }
}

// -----

// Arrivals in a row meet once, and expect no bytes; what is between them counts.

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @arrivals
// OLD-LABEL: tt.func @arrivals
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @arrivals(%b: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %c: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %p: i1) {
    %c0 = arith.constant 0 : i32
    // CHECK: ttng.arrive_barrier %{{.*}}, 1 :
    // CHECK-NEXT: ttng.arrive_barrier %{{.*}}, 1, %{{.*}} :
    // OLD: ttg.barrier local
    // OLD: ttng.barrier_expect %[[B:.*]], 0, %true
    // OLD-NOT: ttg.barrier local
    // OLD: ttng.barrier_expect %[[C:.*]], 0, %{{.*}}
    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.arrive_barrier %c, 1, %p : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    // OLD: ttng.wait_barrier
    ttng.wait_barrier %b, %c0 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    // OLD-NEXT: ttg.barrier local
    ttng.arrive_barrier %c, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    tt.return
  }
}

// -----

// Barriers of the hardware: 0 to 3 are Triton's in a kernel of two partitions, so 2 becomes
// another one, and stays apart from 15.

// CHECK-LABEL: tt.func @named
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @named(%n: i32) {
    %two = arith.constant 2 : i32
    %last = arith.constant 15 : i32
    // CHECK: %[[MOVED:.*]] = arith.constant 14 : i32
    // CHECK-NEXT: tt.elementwise_inline_asm "bar.sync $1, $2; mov.u32 $0, 0;" {constraints = "=r,r,r,~{memory}", packed_element = 1 : i32, pure = false} %[[MOVED]], %{{.*}} : i32, i32 -> i32
    ttng.wait_barrier_named %two, %n : i32, i32
    // CHECK: tt.elementwise_inline_asm "bar.arrive $1, $2; mov.u32 $0, 0;" {{.*}} %{{.*}}, %{{.*}} : i32, i32 -> i32
    ttng.arrive_barrier_named %last, %n : i32, i32
    ttg.warp_specialize()
    default {
      ttg.warp_yield
    }
    partition0() num_warps(4) {
      ttg.warp_return
    }
    partition1() num_warps(4) {
      ttg.warp_return
    } : () -> ()
    tt.return
  }
}

// -----

// Two tasks of four warps arrive at a barrier with all their threads, and nobody else does: it
// counts tasks. The other barrier also hears of copies, and keeps counting threads.

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @tasks
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @tasks(%yes: i1) {
    %own = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    %mixed = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    // CHECK: ttng.init_barrier %{{.*}}, 2 :
    ttng.init_barrier %own, 256 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    // CHECK: ttng.init_barrier %{{.*}}, 129 :
    ttng.init_barrier %mixed, 129 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.barrier_expect %mixed, 64, %yes : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    // CHECK: ttng.arrive_barrier %{{.*}}, 1 :
    ttng.arrive_barrier %own, 1 {perThread} : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    // CHECK: ttng.arrive_barrier %{{.*}}, 128 :
    ttng.arrive_barrier %mixed, 1 {perThread} : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    tt.return
  }
}

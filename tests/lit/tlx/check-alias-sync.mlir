// RUN: tilewright-opt -keep-names --split-input-file --tlx-check-alias-sync="report=true" %s 2>&1 | filecheck %s

// Three tasks: one makes scores in %qk, one reads them, one writes weights over them.

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  // Every pair is ordered.
  // CHECK-NOT: warning
  // CHECK: remark: no unordered accesses in {{[0-9]+}} events of 3 runs
  tt.func public @ordered(%x: tensor<16x16xf32, #blocked>, %w: tensor<16x16xf16, #blocked>) {
    %c0 = arith.constant 0 : i32
    %true = arith.constant true
    %spec = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
    %qk = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>
    %p = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>
    %tree = tlx.reuse_group(%qk, %p) group_kind = shared : (!ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %tree) : (!tlx.storage_alias_spec<smem>, !tlx.reuse_group<shared>) -> ()
    %out = ttg.local_alloc : () -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
    %scored = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.init_barrier %scored, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    %used = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.init_barrier %used, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttg.warp_specialize(%qk, %p, %scored, %used, %x, %w)
    default {
      ttng.wait_barrier %scored, %c0, %true : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      %scores = ttg.memdesc_index %qk[%c0] : !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      %read = ttg.local_load %scores : !ttg.memdesc<16x16xf32, #shared, #smem, mutable> -> tensor<16x16xf32, #blocked>
      ttg.local_store %read, %out : tensor<16x16xf32, #blocked> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      ttng.arrive_barrier %used, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      ttg.warp_yield
    }
    partition0(%qk0: !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, %p0: !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>, %scored0: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %used0: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %x0: tensor<16x16xf32, #blocked>, %w0: tensor<16x16xf16, #blocked>) num_warps(4) {
      %i = arith.constant 0 : i32
      %scores = ttg.memdesc_index %qk0[%i] : !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      ttg.local_store %x0, %scores : tensor<16x16xf32, #blocked> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      ttng.arrive_barrier %scored0, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      ttg.warp_return
    }
    partition1(%qk1: !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, %p1: !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>, %scored1: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %used1: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %x1: tensor<16x16xf32, #blocked>, %w1: tensor<16x16xf16, #blocked>) num_warps(4) {
      %i = arith.constant 0 : i32
      %t = arith.constant true
      ttng.wait_barrier %used1, %i, %t : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      %weights = ttg.memdesc_index %p1[%i] : !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf16, #shared, #smem, mutable>
      ttg.local_store %w1, %weights : tensor<16x16xf16, #blocked> -> !ttg.memdesc<16x16xf16, #shared, #smem, mutable>
      ttg.warp_return
    } : (!ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>, !ttg.memdesc<1xi64, #bars, #smem, mutable>, !ttg.memdesc<1xi64, #bars, #smem, mutable>, tensor<16x16xf32, #blocked>, tensor<16x16xf16, #blocked>) -> ()
    tt.return
  }
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  // CHECK: warning[TW4062]: data race: write of 'p'[0] in task 2 may run before read of 'qk'[0] in task 0 completes; no barrier orders them
  // CHECK-NEXT: ttg.local_store %w1, %weights
  // CHECK: note: the other access, iteration 0: read of 'qk'[0] in task 0
  // CHECK-NEXT: ttg.local_load %scores
  // CHECK: note: this access, iteration 0: write of 'p'[0] in task 2; the accesses overlap in 512 bytes
  // CHECK-NEXT: note: qk[0] and p[0] are different buffers that overlap
  // CHECK-NEXT: note: missing: task 2 does not wait for the phase of used that orders them
  // CHECK-NEXT: note: smallest fix: call tlx.barrier_wait on used (parity 0) before this
  // CHECK: note: found with a trip count of 1 for loops of unknown trip count
  // Without the wait, weights may be written while scores are still read.
  tt.func public @race(%x: tensor<16x16xf32, #blocked>, %w: tensor<16x16xf16, #blocked>) {
    %c0 = arith.constant 0 : i32
    %true = arith.constant true
    %spec = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
    %qk = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>
    %p = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>
    %tree = tlx.reuse_group(%qk, %p) group_kind = shared : (!ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %tree) : (!tlx.storage_alias_spec<smem>, !tlx.reuse_group<shared>) -> ()
    %out = ttg.local_alloc : () -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
    %scored = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.init_barrier %scored, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    %used = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.init_barrier %used, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttg.warp_specialize(%qk, %p, %scored, %used, %x, %w)
    default {
      ttng.wait_barrier %scored, %c0, %true : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      %scores = ttg.memdesc_index %qk[%c0] : !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      %read = ttg.local_load %scores : !ttg.memdesc<16x16xf32, #shared, #smem, mutable> -> tensor<16x16xf32, #blocked>
      ttg.local_store %read, %out : tensor<16x16xf32, #blocked> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      ttng.arrive_barrier %used, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      ttg.warp_yield
    }
    partition0(%qk0: !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, %p0: !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>, %scored0: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %used0: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %x0: tensor<16x16xf32, #blocked>, %w0: tensor<16x16xf16, #blocked>) num_warps(4) {
      %i = arith.constant 0 : i32
      %scores = ttg.memdesc_index %qk0[%i] : !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      ttg.local_store %x0, %scores : tensor<16x16xf32, #blocked> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      ttng.arrive_barrier %scored0, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      ttg.warp_return
    }
    partition1(%qk1: !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, %p1: !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>, %scored1: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %used1: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %x1: tensor<16x16xf32, #blocked>, %w1: tensor<16x16xf16, #blocked>) num_warps(4) {
      %i = arith.constant 0 : i32
      %t = arith.constant true
      %weights = ttg.memdesc_index %p1[%i] : !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf16, #shared, #smem, mutable>
      ttg.local_store %w1, %weights : tensor<16x16xf16, #blocked> -> !ttg.memdesc<16x16xf16, #shared, #smem, mutable>
      ttg.warp_return
    } : (!ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>, !ttg.memdesc<1xi64, #bars, #smem, mutable>, !ttg.memdesc<1xi64, #bars, #smem, mutable>, tensor<16x16xf32, #blocked>, tensor<16x16xf16, #blocked>) -> ()
    tt.return
  }
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  // Nobody arrives on %used.
  // CHECK: warning[TW4068]: deadlock: task 2 waits for parity 0 of used forever
  // CHECK-NEXT: ttng.wait_barrier %used1
  // CHECK: note: missing: 0 of 1 arrival on used in phase 0
  tt.func public @stuck(%x: tensor<16x16xf32, #blocked>, %w: tensor<16x16xf16, #blocked>) {
    %c0 = arith.constant 0 : i32
    %true = arith.constant true
    %spec = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
    %qk = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>
    %p = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>
    %tree = tlx.reuse_group(%qk, %p) group_kind = shared : (!ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %tree) : (!tlx.storage_alias_spec<smem>, !tlx.reuse_group<shared>) -> ()
    %out = ttg.local_alloc : () -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
    %scored = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.init_barrier %scored, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    %used = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.init_barrier %used, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttg.warp_specialize(%qk, %p, %scored, %used, %x, %w)
    default {
      ttng.wait_barrier %scored, %c0, %true : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      %scores = ttg.memdesc_index %qk[%c0] : !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      %read = ttg.local_load %scores : !ttg.memdesc<16x16xf32, #shared, #smem, mutable> -> tensor<16x16xf32, #blocked>
      ttg.local_store %read, %out : tensor<16x16xf32, #blocked> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      ttg.warp_yield
    }
    partition0(%qk0: !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, %p0: !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>, %scored0: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %used0: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %x0: tensor<16x16xf32, #blocked>, %w0: tensor<16x16xf16, #blocked>) num_warps(4) {
      %i = arith.constant 0 : i32
      %scores = ttg.memdesc_index %qk0[%i] : !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      ttg.local_store %x0, %scores : tensor<16x16xf32, #blocked> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      ttng.arrive_barrier %scored0, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      ttg.warp_return
    }
    partition1(%qk1: !ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, %p1: !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>, %scored1: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %used1: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %x1: tensor<16x16xf32, #blocked>, %w1: tensor<16x16xf16, #blocked>) num_warps(4) {
      %i = arith.constant 0 : i32
      %t = arith.constant true
      ttng.wait_barrier %used1, %i, %t : !ttg.memdesc<1xi64, #bars, #smem, mutable>
      %weights = ttg.memdesc_index %p1[%i] : !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf16, #shared, #smem, mutable>
      ttg.local_store %w1, %weights : tensor<16x16xf16, #blocked> -> !ttg.memdesc<16x16xf16, #shared, #smem, mutable>
      ttg.warp_return
    } : (!ttg.memdesc<1x16x16xf32, #shared, #smem, mutable>, !ttg.memdesc<1x16x16xf16, #shared, #smem, mutable>, !ttg.memdesc<1xi64, #bars, #smem, mutable>, !ttg.memdesc<1xi64, #bars, #smem, mutable>, tensor<16x16xf32, #blocked>, tensor<16x16xf16, #blocked>) -> ()
    tt.return
  }
}

// -----

// A decision that data makes is not followed, and said so.

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  // CHECK: remark[TW4069]: synchronisation not analysed: the index of a buffer is data-dependent
  // CHECK-NEXT: ttg.memdesc_index %bar[%n]
  tt.func public @data(%ptr: !tt.ptr<i32>) {
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %n = tt.load %ptr : !tt.ptr<i32>
    %bar = ttg.local_alloc : () -> !ttg.memdesc<2xi64, #bars, #smem, mutable>
    %one = ttg.memdesc_index %bar[%n] : !ttg.memdesc<2xi64, #bars, #smem, mutable> -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.init_barrier %one, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    tt.return
  }
}

// -----

// A branch that no chosen argument takes is not analysed.

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  // CHECK: remark[TW4069]: synchronisation not analysed: not reached by task 0 with trip counts 1, 2, 3
  // CHECK-NEXT: ttng.arrive_barrier %bar, 1
  tt.func public @branch(%n: i32) {
    %c7 = arith.constant 7 : i32
    %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bars, #smem, mutable>
    ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    %seven = arith.cmpi eq, %n, %c7 : i32
    scf.if %seven {
      ttng.arrive_barrier %bar, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
    }
    tt.return
  }
}

// -----

// One task and its copies: nothing waits for the group, so the read comes too soon.

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  // CHECK: warning[TW4062]: data race: read of 'a'[1] in task 0 may run before write of 'a'[1] in task 0 completes; no barrier orders them
  // CHECK: note: the other access, iteration 1: the copy into a[1], issued by task 0
  // CHECK: note: smallest fix: call tlx.async_load_commit_group and tlx.async_load_wait_group before this
  // CHECK: note: found with a trip count of 2 for loops of unknown trip count
  // CHECK-NOT: warning
  tt.func public @late(%ptrs: tensor<16x16x!tt.ptr<f32>, #blocked>, %to: tensor<16x16x!tt.ptr<f32>, #blocked>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %a = ttg.local_alloc : () -> !ttg.memdesc<2x16x16xf32, #shared, #smem, mutable>
    %first = ttg.memdesc_index %a[%c0] : !ttg.memdesc<2x16x16xf32, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %slot = arith.remsi %i, %c2 : i32
      %buffer = ttg.memdesc_index %a[%slot] : !ttg.memdesc<2x16x16xf32, #shared, #smem, mutable> -> !ttg.memdesc<16x16xf32, #shared, #smem, mutable>
      %copied = ttg.async_copy_global_to_local %ptrs, %buffer : tensor<16x16x!tt.ptr<f32>, #blocked> -> <16x16xf32, #shared, #smem, mutable>
      %group = ttg.async_commit_group tokens %copied
      %is_second = arith.cmpi eq, %i, %c1 : i32
      scf.if %is_second {
      } else {
        %done = ttg.async_wait {num = 0 : i32}
      }
      %value = ttg.local_load %buffer : !ttg.memdesc<16x16xf32, #shared, #smem, mutable> -> tensor<16x16xf32, #blocked>
      tt.store %to, %value : tensor<16x16x!tt.ptr<f32>, #blocked>
      %all = ttg.async_wait {num = 0 : i32}
    }
    tt.return
  }
}

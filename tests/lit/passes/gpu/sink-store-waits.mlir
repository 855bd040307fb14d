// RUN: tilewright-opt -sink-store-waits -split-input-file %s | filecheck %s

// The wait goes in front of the barrier before the next turn's writes, and behind the loop.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @tiles
// CHECK:         scf.for
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        nv.tma_store.wait 0 {read}
// CHECK-NEXT:      }
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      memref.store
// CHECK:           nv.tma_store.commit
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      nv.tma_store.wait 0 {read}
func.func @tiles(%map: !nv.tensormap, %n: index, %v: f16) attributes {simt.kernel, simt.threads = 128 : i64} {
  %c = tile.alloc "C" offset 0 : memref<4096xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %c0 to %n step %c1 {
    %tid = gpu.thread_id x
    gpu.barrier
    memref.store %v, %c[%tid] : memref<4096xf16, #s>
    nv.fence_proxy_async
    gpu.barrier
    %leads = arith.cmpi eq, %tid, %c0 : index
    scf.if %leads {
      nv.tma_store %c[%c0] -> %map[%t, %c0] : memref<4096xf16, #s>
      nv.tma_store.commit
      nv.tma_store.wait 0 {read}
    }
  }
  func.return
}

// -----

// The copy engine fills the same bytes for the next turn: who fills them relies on the wait.

#s = #tile.space<shared>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @shared_bytes
// CHECK:         nv.tma_store.commit
// CHECK-NEXT:    nv.tma_store.wait 0 {read}
func.func @shared_bytes(%map: !nv.tensormap, %full: memref<1x!nv.mbarrier, #b>, %n: index, %v: f16) attributes {simt.kernel, simt.threads = 128 : i64} {
  %a = tile.alloc "A" offset 4096 : memref<4096xf16, #s>
  %c = tile.alloc "C" offset 0 : memref<4096xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %c0 to %n step %c1 {
    %tid = gpu.thread_id x
    %leads = arith.cmpi eq, %tid, %c0 : index
    scf.if %leads {
      nv.tma_load %map[%t, %c0] -> %a[%c0] barrier %full[%c0] : memref<4096xf16, #s>, memref<1x!nv.mbarrier, #b>
    }
    gpu.barrier
    memref.store %v, %c[%tid] : memref<4096xf16, #s>
    nv.fence_proxy_async
    gpu.barrier
    scf.if %leads {
      nv.tma_store %c[%c0] -> %map[%t, %c0] : memref<4096xf16, #s>
      nv.tma_store.commit
      nv.tma_store.wait 0 {read}
    }
  }
  func.return
}

// -----

// No barrier stands in front of the writes: threads write bytes of their own.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @no_barrier
// CHECK:         nv.tma_store.commit
// CHECK-NEXT:    nv.tma_store.wait 0 {read}
func.func @no_barrier(%map: !nv.tensormap, %n: index, %v: f16) attributes {simt.kernel, simt.threads = 128 : i64} {
  %c = tile.alloc "C" offset 0 : memref<4096xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %c0 to %n step %c1 {
    %tid = gpu.thread_id x
    memref.store %v, %c[%tid] : memref<4096xf16, #s>
    nv.fence_proxy_async
    gpu.barrier
    %leads = arith.cmpi eq, %tid, %c0 : index
    scf.if %leads {
      nv.tma_store %c[%c0] -> %map[%t, %c0] : memref<4096xf16, #s>
      nv.tma_store.commit
      nv.tma_store.wait 0 {read}
    }
    gpu.barrier
  }
  func.return
}

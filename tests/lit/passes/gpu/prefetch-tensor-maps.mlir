// RUN: tilewright-opt -prefetch-tensor-maps %s | filecheck %s

#s = #tile.space<shared>
#b = #tile.space<barrier>

// Each map of a load once, before the barriers are set up; not the map of a store.

// CHECK-LABEL: func.func @two_maps
// CHECK:         scf.if
// CHECK-NEXT:      nv.prefetch_map %arg0
// CHECK-NEXT:      nv.prefetch_map %arg1
// CHECK-NEXT:      nv.mbarrier.init
// CHECK-NOT:     nv.prefetch_map
func.func @two_maps(%A: !nv.tensormap, %B: !nv.tensormap, %C: !nv.tensormap)
    attributes {simt.kernel, simt.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" offset 0 : memref<64xf16, #s>
  %full = tile.alloc "full" offset 1024 init [1] : memref<1x!nv.mbarrier, #b>
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.if %first {
    nv.mbarrier.init %full[%c0], 1 : memref<1x!nv.mbarrier, #b>
  }
  gpu.barrier
  scf.if %first {
    nv.tma_load %A[%c0] -> %a[%c0] barrier %full[%c0] : memref<64xf16, #s>, memref<1x!nv.mbarrier, #b>
    nv.tma_load %B[%c0] -> %a[%c0] barrier %full[%c0] : memref<64xf16, #s>, memref<1x!nv.mbarrier, #b>
    nv.tma_load %A[%c0] -> %a[%c0] barrier %full[%c0] : memref<64xf16, #s>, memref<1x!nv.mbarrier, #b>
    nv.tma_store %a[%c0] -> %C[%c0] : memref<64xf16, #s>
  }
  func.return
}

// No barrier is set up: there is no load.

// CHECK-LABEL: func.func @no_load
// CHECK-NOT:     nv.prefetch_map
func.func @no_load(%C: !nv.tensormap) attributes {simt.kernel, simt.threads = 128 : i64} {
  func.return
}

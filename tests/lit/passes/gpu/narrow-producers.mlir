// RUN: tilewright-opt -narrow-producers %s | filecheck %s

#s = #tile.space<shared>
#b = #tile.space<barrier>

// Only copies are started: one warp does it.

// CHECK-LABEL: func.func @copies
// CHECK:         role "producer"
// CHECK:           %[[MINE:.*]] = arith.cmpi ult
// CHECK-NEXT:      scf.if %[[MINE]] {
// CHECK-NEXT:        nv.mbarrier.wait
// CHECK:             nv.tma_load
func.func @copies(%map: !nv.tensormap, %i: index, %p: index) attributes {simt.kernel, simt.threads = 256 : i64} {
  %S = tile.alloc "S" offset 0 : memref<1024xf16, #s>
  %empty = tile.alloc "empty" init [128] offset 2048 : memref<1x!nv.mbarrier, #b>
  %c0 = arith.constant 0 : index
  tile.ws
  role "producer" threads(0 to 128) {
    nv.mbarrier.wait %empty[%c0], %p : memref<1x!nv.mbarrier, #b>, index
    nv.tma_load %map[%i, %i] -> %S[%c0] barrier %empty[%c0] : memref<1024xf16, #s>, memref<1x!nv.mbarrier, #b>
  }
  role "consumer" threads(128 to 256) {
    nv.mbarrier.arrive %empty[%c0] : memref<1x!nv.mbarrier, #b>
  }
  func.return
}

// All threads write, too: all of them are needed.

// CHECK-LABEL: func.func @moves
// CHECK:         role "producer"
// CHECK-NOT:     scf.if
func.func @moves(%map: !nv.tensormap, %i: index, %v: f16) attributes {simt.kernel, simt.threads = 256 : i64} {
  %S = tile.alloc "S" offset 0 : memref<1024xf16, #s>
  %full = tile.alloc "full" init [128] offset 2048 : memref<1x!nv.mbarrier, #b>
  %c0 = arith.constant 0 : index
  tile.ws
  role "producer" threads(0 to 128) {
    memref.store %v, %S[%i] : memref<1024xf16, #s>
    nv.tma_load %map[%i, %i] -> %S[%c0] barrier %full[%c0] : memref<1024xf16, #s>, memref<1x!nv.mbarrier, #b>
  }
  role "consumer" threads(128 to 256) {
  }
  func.return
}

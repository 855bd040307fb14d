// RUN: tilewright-opt -place-shared-memory -split-input-file %s | filecheck %s

// What is needed only after the loop takes the bytes of what is needed only in it.

#s = #tile.space<shared>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @epilogue
// CHECK-SAME:    nv.shared_bytes = 65552
// CHECK-DAG:     "ring" offset 0
// CHECK-DAG:     "out" offset 0
// CHECK-DAG:     "full" init [1, 1] offset 65536
func.func @epilogue(%v: f16, %n: index) attributes {nv.kernel, nv.threads = 256 : i64} {
  %full = tile.alloc "full" init [1, 1] : memref<2x!nv.mbarrier, #b>
  %ring = tile.alloc "ring" {nv.align = 1024 : i64} : memref<32768xf16, #s>
  %out = tile.alloc "out" {nv.align = 1024 : i64} : memref<16384xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.ws
  role "producer" threads(0 to 128) {
    memref.store %v, %ring[%c0] : memref<32768xf16, #s>
  }
  role "consumer" threads(128 to 256) {
    scf.for %k = %c0 to %n step %c1 {
      %x = memref.load %ring[%k] : memref<32768xf16, #s>
    }
    memref.store %v, %out[%c0] : memref<16384xf16, #s>
  }
  func.return
}

// -----

// In a loop over tiles the one that copies is ahead: nothing is shared.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @persistent
// CHECK-SAME:    nv.shared_bytes = 98304
func.func @persistent(%v: f16, %n: index) attributes {nv.kernel, nv.threads = 256 : i64} {
  %ring = tile.alloc "ring" {nv.align = 1024 : i64} : memref<32768xf16, #s>
  %out = tile.alloc "out" {nv.align = 1024 : i64} : memref<16384xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.ws
  role "producer" threads(0 to 128) {
    memref.store %v, %ring[%c0] : memref<32768xf16, #s>
  }
  role "consumer" threads(128 to 256) {
    scf.for %tile = %c0 to %n step %c1 {
      %x = memref.load %ring[%tile] : memref<32768xf16, #s>
      memref.store %v, %out[%c0] : memref<16384xf16, #s>
    }
  }
  func.return
}

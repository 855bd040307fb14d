// RUN: tilewright-opt -place-shared-memory -split-input-file %s | filecheck %s

// What is needed only after the loop takes the bytes of what is needed only in it.

#s = #tile.space<shared>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @epilogue
// CHECK-SAME:    simt.shared_bytes = 65552
// CHECK-DAG:     "ring" offset 0
// CHECK-DAG:     "out" offset 0
// CHECK-DAG:     "full" init [1, 1] offset 65536
func.func @epilogue(%v: f16, %n: index) attributes {simt.kernel, simt.threads = 256 : i64} {
  %full = tile.alloc "full" init [1, 1] : memref<2x!nv.mbarrier, #b>
  %ring = tile.alloc "ring" {simt.align = 1024 : i64} : memref<32768xf16, #s>
  %out = tile.alloc "out" {simt.align = 1024 : i64} : memref<16384xf16, #s>
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
// CHECK-SAME:    simt.shared_bytes = 98304
func.func @persistent(%v: f16, %n: index) attributes {simt.kernel, simt.threads = 256 : i64} {
  %ring = tile.alloc "ring" {simt.align = 1024 : i64} : memref<32768xf16, #s>
  %out = tile.alloc "out" {simt.align = 1024 : i64} : memref<16384xf16, #s>
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

// -----

// Buffers of one storage lie in it where they were put; others keep away from all of it.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @storage
// CHECK-SAME:    simt.shared_bytes = 4096
// CHECK-NOT:     tile.storage_alias_spec
// CHECK-DAG:     "first" offset [[START:[0-9]+]] {
// CHECK-DAG:     "second" offset [[START]] {
// CHECK-DAG:     "third"
func.func @storage(%v: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %spec = tile.storage_alias_spec shared size 2048 : !tile.storage_alias_spec<shared>
  %first = tile.alloc "first" alias %spec offset 0 {simt.align = 128 : i64} : memref<512xf32, #s>
  %second = tile.alloc "second" alias %spec offset 0 {simt.align = 128 : i64} : memref<256xf32, #s>
  %third = tile.alloc "third" {simt.align = 128 : i64} : memref<512xf32, #s>
  memref.store %v, %first[%c0] : memref<512xf32, #s>
  memref.store %v, %third[%c0] : memref<512xf32, #s>
  memref.store %v, %second[%c0] : memref<256xf32, #s>
  func.return
}

// -----

// A product knows its operand by a descriptor that was made earlier: the operand is needed still.
// It reads until it has been waited for.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @described
// CHECK-SAME:    simt.shared_bytes = 16384
func.func @described(%v: f16) attributes {simt.kernel, simt.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %yes = arith.constant true
  %acc = tile.alloc "acc" : memref<32xf32, #l>
  %b = tile.alloc "b" {simt.align = 1024 : i64} : memref<4096xf16, #s>
  %other = tile.alloc "other" {simt.align = 1024 : i64} : memref<4096xf16, #s>
  memref.store %v, %b[%c0] : memref<4096xf16, #s>
  %matrix = nv.matrix %b[%c0] swizzle(128) leading(8192) stride(1024) : memref<4096xf16, #s>
  memref.store %v, %other[%c0] : memref<4096xf16, #s>
  nv.wgmma %matrix, %matrix -> %acc[%c0] shape [64, 64, 16] types(f16, f16) scale_d %yes : i64 -> memref<32xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  func.return
}

// -----

// A truth takes a byte, as every element does at least.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @truths
// CHECK-SAME:    simt.shared_bytes = 256
func.func @truths(%v: i1) attributes {simt.kernel, simt.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %mask = tile.alloc "mask" : memref<256xi1, #s>
  memref.store %v, %mask[%c0] : memref<256xi1, #s>
  func.return
}

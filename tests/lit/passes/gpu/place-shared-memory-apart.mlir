// RUN: tilewright-opt -place-shared-memory="reuse-within-iteration=true" -split-input-file %s | filecheck %s

// Threads of the two branches run at the same time: the buffers are apart, private or not.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @branches_of_some_threads
// CHECK-SAME:    simt.shared_bytes = 512
func.func @branches_of_some_threads(%v: f16, %n: index) attributes {simt.kernel, simt.threads = 256 : i64} {
  %one = tile.alloc "one" {tile.private} : memref<128xf16, #s>
  %two = tile.alloc "two" {tile.private} : memref<128xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi slt, %tid, %c128 : index
  scf.for %tile = %c0 to %n step %c1 {
    scf.if %first {
      memref.store %v, %one[%c0] : memref<128xf16, #s>
      %x = memref.load %one[%c0] : memref<128xf16, #s>
    } else {
      memref.store %v, %two[%c0] : memref<128xf16, #s>
      %y = memref.load %two[%c0] : memref<128xf16, #s>
    }
  }
  func.return
}

// -----

// All threads take the same branch: one of the two is enough.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @one_branch
// CHECK-SAME:    simt.shared_bytes = 256
func.func @one_branch(%v: f16, %n: index) attributes {simt.kernel, simt.threads = 256 : i64} {
  %one = tile.alloc "one" {tile.private} : memref<128xf16, #s>
  %two = tile.alloc "two" {tile.private} : memref<128xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %tile = %c0 to %n step %c1 {
    %first = arith.cmpi slt, %tile, %c1 : index
    scf.if %first {
      memref.store %v, %one[%c0] : memref<128xf16, #s>
      %x = memref.load %one[%c0] : memref<128xf16, #s>
    } else {
      memref.store %v, %two[%c0] : memref<128xf16, #s>
      %y = memref.load %two[%c0] : memref<128xf16, #s>
    }
  }
  func.return
}

// -----

// The copy engine still reads "one" when the turn ends: it is never free.

#g = #tile.space<global>
#s = #tile.space<shared>

// CHECK-LABEL: func.func @still_reading
// CHECK-SAME:    simt.shared_bytes = 512
func.func @still_reading(%A: memref<128xf16, #g>, %v: f16, %n: index) attributes {simt.kernel, simt.threads = 256 : i64} {
  %one = tile.alloc "one" {tile.private} : memref<128xf16, #s>
  %two = tile.alloc "two" {tile.private} : memref<128xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %tile = %c0 to %n step %c1 {
    memref.store %v, %two[%c0] : memref<128xf16, #s>
    %x = memref.load %two[%c0] : memref<128xf16, #s>
    nv.tma_store.wait 0
    memref.store %v, %one[%c0] : memref<128xf16, #s>
    nv.bulk_store %one[%c0] -> %A[%c0] elements(128) : memref<128xf16, #s>, memref<128xf16, #g>
  }
  func.return
}

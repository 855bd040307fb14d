// RUN: tilewright-opt %s --insert-thread-syncs="versions=true" | filecheck %s
// RUN: tilewright-opt %s --insert-thread-syncs | filecheck %s --check-prefix=WHOLE

#shared = #tile.space<shared>
#local = #tile.space<local>

// One version is read while the other is filled: one barrier an iteration.
// CHECK-LABEL: func.func @two
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK-NEXT: memref.load
// CHECK-NOT: gpu.barrier
// CHECK: func.return
// WHOLE-LABEL: func.func @two
// WHOLE: scf.for
// WHOLE: gpu.barrier
// WHOLE: memref.load
// WHOLE: gpu.barrier
// WHOLE: memref.store
func.func @two(%n: index) attributes {simt.kernel, simt.threads = 64 : i64, simt.shared_bytes = 512 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %tid = gpu.thread_id x
  %s = tile.alloc "s" offset 0 {simt.versions = 2 : i64} : memref<128xf32, #shared>
  scf.for %k = %c1 to %n step %c1 {
    %p = arith.subi %k, %c1 : index
    %from = arith.remui %p, %c2 : index
    %to = arith.remui %k, %c2 : index
    %a = arith.muli %from, %c64 : index
    %b = arith.muli %to, %c64 : index
    %other = arith.xori %tid, %c63 : index
    %i = arith.addi %a, %other : index
    %j = arith.addi %b, %tid : index
    %v = memref.load %s[%i] : memref<128xf32, #shared>
    memref.store %v, %s[%j] : memref<128xf32, #shared>
  }
  func.return
}

// Filled two iterations ahead, where the previous iteration read.
// CHECK-LABEL: func.func @three
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK-NEXT: memref.store
// CHECK: memref.load
// CHECK-NOT: gpu.barrier
// CHECK: func.return
func.func @three(%n: index) attributes {simt.kernel, simt.threads = 64 : i64, simt.shared_bytes = 768 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %x = arith.constant 1.0 : f32
  %tid = gpu.thread_id x
  %s = tile.alloc "s" offset 0 {simt.versions = 3 : i64} : memref<192xf32, #shared>
  %r = tile.alloc "r" : memref<1xf32, #local>
  scf.for %k = %c0 to %n step %c1 {
    %p = arith.addi %k, %c2 : index
    %from = arith.remui %k, %c3 : index
    %to = arith.remui %p, %c3 : index
    %a = arith.muli %from, %c64 : index
    %b = arith.muli %to, %c64 : index
    %other = arith.xori %tid, %c63 : index
    %i = arith.addi %a, %other : index
    %j = arith.addi %b, %tid : index
    memref.store %x, %s[%j] : memref<192xf32, #shared>
    %v = memref.load %s[%i] : memref<192xf32, #shared>
    memref.store %v, %r[%c0] : memref<1xf32, #local>
  }
  func.return
}

// Read and filled is the same version, and the next iteration has the other one.
// CHECK-LABEL: func.func @same
// CHECK: scf.for
// CHECK-NOT: gpu.barrier
// CHECK: memref.load
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
func.func @same(%n: index) attributes {simt.kernel, simt.threads = 64 : i64, simt.shared_bytes = 512 : i64} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %tid = gpu.thread_id x
  %s = tile.alloc "s" offset 0 {simt.versions = 2 : i64} : memref<128xf32, #shared>
  scf.for %k = %c1 to %n step %c1 {
    %p = arith.addi %k, %c2 : index
    %from = arith.remui %p, %c2 : index
    %to = arith.remui %k, %c2 : index
    %a = arith.muli %from, %c64 : index
    %b = arith.muli %to, %c64 : index
    %other = arith.xori %tid, %c63 : index
    %i = arith.addi %a, %other : index
    %j = arith.addi %b, %tid : index
    %v = memref.load %s[%i] : memref<128xf32, #shared>
    memref.store %v, %s[%j] : memref<128xf32, #shared>
  }
  func.return
}

// Filled four iterations ahead of the reader: neighbours have no conflict, the barrier is still there.
// CHECK-LABEL: func.func @far
// CHECK: scf.for
// CHECK: gpu.barrier
func.func @far(%n: index) attributes {simt.kernel, simt.threads = 64 : i64, simt.shared_bytes = 2048 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %x = arith.constant 1.0 : f32
  %tid = gpu.thread_id x
  %s = tile.alloc "s" offset 0 {simt.versions = 8 : i64} : memref<512xf32, #shared>
  %r = tile.alloc "r" : memref<1xf32, #local>
  scf.for %k = %c0 to %n step %c1 {
    %p = arith.addi %k, %c4 : index
    %from = arith.remui %k, %c8 : index
    %to = arith.remui %p, %c8 : index
    %a = arith.muli %from, %c64 : index
    %b = arith.muli %to, %c64 : index
    %other = arith.xori %tid, %c63 : index
    %i = arith.addi %a, %other : index
    %j = arith.addi %b, %tid : index
    memref.store %x, %s[%j] : memref<512xf32, #shared>
    %v = memref.load %s[%i] : memref<512xf32, #shared>
    memref.store %v, %r[%c0] : memref<1xf32, #local>
  }
  func.return
}

// An index that may leave its version: barriers on both sides.
// CHECK-LABEL: func.func @beyond
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK: memref.store
func.func @beyond(%n: index) attributes {simt.kernel, simt.threads = 65 : i64, simt.shared_bytes = 512 : i64} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %tid = gpu.thread_id x
  %s = tile.alloc "s" offset 0 {simt.versions = 2 : i64} : memref<128xf32, #shared>
  scf.for %k = %c1 to %n step %c1 {
    %p = arith.subi %k, %c1 : index
    %from = arith.remui %p, %c2 : index
    %to = arith.remui %k, %c2 : index
    %a = arith.muli %from, %c64 : index
    %b = arith.muli %to, %c64 : index
    %other = arith.xori %tid, %c63 : index
    %i = arith.addi %a, %other : index
    %j = arith.addi %b, %tid : index
    %v = memref.load %s[%i] : memref<128xf32, #shared>
    memref.store %v, %s[%j] : memref<128xf32, #shared>
  }
  func.return
}

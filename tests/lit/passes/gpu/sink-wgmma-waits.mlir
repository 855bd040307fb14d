// RUN: tilewright-opt -sink-wgmma-waits -split-input-file %s | filecheck %s

// A product stays in flight over the end of a turn; its slot is handed back one turn later.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @deferred
// CHECK:         scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}})
// CHECK:           nv.wgmma.commit
// CHECK-NEXT:      nv.wgmma.wait 1
// CHECK-NEXT:      %[[LATER:.*]] = arith.cmpi ne
// CHECK-NEXT:      scf.if %[[LATER]] {
// CHECK-NEXT:        nv.mbarrier.arrive %{{.*}}[%[[BEFORE]]]
// CHECK:         nv.wgmma.wait 0
// CHECK-NEXT:    nv.wgmma.fence_operand
// CHECK:         nv.mbarrier.arrive
func.func @deferred(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %empty: memref<4x!nv.mbarrier, #b>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %k = %c0 to %n step %c1 {
    %s = arith.remui %k, %c2 : index
    %d = nv.matrix %A[%s] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %acc : memref<64xf32, #l>
    nv.mbarrier.arrive %empty[%s] : memref<4x!nv.mbarrier, #b>
  }
  func.return
}

// -----

// With two slots none would be left to fetch into.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @two_slots
// CHECK:         nv.wgmma.wait 0
// CHECK-NOT:     nv.wgmma.wait 1
func.func @two_slots(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %empty: memref<2x!nv.mbarrier, #b>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %k = %c0 to %n step %c1 {
    %s = arith.remui %k, %c2 : index
    %d = nv.matrix %A[%s] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %acc : memref<64xf32, #l>
    nv.mbarrier.arrive %empty[%s] : memref<2x!nv.mbarrier, #b>
  }
  func.return
}


// -----

// Two of three slots hold 64 KB: enough is on its way.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @three_large_slots
// CHECK:         nv.wgmma.wait 1
func.func @three_large_slots(%A: memref<49152xf16, #s>, %acc: memref<64xf32, #l>, %empty: memref<3x!nv.mbarrier, #b>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %k = %c0 to %n step %c1 {
    %s = arith.remui %k, %c2 : index
    %d = nv.matrix %A[%s] swizzle(128) leading(16) stride(1024) : memref<49152xf16, #s>
    nv.wgmma.fence
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %acc : memref<64xf32, #l>
    nv.mbarrier.arrive %empty[%s] : memref<3x!nv.mbarrier, #b>
  }
  func.return
}

// -----

// With two slots, that of the iteration before is released before threads wait for copies into the
// other one: what they do before overlaps with the MMA.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @released_before_the_wait
// CHECK:         scf.for %[[K:[a-z0-9_]+]] = {{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}})
// CHECK:           memref.store %{{.*}}, %O
// CHECK-NEXT:      nv.wgmma.wait 0
// CHECK-NEXT:      %[[LATER:.*]] = arith.cmpi ne, %[[K]]
// CHECK-NEXT:      scf.if %[[LATER]] {
// CHECK-NEXT:        nv.mbarrier.arrive %{{.*}}[%[[BEFORE]]]
// CHECK-NEXT:      }
// CHECK-NEXT:      nv.mbarrier.wait
// CHECK:           nv.wgmma.commit
// CHECK-NEXT:      scf.yield
// CHECK:         nv.wgmma.wait 0
// CHECK-NEXT:    nv.wgmma.fence_operand
// CHECK:         nv.mbarrier.arrive
func.func @released_before_the_wait(%A: memref<65536xf16, #s>, %acc: memref<64xf32, #l>, %full: memref<2x!nv.mbarrier, #b>, %empty: memref<2x!nv.mbarrier, #b>, %n: index, %v: f16) {
  %O = tile.alloc "O" {tile.rotating, simt.versions = 2 : i64} : memref<8192xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4096 = arith.constant 4096 : index
  scf.for %k = %c0 to %n step %c1 {
    %s = arith.remui %k, %c2 : index
    %first = arith.muli %s, %c4096 : index
    memref.store %v, %O[%first] : memref<8192xf16, #s>
    nv.mbarrier.wait %full[%s], %c0 : memref<2x!nv.mbarrier, #b>, index
    nv.wgmma.fence
    %d = nv.matrix %A[%s] swizzle(128) leading(16) stride(1024) : memref<65536xf16, #s>
    %e = nv.matrix %O[%first] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %e -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %acc : memref<64xf32, #l>
    nv.mbarrier.arrive %empty[%s] : memref<2x!nv.mbarrier, #b>
  }
  func.return
}

// -----

// Threads wait for the copies first: the slot would be released after them. However large two slots
// are, one would be fetched at a time.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @waits_first
// CHECK:         memref.store %{{.*}}, %O
// CHECK:         nv.wgmma.commit
// CHECK-NEXT:    nv.wgmma.wait 0
// CHECK-NEXT:    nv.wgmma.fence_operand
// CHECK-NEXT:    nv.mbarrier.arrive
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return
func.func @waits_first(%A: memref<65536xf16, #s>, %acc: memref<64xf32, #l>, %full: memref<2x!nv.mbarrier, #b>, %empty: memref<2x!nv.mbarrier, #b>, %n: index, %v: f16) {
  %O = tile.alloc "O" {tile.rotating, simt.versions = 2 : i64} : memref<8192xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4096 = arith.constant 4096 : index
  scf.for %k = %c0 to %n step %c1 {
    %s = arith.remui %k, %c2 : index
    %first = arith.muli %s, %c4096 : index
    nv.mbarrier.wait %full[%s], %c0 : memref<2x!nv.mbarrier, #b>, index
    memref.store %v, %O[%first] : memref<8192xf16, #s>
    nv.wgmma.fence
    %d = nv.matrix %A[%s] swizzle(128) leading(16) stride(1024) : memref<65536xf16, #s>
    %e = nv.matrix %O[%first] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %e -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %acc : memref<64xf32, #l>
    nv.mbarrier.arrive %empty[%s] : memref<2x!nv.mbarrier, #b>
  }
  func.return
}

// -----

// The slot is the index of the loop itself: what is carried on is the index of the new loop.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @slot_is_the_index
// CHECK:         scf.for %[[K:[a-z0-9_]+]] = {{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}})
// CHECK:           nv.mbarrier.arrive %{{.*}}[%[[BEFORE]]]
// CHECK:           scf.yield %[[K]] : index
func.func @slot_is_the_index(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %empty: memref<4x!nv.mbarrier, #b>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %k = %c0 to %c3 step %c1 {
    %d = nv.matrix %A[%k] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %acc : memref<64xf32, #l>
    nv.mbarrier.arrive %empty[%k] : memref<4x!nv.mbarrier, #b>
  }
  func.return
}

// -----

// Each iteration signals another block of the cluster: an iteration later it would be the wrong one.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @another_block
// CHECK:         nv.wgmma.wait 0
// CHECK-NOT:     nv.wgmma.wait 1
func.func @another_block(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %empty: memref<4x!nv.mbarrier, #b>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %k = %c0 to %c2 step %c1 {
    %d = nv.matrix %A[%k] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %acc : memref<64xf32, #l>
    %cta = arith.index_cast %k : index to i32
    nv.mbarrier.arrive %empty[%k] cta %cta : memref<4x!nv.mbarrier, #b>
  }
  func.return
}

// -----

// The threads of the loop fill the operand themselves: nothing else says when they may.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @own_operand
// CHECK:         nv.wgmma.wait 0
// CHECK-NOT:     nv.wgmma.wait 1
func.func @own_operand(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %n: index, %v: f16) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    memref.store %v, %A[%k] : memref<8192xf16, #s>
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
  }
  func.return
}

// -----

// They fill it in versions that rotate: the MMA in flight reads another one than they write.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @rotating_operand
// CHECK:         scf.for
// CHECK:           memref.store
// CHECK:           nv.wgmma.commit
// CHECK-NEXT:      nv.wgmma.wait 1
// CHECK:         nv.wgmma.wait 0
// CHECK-NEXT:    nv.wgmma.fence_operand
func.func @rotating_operand(%v: f16, %acc: memref<64xf32, #l>, %n: index) {
  %A = tile.alloc "A" {tile.rotating, simt.versions = 2 : i64} : memref<8192xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4096 = arith.constant 4096 : index
  scf.for %k = %c0 to %n step %c1 {
    %version = arith.remui %k, %c2 : index
    %first = arith.muli %version, %c4096 : index
    memref.store %v, %A[%first] : memref<8192xf16, #s>
    %d = nv.matrix %A[%first] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  }
  func.return
}

// -----

// Somebody looks at the sums in every turn.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @used_sums
// CHECK:         nv.wgmma.wait 0
// CHECK-NOT:     nv.wgmma.wait 1
func.func @used_sums(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %k = %c0 to %n step %c1 {
    memref.store %zero, %acc[%c0] : memref<64xf32, #l>
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
  }
  func.return
}

// RUN: tilewright-opt -overlap-wgmma -split-input-file %s | filecheck %s

// The second product of a turn moves behind the first of the next; it is waited for where its sums
// are looked at, and its slot is handed back there.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @attention
// CHECK:         %[[RUNS:.*]] = arith.cmpi slt
// CHECK-NEXT:    %[[FIRST:.*]] = scf.if %[[RUNS]] -> (index) {
// CHECK:           nv.wgmma %{{.*}} -> %arg1
// CHECK-NOT:       nv.wgmma %arg2
// CHECK:         } else {
// CHECK:         scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %[[FIRST]])
// CHECK:           nv.wgmma %{{.*}} -> %arg1
// CHECK-NEXT:      nv.wgmma.commit
// CHECK:           nv.mbarrier.wait %arg4[%[[BEFORE]]]
// CHECK:           nv.wgmma %arg2{{.*}} -> %arg3
// CHECK-NEXT:      nv.wgmma.commit
// CHECK-NEXT:      nv.wgmma.wait 1
// CHECK-NEXT:      nv.wgmma.fence_operand %arg1
// CHECK:           memref.load %arg1
// CHECK:           nv.wgmma.fence_operand %arg1 {late}
// CHECK-NEXT:      nv.wgmma.wait 0
// CHECK-NEXT:      nv.wgmma.fence_operand %arg3 {late}
// CHECK-NEXT:      nv.mbarrier.arrive %arg5[%[[BEFORE]]]
// CHECK:           memref.store %{{.*}}, %arg2
// CHECK:         scf.if %[[RUNS]] {
// CHECK:           nv.wgmma %arg2{{.*}} -> %arg3
// CHECK:           nv.wgmma.wait 0
// CHECK:           nv.mbarrier.arrive %arg5
func.func @attention(%K: memref<8192xf16, #s>, %scores: memref<64xf32, #l>, %weights: memref<64xf16, #l>, %out: memref<64xf32, #l>, %full: memref<2x!nv.mbarrier, #b>, %empty: memref<2x!nv.mbarrier, #b>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %k = %c0 to %n step %c1 {
    %s = arith.remui %k, %c2 : index
    %q = nv.matrix %K[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %q, %q -> %scores[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %scores : memref<64xf32, #l>
    %x = memref.load %scores[%c0] : memref<64xf32, #l>
    %y = arith.truncf %x : f32 to f16
    memref.store %y, %weights[%c0] : memref<64xf16, #l>
    nv.mbarrier.wait %full[%s], %c0 : memref<2x!nv.mbarrier, #b>, index
    %v = nv.matrix %K[%s] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %weights[%c0], %v -> %out[%c0] shape [64, 128, 16] types(f16, f16) : memref<64xf16, #l> -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %out : memref<64xf32, #l>
    nv.mbarrier.arrive %empty[%s] : memref<2x!nv.mbarrier, #b>
  }
  func.return
}

// One warp group has nothing else to fill the tensor core with during its softmax; with two, one group's
// products run during the softmax of the other, and the loop stays as it is.

// -----

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @one_warp_group
// CHECK:         nv.wgmma.wait 1
func.func @one_warp_group(%K: memref<8192xf16, #s>, %scores: memref<64xf32, #l>, %weights: memref<64xf16, #l>, %out: memref<64xf32, #l>, %full: memref<2x!nv.mbarrier, #b>, %empty: memref<2x!nv.mbarrier, #b>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.kernel (%block) in (%n) threads(128) {
    scf.for %k = %c0 to %n step %c1 {
      %s = arith.remui %k, %c2 : index
      %q = nv.matrix %K[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
      nv.wgmma.fence
      nv.wgmma %q, %q -> %scores[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
      nv.wgmma.commit
      nv.wgmma.wait 0
      nv.wgmma.fence_operand %scores : memref<64xf32, #l>
      %x = memref.load %scores[%c0] : memref<64xf32, #l>
      %y = arith.truncf %x : f32 to f16
      memref.store %y, %weights[%c0] : memref<64xf16, #l>
      nv.mbarrier.wait %full[%s], %c0 : memref<2x!nv.mbarrier, #b>, index
      %v = nv.matrix %K[%s] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
      nv.wgmma.fence
      nv.wgmma %weights[%c0], %v -> %out[%c0] shape [64, 128, 16] types(f16, f16) : memref<64xf16, #l> -> memref<64xf32, #l>
      nv.wgmma.commit
      nv.wgmma.wait 0
      nv.wgmma.fence_operand %out : memref<64xf32, #l>
      nv.mbarrier.arrive %empty[%s] : memref<2x!nv.mbarrier, #b>
    }
  }
  func.return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @two_warp_groups
// CHECK-NOT:     nv.wgmma.wait 1
// CHECK:         func.return
func.func @two_warp_groups(%K: memref<8192xf16, #s>, %scores: memref<64xf32, #l>, %weights: memref<64xf16, #l>, %out: memref<64xf32, #l>, %full: memref<2x!nv.mbarrier, #b>, %empty: memref<2x!nv.mbarrier, #b>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.kernel (%block) in (%n) threads(256) {
    scf.for %k = %c0 to %n step %c1 {
      %s = arith.remui %k, %c2 : index
      %q = nv.matrix %K[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
      nv.wgmma.fence
      nv.wgmma %q, %q -> %scores[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
      nv.wgmma.commit
      nv.wgmma.wait 0
      nv.wgmma.fence_operand %scores : memref<64xf32, #l>
      %x = memref.load %scores[%c0] : memref<64xf32, #l>
      %y = arith.truncf %x : f32 to f16
      memref.store %y, %weights[%c0] : memref<64xf16, #l>
      nv.mbarrier.wait %full[%s], %c0 : memref<2x!nv.mbarrier, #b>, index
      %v = nv.matrix %K[%s] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
      nv.wgmma.fence
      nv.wgmma %weights[%c0], %v -> %out[%c0] shape [64, 128, 16] types(f16, f16) : memref<64xf16, #l> -> memref<64xf32, #l>
      nv.wgmma.commit
      nv.wgmma.wait 0
      nv.wgmma.fence_operand %out : memref<64xf32, #l>
      nv.mbarrier.arrive %empty[%s] : memref<2x!nv.mbarrier, #b>
    }
  }
  func.return
}

// -----

// Both products add to the same sums: their order stays.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @same_sums
// CHECK-NOT:     scf.if
// CHECK:         scf.for
// CHECK-NOT:     nv.wgmma.wait 1
func.func @same_sums(%K: memref<8192xf16, #s>, %out: memref<64xf32, #l>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %q = nv.matrix %K[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %q, %q -> %out[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %out : memref<64xf32, #l>
    nv.wgmma.fence
    nv.wgmma %q, %q -> %out[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %out : memref<64xf32, #l>
  }
  func.return
}

// -----

// A barrier with one slot: the slot must be free for the very next turn.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @one_slot
// CHECK-NOT:     nv.wgmma.wait 1
func.func @one_slot(%K: memref<8192xf16, #s>, %scores: memref<64xf32, #l>, %out: memref<64xf32, #l>, %empty: memref<1x!nv.mbarrier, #b>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %q = nv.matrix %K[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %q, %q -> %scores[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %scores : memref<64xf32, #l>
    %x = memref.load %scores[%c0] : memref<64xf32, #l>
    nv.wgmma.fence
    nv.wgmma %q, %q -> %out[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %out : memref<64xf32, #l>
    nv.mbarrier.arrive %empty[%c0] : memref<1x!nv.mbarrier, #b>
  }
  func.return
}

// -----

// Fragments that fill a thread's registers leave no room to hold both products.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @no_room
// CHECK-NOT:     nv.wgmma.wait 1
func.func @no_room(%K: memref<8192xf16, #s>, %scores: memref<128xf32, #l>, %out: memref<128xf32, #l>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %q = nv.matrix %K[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma.fence
    nv.wgmma %q, %q -> %scores[%c0] shape [64, 256, 16] types(f16, f16) : i64 -> memref<128xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %scores : memref<128xf32, #l>
    nv.wgmma.fence
    nv.wgmma %q, %q -> %out[%c0] shape [64, 256, 16] types(f16, f16) : i64 -> memref<128xf32, #l>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %out : memref<128xf32, #l>
  }
  func.return
}

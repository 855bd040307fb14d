// RUN: tilewright-opt --pack-narrow-elements --split-input-file %s | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>

// A copy moves bytes; a loop gives each element a byte.
// CHECK-LABEL: func.func @load
// CHECK-SAME: %[[A:.*]]: memref<64x32xi8, #global> {tile.dtype = "uint8"}
// CHECK: %[[BYTES:.*]] = tile.alloc "packed" {dtype = "uint8"} : memref<32x16xi8, #shared>
// CHECK: %S = tile.alloc "S" {dtype = "int8"} : memref<32x32xi8, #shared>
// CHECK: %[[PART:.*]] = tile.region %[[A]][0, 8] [32, 16] : memref<64x32xi8, #global>
// CHECK-NEXT: tile.copy %[[PART]] -> %[[BYTES]]
// CHECK: tile.parallel (%[[I:.*]], %[[P:.*]]) in (32, 16) {
// CHECK-NEXT: %[[BYTE:.*]] = memref.load %[[BYTES]][%[[I]], %[[P]]]
// CHECK: arith.shrsi
// CHECK: memref.store %{{.*}}, %S[%[[I]],
// CHECK: arith.shrui %[[BYTE]]
// CHECK: memref.store %{{.*}}, %S[%[[I]],
func.func @load(%A: memref<64x64xi4, #global> {tile.dtype = "int4", tile.shape = [64, 64]}) {
  tile.kernel (%x) in (1) threads(32) {
    %S = tile.alloc "S" {dtype = "int4"} : memref<32x32xi4, #shared>
    %part = tile.region %A[0, 16] [32, 32] : memref<64x64xi4, #global> to !tile.region<32x32xi4, #global>
    tile.copy %part -> %S : !tile.region<32x32xi4, #global> -> memref<32x32xi4, #shared>
  }
  func.return
}

// -----

#global = #tile.space<global>

// Two iterations that store the halves of a byte become one, which stores the byte.
// CHECK-LABEL: func.func @store
// CHECK: tile.parallel (%[[I:.*]], %[[P:.*]]) in (8, 8) {
// CHECK-NOT: memref.load %arg1
// CHECK: arith.ori
// CHECK: memref.store %{{.*}}, %arg1[%[[I]], %[[P]]] : memref<8x8xi8, #global>
// CHECK-NOT: memref.store
func.func @store(%A: memref<8x16xf32, #global>, %B: memref<8x16xf4E2M1FN, #global>) {
  tile.kernel (%x) in (1) threads(32) {
    tile.parallel (%i, %j) in (8, 16) {
      %v = memref.load %A[%i, %j] : memref<8x16xf32, #global>
      %w = arith.truncf %v : f32 to f4E2M1FN
      memref.store %w, %B[%i, %j] : memref<8x16xf4E2M1FN, #global>
    }
  }
  func.return
}

// -----

#global = #tile.space<global>

// A single element is changed in its byte.
// CHECK-LABEL: func.func @change
// CHECK: memref.load %arg0[%c3] : memref<8xi8, #global>
// CHECK: arith.andi
// CHECK: memref.store %{{.*}}, %arg0[%c3
func.func @change(%B: memref<16xi4, #global>) {
  tile.kernel (%x) in (1) threads(1) {
    %at = arith.constant 7 : index
    %v = arith.constant 5 : i4
    memref.store %v, %B[%at] : memref<16xi4, #global>
  }
  func.return
}

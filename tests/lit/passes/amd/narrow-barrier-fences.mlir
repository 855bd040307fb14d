// RUN: tilewright-opt %s --narrow-barrier-fences -split-input-file | filecheck %s

// What is staged through LDS and stored to another tensor: no tensor needs the barriers.
#g = #tile.space<global>
#s = #tile.space<shared>
// CHECK-LABEL: @staged
// CHECK-COUNT-2: gpu.barrier memfence [#gpu.address_space<workgroup>]
// CHECK-NOT: tile.sync
func.func @staged(%A: memref<?xf32, #g>, %B: memref<?xf32, #g>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %S = tile.alloc "S" offset 0 : memref<8xf32, #s>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %A[%i] : memref<?xf32, #g>
    memref.store %v, %S[%i] : memref<8xf32, #s>
    gpu.barrier
  }
  tile.sync
  %w = memref.load %S[%c0] : memref<8xf32, #s>
  memref.store %w, %B[%c0] : memref<?xf32, #g>
  func.return
}

// -----

// Another thread reads the element behind the barrier.
#g = #tile.space<global>
// CHECK-LABEL: @handed_over
// CHECK: memref.store
// CHECK-NEXT: gpu.barrier{{$}}
// CHECK: memref.load
// CHECK-NEXT: gpu.barrier memfence
func.func @handed_over(%A: memref<?xf32, #g>, %B: memref<?xf32, #g>, %i: index, %x: f32) attributes {simt.kernel} {
  memref.store %x, %A[%i] : memref<?xf32, #g>
  gpu.barrier
  %v = memref.load %A[%i] : memref<?xf32, #g>
  gpu.barrier
  memref.store %v, %B[%i] : memref<?xf32, #g>
  func.return
}

// -----

// A load before the barrier must not see the store after it.
#g = #tile.space<global>
// CHECK-LABEL: @overwritten
// CHECK: gpu.barrier{{$}}
func.func @overwritten(%A: memref<?xf32, #g>, %B: memref<?xf32, #g>, %i: index) attributes {simt.kernel} {
  %v = memref.load %A[%i] : memref<?xf32, #g>
  gpu.barrier
  memref.store %v, %A[%i] : memref<?xf32, #g>
  func.return
}

// -----

// In a loop the store of one iteration is before the load of the next.
#g = #tile.space<global>
// CHECK-LABEL: @iterations
// CHECK: gpu.barrier{{$}}
// CHECK: }
// CHECK: gpu.barrier memfence
func.func @iterations(%A: memref<?xf32, #g>, %i: index) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 {
    %v = memref.load %A[%i] : memref<?xf32, #g>
    memref.store %v, %A[%k] : memref<?xf32, #g>
    gpu.barrier
  }
  gpu.barrier
  func.return
}

// -----

// Two arguments that are views of one tensor.
#g = #tile.space<global>
// CHECK-LABEL: @views
// CHECK: gpu.barrier{{$}}
func.func @views(%A: memref<?xf32, #g> {simt.tensor = 0 : i64}, %B: memref<?xf32, #g> {simt.tensor = 0 : i64}, %i: index, %x: f32) attributes {simt.kernel} {
  memref.store %x, %A[%i] : memref<?xf32, #g>
  gpu.barrier
  %v = memref.load %B[%i] : memref<?xf32, #g>
  func.return
}

// -----

// Two writes: a barrier of the user or of order-tensor-writes orders them.
#g = #tile.space<global>
// CHECK-LABEL: @two_writes
// CHECK: tile.sync
// CHECK: gpu.barrier memfence
func.func @two_writes(%A: memref<?xf32, #g>, %i: index, %x: f32) attributes {simt.kernel} {
  memref.store %x, %A[%i] : memref<?xf32, #g>
  tile.sync
  gpu.barrier
  memref.store %x, %A[%i] : memref<?xf32, #g>
  func.return
}

// -----

// Atomic updates need no order among themselves; plain accesses and updates do.
#g = #tile.space<global>
// CHECK-LABEL: @updates
// CHECK: tile.atomic add
// CHECK-NEXT: gpu.barrier memfence
// CHECK-COUNT-2: tile.atomic add
// CHECK-NEXT: gpu.barrier{{$}}
func.func @updates(%A: memref<?xi32, #g>, %B: memref<?xi32, #g>, %i: index, %x: i32) attributes {simt.kernel} {
  tile.atomic add %A[%i], %x : memref<?xi32, #g>, i32
  gpu.barrier
  tile.atomic add %A[%i], %x : memref<?xi32, #g>, i32
  tile.atomic add %B[%i], %x : memref<?xi32, #g>, i32
  gpu.barrier
  %v = memref.load %B[%i] : memref<?xi32, #g>
  func.return
}

// -----

// An update with a memory order concerns every tensor.
#g = #tile.space<global>
// CHECK-LABEL: @release
// CHECK: gpu.barrier{{$}}
func.func @release(%A: memref<?xi32, #g>, %B: memref<?xi32, #g>, %i: index, %x: i32) attributes {simt.kernel} {
  memref.store %x, %B[%i] : memref<?xi32, #g>
  gpu.barrier
  tile.atomic add %A[%i], %x order release : memref<?xi32, #g>, i32
  func.return
}

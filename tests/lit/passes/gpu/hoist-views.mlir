// RUN: tilewright-opt -hoist-views %s | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>

// CHECK-LABEL: func.func @f(
// CHECK-NEXT: [[V:%.*]] = tile.view %arg0
// CHECK-NEXT: tile.kernel
// CHECK: tile.view %s
// CHECK: memref.load [[V]]
func.func @f(%A: memref<3x64xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %flat = tile.view %A : memref<3x64xf16, #global> to memref<192xf16, #global>
    %s = tile.alloc "s" : memref<4x8xf16, #shared>
    %line = tile.view %s : memref<4x8xf16, #shared> to memref<32xf16, #shared>
    %x = memref.load %flat[%bx] : memref<192xf16, #global>
    memref.store %x, %line[%bx] : memref<32xf16, #shared>
  }
  func.return
}

// A view at an address that the host can compute goes with the address.
// CHECK-LABEL: func.func @addresses(
// CHECK-NEXT: [[P:%.*]] = tile.ptr_of r %arg0[%arg1]
// CHECK-NEXT: tile.view [[P]]
// CHECK-NEXT: tile.kernel
// CHECK: [[Q:%.*]] = tile.ptr_of r %arg0[%arg2]
// CHECK: tile.view [[Q]]
func.func @addresses(%A: memref<?xf16, #global>, %n: index) {
  tile.kernel (%bx) in (4) threads(128) {
    %p = tile.ptr_of r %A[%n] : memref<?xf16, #global>
    %a = tile.view %p : !tile.ptr<f16, #global> to memref<64xf16, #global>
    %q = tile.ptr_of r %A[%bx] : memref<?xf16, #global>
    %b = tile.view %q : !tile.ptr<f16, #global> to memref<64xf16, #global>
    %x = memref.load %a[%bx] : memref<64xf16, #global>
    memref.store %x, %b[%bx] : memref<64xf16, #global>
  }
  func.return
}

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

// RUN: tilewright-opt %s --wrap-scalar-fragment-access --split-input-file --verify-diagnostics

func.func @third_element() {
  tile.kernel (%bx) in (4) threads(128) {
    %f = tile.alloc : memref<64xf32, #tile.space<fragment>>
    %c3 = arith.constant 3 : index
    %one = arith.constant 1.0 : f32
    // expected-error @+1 {{Fragment buffer access with non-zero index [3] is not supported. Only fragment[0] access is allowed}}
    memref.store %one, %f[%c3] : memref<64xf32, #tile.space<fragment>>
  }
  func.return
}

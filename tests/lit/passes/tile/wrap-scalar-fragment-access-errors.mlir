// RUN: tilewright-opt %s --wrap-scalar-fragment-access --split-input-file --verify-diagnostics

func.func @element_of_a_result() {
  tile.kernel (%bx) in (4) threads(128) {
    %a = tile.alloc : memref<64x64xf32, #tile.space<fragment>>
    %f = tile.alloc : memref<64xf32, #tile.space<fragment>>
    %c3 = arith.constant 3 : index
    %one = arith.constant 1.0 : f32
    tile.reduce sum %a -> %f dim 1 : memref<64x64xf32, #tile.space<fragment>> -> memref<64xf32, #tile.space<fragment>>
    // expected-error @+1 {{Fragment buffer access with non-zero index [3] is not supported. Only fragment[0] access is allowed}}
    memref.store %one, %f[%c3] : memref<64xf32, #tile.space<fragment>>
  }
  func.return
}

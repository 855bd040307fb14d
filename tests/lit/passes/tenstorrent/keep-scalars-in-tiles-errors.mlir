// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --keep-scalars-in-tiles --verify-diagnostics

// What decides about control flow cannot be in a tile.

#fragment = #tile.space<fragment>
func.func @control() attributes {tile.entry} {
  tile.kernel (%bx) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %x = tile.alloc "x" : memref<64xf32, #fragment>
    %total = tile.alloc "total" : memref<1xf32, #fragment>
    // expected-error @below {{a value of 'total' decides about control flow or addresses}}
    %sum = memref.load %total[%c0] : memref<1xf32, #fragment>
    %is_more = arith.cmpf ogt, %sum, %zero : f32
    scf.if %is_more {
      tile.fill %x, %zero : memref<64xf32, #fragment>, f32
    }
  }
  func.return
}

// RUN: tilewright-opt -lower-l2-policy -verify-diagnostics %s

#g = #tile.space<global>

// expected-error @+1 {{the L2 hit ratio of B is a number above 0 and at most 1, got 1.5}}
func.func @wrong(%B: memref<64xf32, #g> {tile.l2_hit_ratio = 1.5 : f64, tile.name = "B"}) {
  func.return
}

// expected-error @+1 {{n is no tensor: the L2 holds global memory}}
func.func @no_tensor(%n: index {tile.l2_hit_ratio = 0.5 : f64, tile.name = "n"}) {
  func.return
}

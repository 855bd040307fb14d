// RUN: tilewright-opt -lower-l2-policy -verify-diagnostics %s

#g = #tile.space<global>

// expected-error @+1 {{L2 hit ratio of B must be above 0 and at most 1, got 1.5}}
func.func @wrong(%B: memref<64xf32, #g> {tile.l2_hit_ratio = 1.5 : f64, tile.name = "B"}) {
  func.return
}

// expected-error @+1 {{L2 hit ratio of n: not a tensor; L2 policies apply to global memory only}}
func.func @no_tensor(%n: index {tile.l2_hit_ratio = 0.5 : f64, tile.name = "n"}) {
  func.return
}

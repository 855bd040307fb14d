// RUN: tilewright-opt -lower-l2-policy %s 2>/dev/null | filecheck %s
// RUN: tilewright-opt -lower-l2-policy -verify-diagnostics %s

#g = #tile.space<global>

// The hint goes, what else is said of the argument stays.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     l2_hit_ratio
// CHECK-SAME:    tile.safe_value = 0.000000e+00 : f32
// CHECK-NOT:     l2_hit_ratio
// expected-remark @+1 {{the L2 hit ratio 0.5 of A is not applied}}
func.func @kept(%A: memref<64xf32, #g> {tile.l2_hit_ratio = 0.5 : f64, tile.safe_value = 0.0 : f32, tile.name = "A"}) {
  func.return
}

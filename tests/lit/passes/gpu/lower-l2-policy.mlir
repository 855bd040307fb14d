// RUN: tilewright-opt -lower-l2-policy %s 2>/dev/null | filecheck %s
// RUN: tilewright-opt -lower-l2-policy -verify-diagnostics %s

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// The hint goes, what else is said of the argument stays.
// CHECK-LABEL: func.func @host
// CHECK-NOT:     l2_hit_ratio
// CHECK-SAME:    tile.safe_value = 0.000000e+00 : f32
// CHECK-NOT:     l2_hit_ratio
func.func @host(%A: memref<64xf16, #g> {tile.l2_hit_ratio = 0.5 : f64, tile.safe_value = 0.0 : f32, tile.name = "A"}, %B: memref<64x64xf16, #g> {tile.l2_hit_ratio = 1.0 : f64, tile.name = "B"}, %C: memref<64xf16, #g>) {
  %1 = arith.constant 1 : index
  %map = nv.tensormap %B box [64, 64] swizzle(128) : memref<64x64xf16, #g>
  simt.launch @kernel grid(%1, %1, %1) args(%A, %map, %C) : memref<64xf16, #g>, !nv.tensormap, memref<64xf16, #g>
  func.return
}

// One policy for each ratio, where the kernel begins. Tensors without a hint get none.
// CHECK-LABEL: func.func @kernel
// CHECK-NEXT:    [[HALF:%[a-z0-9_]+]] = nv.l2_policy evict_last {fraction = 5.000000e-01 : f32}
// CHECK-NEXT:    [[ALL:%[a-z0-9_]+]] = nv.l2_policy evict_last {fraction = 1.000000e+00 : f32}
// CHECK-NEXT:    [[NONE:%[a-z0-9_]+]] = nv.l2_policy evict_first {fraction = 1.000000e+00 : f32}
func.func @kernel(%A: memref<64xf16, #g>, %B: !nv.tensormap, %C: memref<64xf16, #g>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %S = tile.alloc "S" {offset = 0 : i64} : memref<4096xf16, #s>
  %bar = tile.alloc "bar" init [1] {offset = 8192 : i64} : memref<1x!nv.mbarrier, #b>
  %r = tile.alloc "r" : memref<8xf16, #l>
  // CHECK: simt.move %arg0[{{.*}}] -> {{.*}} lanes(8) policy [[HALF]]
  simt.move %A[%0] -> %r[%0] lanes(8) : memref<64xf16, #g>, memref<8xf16, #l>
  // CHECK: simt.move {{.*}} -> %arg2[{{.*}}] lanes(8) :
  simt.move %r[%0] -> %C[%0] lanes(8) : memref<8xf16, #l>, memref<64xf16, #g>
  // CHECK: simt.move {{.*}} -> %arg0[{{.*}}] lanes(8) policy [[HALF]]
  simt.move %r[%0] -> %A[%0] lanes(8) : memref<8xf16, #l>, memref<64xf16, #g>
  // CHECK: nv.async_move {{.*}} lanes(8) policy [[HALF]]
  nv.async_move %A[%0] -> %S[%0] lanes(8) : memref<64xf16, #g>, memref<4096xf16, #s>
  // CHECK: nv.bulk_load {{.*}} policy [[HALF]]
  nv.bulk_load %A[%0] -> %S[%0] elements(64) barrier %bar[%0] : memref<64xf16, #g>, memref<4096xf16, #s>, memref<1x!nv.mbarrier, #b>
  // CHECK: [[X:%[a-z0-9_]+]] = nv.load %arg0[{{.*}}] policy [[HALF]]
  %x = memref.load %A[%0] : memref<64xf16, #g>
  // CHECK: nv.store [[X]], %arg0[{{.*}}] policy [[HALF]]
  memref.store %x, %A[%0] : memref<64xf16, #g>
  // CHECK: memref.store [[X]], %arg2
  memref.store %x, %C[%0] : memref<64xf16, #g>
  // CHECK: nv.tma_load %arg1[{{.*}} policy [[ALL]]
  nv.tma_load %B[%0, %0] -> %S[%0] barrier %bar[%0] : memref<4096xf16, #s>, memref<1x!nv.mbarrier, #b>
  // What the author said of this copy comes first.
  // CHECK: nv.tma_load %arg1[{{.*}} policy [[NONE]] {eviction_policy = "evict_first"}
  nv.tma_load %B[%0, %0] -> %S[%0] barrier %bar[%0] {eviction_policy = "evict_first"} : memref<4096xf16, #s>, memref<1x!nv.mbarrier, #b>
  // CHECK: nv.tma_load
  // CHECK-NOT: policy %
  // CHECK-SAME: {eviction_policy = "evict_normal"}
  nv.tma_load %B[%0, %0] -> %S[%0] barrier %bar[%0] {eviction_policy = "evict_normal"} : memref<4096xf16, #s>, memref<1x!nv.mbarrier, #b>
  // CHECK: nv.tma_store {{.*}} policy [[ALL]]
  nv.tma_store %S[%0] -> %B[%0, %0] : memref<4096xf16, #s>
  func.return
}

func.func @updates(%A: memref<64xf32, #g> {tile.l2_hit_ratio = 0.5 : f64, tile.name = "A"}) {
  %1 = arith.constant 1 : index
  simt.launch @update grid(%1, %1, %1) args(%A) : memref<64xf32, #g>
  func.return
}

// CHECK-LABEL: func.func @update
// CHECK-NOT:     nv.l2_policy
// expected-remark @+1 {{the L2 hit ratio 0.5 of A not applied to 1 of its accesses: atomic updates and external code take no L2 policy}}
func.func @update(%A: memref<64xf32, #g>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %f = arith.constant 1.0 : f32
  tile.atomic add %A[%0], %f : memref<64xf32, #g>, f32
  func.return
}

// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// What one thread does on the NVIDIA machine, in text and back.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>
func.func @k(%A: memref<?x?xf16, #g>, %a: memref<64xf16, #l>, %p: memref<64xf32, #l>, %S: memref<8192xf16, #s>, %bar: memref<3x!nv.mbarrier, #b>, %i: index, %t: i1, %m: i16) {
  // CHECK: simt.move {{%[a-z0-9]+}}[{{%[a-z0-9]+}}, {{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] lanes(8) : memref<?x?xf16, #global>, memref<64xf16, #local>
  simt.move %A[%i, %i] -> %a[%i] lanes(8) : memref<?x?xf16, #g>, memref<64xf16, #l>
  // CHECK: nv.async_move {{%[a-z0-9]+}}[{{%[a-z0-9]+}}, {{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] lanes(8) valid {{%[a-z0-9]+}} : memref<?x?xf16, #global>, memref<8192xf16, #shared>
  nv.async_move %A[%i, %i] -> %S[%i] lanes(8) valid %i : memref<?x?xf16, #g>, memref<8192xf16, #s>
  // CHECK: nv.async_move {{%[a-z0-9]+}}[{{%[a-z0-9]+}}, {{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] lanes(8) : memref<?x?xf16, #global>, memref<8192xf16, #shared>
  nv.async_move %A[%i, %i] -> %S[%i] lanes(8) : memref<?x?xf16, #g>, memref<8192xf16, #s>
  // CHECK: simt.convert {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] lanes(2) : memref<64xf32, #local>, memref<64xf16, #local>
  simt.convert %p[%i] -> %a[%i] lanes(2) : memref<64xf32, #l>, memref<64xf16, #l>
  // CHECK: nv.red_add {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}, {{%[a-z0-9]+}}] lanes(8) : memref<64xf16, #local>, memref<?x?xf16, #global>
  nv.red_add %a[%i] -> %A[%i, %i] lanes(8) : memref<64xf16, #l>, memref<?x?xf16, #g>
  // CHECK: nv.ldmatrix {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] count(4) {transposed} : memref<8192xf16, #shared>, memref<64xf16, #local>
  nv.ldmatrix %S[%i] -> %a[%i] count(4) {transposed} : memref<8192xf16, #s>, memref<64xf16, #l>
  // CHECK: nv.stmatrix {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] count(4) : memref<64xf16, #local>, memref<8192xf16, #shared>
  nv.stmatrix %a[%i] -> %S[%i] count(4) : memref<64xf16, #l>, memref<8192xf16, #s>
  // CHECK: nv.mma {{%[a-z0-9]+}}[{{%[a-z0-9]+}}], {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] shape [16, 8, 16] : memref<64xf16, #local>, memref<64xf16, #local> -> memref<64xf32, #local>
  nv.mma %a[%i], %a[%i] -> %p[%i] shape [16, 8, 16] : memref<64xf16, #l>, memref<64xf16, #l> -> memref<64xf32, #l>
  // CHECK: {{%[a-z0-9]+}} = nv.matrix {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #shared>
  %d = nv.matrix %S[%i] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  // CHECK: {{%[a-z0-9]+}} = nv.matrix {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] advance(32) swizzle(128) leading(16) stride(1024) : memref<8192xf16, #shared>
  %further = nv.matrix %S[%i] advance(32) swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  // CHECK: nv.wgmma.fence
  nv.wgmma.fence
  // CHECK: nv.wgmma {{%[a-z0-9]+}}, {{%[a-z0-9]+}} -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] shape [64, 64, 16] types(f16, f16) scale_d {{%[a-z0-9]+}} {transposed_b} : i64 -> memref<64xf32, #local>
  nv.wgmma %d, %d -> %p[%i] shape [64, 64, 16] types(f16, f16) scale_d %t {transposed_b} : i64 -> memref<64xf32, #l>
  // CHECK: nv.wgmma {{%[a-z0-9]+}}[{{%[a-z0-9]+}}], {{%[a-z0-9]+}} -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] shape [64, 64, 16] types(f16, f16) : memref<64xf16, #local> -> memref<64xf32, #local>
  nv.wgmma %a[%i], %d -> %p[%i] shape [64, 64, 16] types(f16, f16) : memref<64xf16, #l> -> memref<64xf32, #l>
  // CHECK: nv.wgmma.fence_operand {{%[a-z0-9]+}} {late} : memref<64xf32, #local>
  nv.wgmma.fence_operand %p {late} : memref<64xf32, #l>
  // CHECK: nv.wgmma.commit
  nv.wgmma.commit
  // CHECK: {{%[a-z0-9]+}} = nv.tensormap {{%[a-z0-9]+}} box [128, 64] swizzle(128) : memref<?x?xf16, #global>
  %map = nv.tensormap %A box [128, 64] swizzle(128) : memref<?x?xf16, #g>
  // CHECK: nv.prefetch_map {{%[a-z0-9]+}}
  nv.prefetch_map %map
  // CHECK: nv.tma_load {{%[a-z0-9]+}}[{{%[a-z0-9]+}}, {{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] barrier {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] : memref<8192xf16, #shared>, memref<3x!nv.mbarrier, #barrier>
  nv.tma_load %map[%i, %i] -> %S[%i] barrier %bar[%i] : memref<8192xf16, #s>, memref<3x!nv.mbarrier, #b>
  // CHECK: nv.tma_load {{%[a-z0-9]+}}[{{%[a-z0-9]+}}, {{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] barrier {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] multicast {{%[a-z0-9]+}} : memref<8192xf16, #shared>, memref<3x!nv.mbarrier, #barrier>
  nv.tma_load %map[%i, %i] -> %S[%i] barrier %bar[%i] multicast %m : memref<8192xf16, #s>, memref<3x!nv.mbarrier, #b>
  // CHECK: nv.tma_store {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}, {{%[a-z0-9]+}}] : memref<8192xf16, #shared>
  nv.tma_store %S[%i] -> %map[%i, %i] : memref<8192xf16, #s>
  // CHECK: nv.tma_reduce add {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}, {{%[a-z0-9]+}}] : memref<8192xf16, #shared>
  nv.tma_reduce add %S[%i] -> %map[%i, %i] : memref<8192xf16, #s>
  %f = arith.constant 1.0 : f32
  // CHECK: {{%[a-z0-9]+}} = simt.allreduce sum {{%[a-z0-9]+}} threads(4) scale(1) : f32
  %s = simt.allreduce sum %f threads(4) scale(1) : f32
  // CHECK: {{%[a-z0-9]+}} = simt.stride {{%[a-z0-9]+}} axis(0) : memref<?x?xf16, #global>
  %st = simt.stride %A axis(0) : memref<?x?xf16, #g>
  // CHECK: simt.launch @k2 grid({{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}}) args({{%[a-z0-9]+}}, {{%[a-z0-9]+}}) : memref<?x?xf16, #global>, !nv.tensormap
  simt.launch @k2 grid(%i, %i, %i) args(%A, %map) : memref<?x?xf16, #g>, !nv.tensormap
  func.return
}
func.func @b(%A: memref<?xf16, #g>, %S: memref<8192xf16, #s>, %bar: memref<3x!nv.mbarrier, #b>, %i: index) {
  // CHECK: nv.bulk_load {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] elements(64) barrier {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] : memref<?xf16, #global>, memref<8192xf16, #shared>, memref<3x!nv.mbarrier, #barrier>
  nv.bulk_load %A[%i] -> %S[%i] elements(64) barrier %bar[%i] : memref<?xf16, #g>, memref<8192xf16, #s>, memref<3x!nv.mbarrier, #b>
  // CHECK: nv.bulk_store {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] elements(64) : memref<8192xf16, #shared>, memref<?xf16, #global>
  nv.bulk_store %S[%i] -> %A[%i] elements(64) : memref<8192xf16, #s>, memref<?xf16, #g>
  func.return
}
// CHECK-LABEL: func.func @policies
func.func @policies(%A: memref<?xf16, #g>, %a: memref<64xf16, #l>, %S: memref<8192xf16, #s>, %bar: memref<3x!nv.mbarrier, #b>, %i: index, %m: i16) {
  // CHECK: [[P:%[a-z0-9]+]] = nv.l2_policy evict_last {fraction = 5.000000e-01 : f32}
  %p = nv.l2_policy evict_last {fraction = 0.5 : f32}
  // CHECK: [[X:%[a-z0-9]+]] = nv.load {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] policy [[P]] : memref<?xf16, #global> -> f16
  %x = nv.load %A[%i] policy %p : memref<?xf16, #g> -> f16
  // CHECK: nv.store [[X]], {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] policy [[P]] : f16, memref<?xf16, #global>
  nv.store %x, %A[%i] policy %p : f16, memref<?xf16, #g>
  // CHECK: simt.move {{.*}} lanes(8) policy [[P]] :
  simt.move %A[%i] -> %a[%i] lanes(8) policy %p : memref<?xf16, #g>, memref<64xf16, #l>
  // CHECK: nv.async_move {{.*}} lanes(8) valid {{%[a-z0-9]+}} policy [[P]] :
  nv.async_move %A[%i] -> %S[%i] lanes(8) valid %i policy %p : memref<?xf16, #g>, memref<8192xf16, #s>
  %map = nv.tensormap %A box [128] swizzle(0) : memref<?xf16, #g>
  // CHECK: nv.tma_load {{.*}} multicast {{%[a-z0-9]+}} policy [[P]] :
  nv.tma_load %map[%i] -> %S[%i] barrier %bar[%i] multicast %m policy %p : memref<8192xf16, #s>, memref<3x!nv.mbarrier, #b>
  // CHECK: nv.tma_store {{.*}} policy [[P]] :
  nv.tma_store %S[%i] -> %map[%i] policy %p : memref<8192xf16, #s>
  // CHECK: nv.tma_reduce add {{.*}} policy [[P]] :
  nv.tma_reduce add %S[%i] -> %map[%i] policy %p : memref<8192xf16, #s>
  // CHECK: nv.bulk_load {{.*}} policy [[P]] :
  nv.bulk_load %A[%i] -> %S[%i] elements(64) barrier %bar[%i] policy %p : memref<?xf16, #g>, memref<8192xf16, #s>, memref<3x!nv.mbarrier, #b>
  // CHECK: nv.bulk_store {{.*}} policy [[P]] :
  nv.bulk_store %S[%i] -> %A[%i] elements(64) policy %p : memref<8192xf16, #s>, memref<?xf16, #g>
  func.return
}
// CHECK-LABEL: func.func @opaque
func.func @opaque(%i: index) -> index {
  // CHECK: [[X:%[a-z0-9]+]] = nv.opaque {{%[a-z0-9]+}}
  %x = nv.opaque %i
  // CHECK: func.return [[X]]
  func.return %x : index
}

// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// MMAs into tensor memory, in text and back.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>
func.func @tensor_memory(%slot: memref<1xi32, #s>, %S: memref<8192xf16, #s>, %F: memref<8192xf8E4M3FN, #s>, %acc: memref<64xf32, #l>, %p: memref<64xf16, #l>, %bar: memref<1x!nv.mbarrier, #b>, %i: index, %use: i1, %mask: i16, %id: i32) {
  // CHECK: nv.tcgen05.alloc {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] columns(512) : memref<1xi32, #shared>
  nv.tcgen05.alloc %slot[%i] columns(512) : memref<1xi32, #s>
  // CHECK: nv.tcgen05.alloc {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] columns(64) group(2) : memref<1xi32, #shared>
  nv.tcgen05.alloc %slot[%i] columns(64) group(2) : memref<1xi32, #s>
  // CHECK: nv.tcgen05.relinquish{{$}}
  nv.tcgen05.relinquish
  // CHECK: nv.tcgen05.relinquish group(2)
  nv.tcgen05.relinquish group(2)
  %t = memref.load %slot[%i] : memref<1xi32, #s>
  // CHECK: {{%[a-z0-9]+}} = nv.tcgen05.matrix {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] advance(32) swizzle(128) leading(16) stride(1024) : memref<8192xf16, #shared>
  %d = nv.tcgen05.matrix %S[%i] advance(32) swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  %f = nv.tcgen05.matrix %F[%i] swizzle(64) leading(16) stride(512) : memref<8192xf8E4M3FN, #s>
  // CHECK: nv.tcgen05.mma [[D:%[a-z0-9]+]], [[D]] -> [[T:%[a-z0-9]+]] kind(f16) shape [128, 256, 16] types(f16, f16, f32) : i64
  nv.tcgen05.mma %d, %d -> %t kind(f16) shape [128, 256, 16] types(f16, f16, f32) : i64
  // CHECK: nv.tcgen05.mma [[D]], [[D]] -> [[T]] kind(f16) shape [256, 256, 16] types(bf16, bf16, f32) group(2) use_acc({{%[a-z0-9]+}}) {transposed_a, transposed_b} : i64
  nv.tcgen05.mma %d, %d -> %t kind(f16) shape [256, 256, 16] types(bf16, bf16, f32) group(2) use_acc(%use) {transposed_a, transposed_b} : i64
  // CHECK: nv.tcgen05.mma [[T]], [[D]] -> [[T]] kind(tf32) shape [64, 8, 8] types(f32, f32, f32) : i32
  nv.tcgen05.mma %t, %d -> %t kind(tf32) shape [64, 8, 8] types(f32, f32, f32) : i32
  // CHECK: nv.tcgen05.mma {{.*}} kind(i8) shape [64, 8, 32] types(i8, i8, i32) use_acc({{%[a-z0-9]+}}) {unsigned_b} : i64
  nv.tcgen05.mma %d, %d -> %t kind(i8) shape [64, 8, 32] types(i8, i8, i32) use_acc(%use) {unsigned_b} : i64
  // CHECK: nv.tcgen05.mma {{.*}} kind(mxf8f6f4) shape [128, 64, 32] types(f8E4M3FN, f8E5M2, f32) scales([[T]], [[T]]) ids({{%[a-z0-9]+}}, {{%[a-z0-9]+}}) : i64
  nv.tcgen05.mma %f, %f -> %t kind(mxf8f6f4) shape [128, 64, 32] types(f8E4M3FN, f8E5M2, f32) scales(%t, %t) ids(%id, %id) : i64
  // CHECK: nv.tcgen05.commit {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] : memref<1x!nv.mbarrier, #barrier>
  nv.tcgen05.commit %bar[%i] : memref<1x!nv.mbarrier, #b>
  // CHECK: nv.tcgen05.commit {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] group(2) multicast {{%[a-z0-9]+}} : memref<1x!nv.mbarrier, #barrier>
  nv.tcgen05.commit %bar[%i] group(2) multicast %mask : memref<1x!nv.mbarrier, #b>
  // CHECK: nv.tcgen05.fence before
  nv.tcgen05.fence before
  // CHECK: nv.tcgen05.fence after
  nv.tcgen05.fence after
  // CHECK: nv.tcgen05.ld [[T]] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] shape("32x32b") count(64) : memref<64xf32, #local>
  nv.tcgen05.ld %t -> %acc[%i] shape("32x32b") count(64) : memref<64xf32, #l>
  // CHECK: nv.tcgen05.ld {{.*}} shape("16x256b") count(8) {pack16} : memref<64xf16, #local>
  nv.tcgen05.ld %t -> %p[%i] shape("16x256b") count(8) {pack16} : memref<64xf16, #l>
  // CHECK: nv.tcgen05.wait_ld
  nv.tcgen05.wait_ld
  // CHECK: nv.tcgen05.st {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> [[T]] shape("32x32b") count(32) : memref<64xf16, #local>
  nv.tcgen05.st %p[%i] -> %t shape("32x32b") count(32) : memref<64xf16, #l>
  // CHECK: nv.tcgen05.wait_st
  nv.tcgen05.wait_st
  // CHECK: nv.tcgen05.cp [[D]] -> [[T]] shape("32x128b") group(2)
  nv.tcgen05.cp %d -> %t shape("32x128b") group(2)
  // CHECK: nv.tcgen05.dealloc [[T]] columns(512)
  nv.tcgen05.dealloc %t columns(512)
  func.return
}

// CHECK-LABEL: func.func @pair
func.func @pair(%map: !nv.tensormap, %S: memref<8192xf16, #s>, %bar: memref<1x!nv.mbarrier, #b>, %i: index) {
  // CHECK: nv.tma_load {{.*}} barrier {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] {pair} : memref<8192xf16, #shared>, memref<1x!nv.mbarrier, #barrier>
  nv.tma_load %map[%i, %i] -> %S[%i] barrier %bar[%i] {pair} : memref<8192xf16, #s>, memref<1x!nv.mbarrier, #b>
  func.return
}

// CHECK-LABEL: func.func @launch_control
func.func @launch_control(%answer: memref<4xi32, #s>, %bar: memref<1x!nv.mbarrier, #b>, %i: index) {
  // CHECK: nv.clc.try_cancel {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] barrier {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] {multicast} : memref<4xi32, #shared>, memref<1x!nv.mbarrier, #barrier>
  nv.clc.try_cancel %answer[%i] barrier %bar[%i] {multicast} : memref<4xi32, #s>, memref<1x!nv.mbarrier, #b>
  // CHECK: {{%[a-z0-9]+}}:4 = nv.clc.query {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] : memref<4xi32, #shared>
  %taken, %x, %y, %z = nv.clc.query %answer[%i] : memref<4xi32, #s>
  func.return
}

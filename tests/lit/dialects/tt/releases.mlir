// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt %s | tilewright-opt | filecheck %s

// Text of older releases and of TLX is read; what is written is the text of Triton 3.9.

// CHECK-LABEL: tt.func @accesses
// CHECK-SAME: %arg1: !tt.tensordesc<8x64xf16>
tt.func @accesses(%p: !tt.ptr<f32, 1>, %d: !tt.tensordesc<tensor<8x64xf16>>, %i: i32) {
  // CHECK: %0 = tt.load %arg0 {cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_last>} : !tt.ptr<f32>
  %x = tt.load %p evictionPolicy = evict_last cacheModifier = ca : !tt.ptr<f32>
  // CHECK-NEXT: tt.store %arg0, %0 : !tt.ptr<f32>
  "tt.store"(%p, %x) <{cache = 1 : i32, evict = 1 : i32}> : (!tt.ptr<f32>, f32) -> ()
  // CHECK-NEXT: %1 = tt.descriptor_load %arg1[%arg2, %arg2] : !tt.tensordesc<8x64xf16> -> tensor<8x64xf16>
  %b = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<8x64xf16>> -> tensor<8x64xf16>
  // CHECK-NEXT: tt.descriptor_reduce add, %arg1[%arg2, %arg2], %1 : !tt.tensordesc<8x64xf16>, tensor<8x64xf16>
  tt.descriptor_store %d[%i, %i], %b reduce_kind = add : !tt.tensordesc<8x64xf16>, tensor<8x64xf16>
  tt.return
}

// CHECK-LABEL: tt.func @descriptor
tt.func @descriptor(%p: !tt.ptr<f16>, %n: i32, %s: i64) {
  // CHECK: tt.make_tensor_descriptor %arg0, [%arg1, %arg1], [%arg2, %arg2] {padding = 2 : i32} : <f16>, <8x64xf16>
  %d = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] {padding = 2 : i32} : !tt.ptr<f16>, !tt.tensordesc<8x64xf16>
  tt.return
}

// CHECK-LABEL: tt.func @reduction
tt.func @reduction(%x: tensor<128x64xf32>) -> tensor<128xf32> {
  // CHECK: %0 = "tt.reduce"(%arg0) <{axis = 1 : i32}> ({
  // CHECK-NEXT: ^bb0(%arg1: f32, %arg2: f32):
  // CHECK-NEXT: %1 = arith.addf %arg1, %arg2 : f32
  // CHECK-NEXT: tt.reduce.return %1 : f32
  // CHECK-NEXT: }) : (tensor<128x64xf32>) -> tensor<128xf32>
  %0 = "tt.reduce"(%x) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<128x64xf32>) -> tensor<128xf32>
  tt.return %0 : tensor<128xf32>
}

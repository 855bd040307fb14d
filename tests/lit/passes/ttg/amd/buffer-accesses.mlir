// RUN: tilewright-opt -lower-buffer-accesses %s | filecheck %s

// Buffer accesses become accesses through pointers; what is masked off reads as 0.

#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @accesses
module {
  tt.func @accesses(%p: !tt.ptr<f32>, %q: !tt.ptr<i32>, %o: tensor<64xi32>, %m: tensor<64xi1>, %b: !ttg.memdesc<64xf32, #flat, #smem, mutable>) {
    // CHECK: %[[S:.*]] = tt.splat %arg0 : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    // CHECK-NEXT: %[[A:.*]] = tt.addptr %[[S]], %arg2 : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    // CHECK-NEXT: %[[V:.*]] = tt.load %[[A]] : tensor<64x!tt.ptr<f32>>
    %v = amdg.buffer_load %p[%o] : tensor<64xf32>
    // CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
    // CHECK-NEXT: tt.load %{{.*}}, %arg3, %[[Z]] : tensor<64x!tt.ptr<f32>>
    %w = amdg.buffer_load %p[%o], %m : tensor<64xf32>
    // CHECK: tt.load %{{.*}}, %arg3, %[[V]] : tensor<64x!tt.ptr<f32>>
    %x = amdg.buffer_load %p[%o], %m, %v : tensor<64xf32>
    // CHECK: tt.store %{{.*}}, %{{.*}}, %arg3 : tensor<64x!tt.ptr<f32>>
    amdg.buffer_store %x, %p[%o], %m : tensor<64xf32>
    // CHECK: tt.atomic_rmw fadd, relaxed, cta, %{{.*}}, %{{.*}}, %arg3
    %y = amdg.buffer_atomic_rmw fadd, relaxed, cta, %w, %p[%o], %m : tensor<64xf32>
    // CHECK: tt.atomic_cas acq_rel, gpu, %{{.*}}, %arg2, %arg2
    %z = amdg.buffer_atomic_cas acq_rel, gpu, %o, %o, %q[%o] : tensor<64xi32>
    // CHECK: %[[T:.*]] = ttg.async_copy_global_to_local %{{.*}}, %arg4 mask %arg3 other %{{.*}} : tensor<64x!tt.ptr<f32>>
    %t = amdg.buffer_load_to_local %p[%o] mask = %m into %b : <f32>[tensor<64xi32>] -> <64xf32, #flat, #smem, mutable>
    // CHECK-NEXT: ttg.async_commit_group tokens %[[T]]
    %g = ttg.async_commit_group tokens %t
    // CHECK-NOT: amdg
    tt.return
  }
}

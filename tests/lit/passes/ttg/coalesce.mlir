// RUN: tilewright-opt -tritongpu-coalesce %s | filecheck %s
// RUN: tilewright-opt -tritongpu-coalesce='max-vec-bits=256' %s | filecheck %s --check-prefix=WIDE

#one = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#turned = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#own = #tlx.user_layout<#one>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// CHECK-DAG: #[[FOUR:.*]] = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK-DAG: #[[WIDE_ROWS:.*]] = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
// WIDE-DAG: #[[EIGHT:.*]] = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// WIDE-DAG: #[[WIDE_ROWS:.*]] = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @load
  // WIDE-LABEL: @load
  tt.func @load(%p: !tt.ptr<f32> {tt.divisibility = 32 : i32}, %b: !ttg.memdesc<64x32xf32, #plain, #smem>) -> (tensor<2048xf32, #one>, tensor<64x32xf32, #turned>) {
    %r = tt.make_range {end = 2048 : i32, start = 0 : i32} : tensor<2048xi32, #one>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<2048x!tt.ptr<f32>, #one>
    %q = tt.addptr %s, %r : tensor<2048x!tt.ptr<f32>, #one>, tensor<2048xi32, #one>
    // CHECK: tt.load %{{.*}} : tensor<2048x!tt.ptr<f32>, #[[FOUR]]>
    // CHECK-NEXT: ttg.convert_layout
    // WIDE: tt.load %{{.*}} : tensor<2048x!tt.ptr<f32>, #[[EIGHT]]>
    %x = tt.load %q : tensor<2048x!tt.ptr<f32>, #one>
    // CHECK: ttg.local_load {{.*}} -> tensor<64x32xf32, #[[WIDE_ROWS]]>
    // CHECK-NEXT: ttg.convert_layout
    // WIDE: ttg.local_load {{.*}} -> tensor<64x32xf32, #[[WIDE_ROWS]]>
    %y = ttg.local_load %b : !ttg.memdesc<64x32xf32, #plain, #smem> -> tensor<64x32xf32, #turned>
    tt.return %x, %y : tensor<2048xf32, #one>, tensor<64x32xf32, #turned>
  }

  // CHECK-LABEL: @user
  tt.func @user(%p: tensor<2048x!tt.ptr<f32>, #own>, %x: tensor<2048xf32, #own>) -> tensor<2048xf32, #own> {
    // CHECK: tt.load {{.*}} : tensor<2048x!tt.ptr<f32>, #shared
    %y = tt.load %p : tensor<2048x!tt.ptr<f32>, #own>
    // CHECK: tt.store {{.*}} : tensor<2048x!tt.ptr<f32>, #blocked
    tt.store %p, %x : tensor<2048x!tt.ptr<f32>, #own>
    tt.return %y : tensor<2048xf32, #own>
  }
}

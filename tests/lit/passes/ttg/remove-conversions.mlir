// RUN: tilewright-opt -tritongpu-remove-layout-conversions %s | filecheck %s

#a = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#b = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#c = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#own = #tlx.user_layout<#b>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @removed
  tt.func @removed(%x: tensor<512xf32, #a>, %m: !ttg.memdesc<512xf32, #plain, #smem, mutable>) -> (tensor<512xf32, #a>, tensor<512xf32, #c>, tensor<512xi32, #b>) {
    // CHECK-DAG: %[[R:.*]] = tt.make_range {{.*}} : tensor<512xi32, #[[B:.*]]>
    // CHECK-DAG: %[[C:.*]] = ttg.convert_layout %arg0 : tensor<512xf32, #{{.*}}> -> tensor<512xf32, #[[CC:.*]]>
    // CHECK-NOT: ttg.convert_layout
    // CHECK: ttg.local_store %arg0, %arg1
    // CHECK: tt.return %arg0, %[[C]], %[[R]]
    %0 = ttg.convert_layout %x : tensor<512xf32, #a> -> tensor<512xf32, #b>
    %1 = ttg.convert_layout %0 : tensor<512xf32, #b> -> tensor<512xf32, #a>
    %2 = ttg.convert_layout %0 : tensor<512xf32, #b> -> tensor<512xf32, #c>
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #a>
    %3 = ttg.convert_layout %r : tensor<512xi32, #a> -> tensor<512xi32, #b>
    ttg.local_store %0, %m : tensor<512xf32, #b> -> !ttg.memdesc<512xf32, #plain, #smem, mutable>
    tt.return %1, %2, %3 : tensor<512xf32, #a>, tensor<512xf32, #c>, tensor<512xi32, #b>
  }

  // CHECK-LABEL: @user
  tt.func @user(%x: tensor<512xf32, #a>, %m: !ttg.memdesc<512xf32, #plain, #smem, mutable>) {
    // CHECK: %[[C:.*]] = ttg.convert_layout
    // CHECK: ttg.local_store %[[C]]
    %0 = ttg.convert_layout %x : tensor<512xf32, #a> -> tensor<512xf32, #own>
    ttg.local_store %0, %m : tensor<512xf32, #own> -> !ttg.memdesc<512xf32, #plain, #smem, mutable>
    tt.return
  }
}

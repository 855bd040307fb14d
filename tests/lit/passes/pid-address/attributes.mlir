// RUN: tilewright-opt %s -pid-address="remarks=false" -keep-names | filecheck %s

// CHECK-LABEL: @rows
// CHECK: tt.load %{{.*}} {tilewright.address = {align_bytes = 16 : i64, block_size = 64 : i64, coalesced = true, offset = "4*pid0*stride + 4*lane0", pattern = "PID_AFFINE", strides = {"0" = "4*stride"}, vector_bits = 128 : i64}}
// CHECK: tt.store %{{.*}} {tilewright.address = {align_bytes = 16 : i64, block_size = 64 : i64, coalesced = true, offset = "4*lane0", pattern = "PID_INDEPENDENT", vector_bits = 128 : i64}}
tt.func public @rows(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}) {
  %pid = tt.get_program_id x : i32
  %row = arith.muli %pid, %stride : i32
  %lanes = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %rows = tt.splat %row : i32 -> tensor<64xi32>
  %offsets = arith.addi %rows, %lanes : tensor<64xi32>
  %base = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %from = tt.addptr %base, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %x = tt.load %from : tensor<64x!tt.ptr<f32>>
  %to = tt.addptr %base, %lanes : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  tt.store %to, %x : tensor<64x!tt.ptr<f32>>
  tt.return
}

// A gather: nothing but the reason is known, so there is neither stride nor verdict.
// CHECK-LABEL: @gather
// CHECK: tt.load %p_0 {tilewright.address = {align_bytes = 4 : i64, block_size = 1 : i64, coalesced = true, offset = "4*pid0", pattern = "PID_AFFINE", strides = {"0" = "4"}, vector_bits = 32 : i64}}
// CHECK: pattern = "UNKNOWN", reason = "data_dependent", vector_bits = 32 : i64}}
tt.func public @gather(%p: !tt.ptr<i32>) {
  %pid = tt.get_program_id x : i32
  %p_0 = tt.addptr %p, %pid : !tt.ptr<i32>, i32
  %i = tt.load %p_0 : !tt.ptr<i32>
  %p_1 = tt.addptr %p, %i : !tt.ptr<i32>, i32
  %v = tt.load %p_1 : !tt.ptr<i32>
  tt.store %p, %v : !tt.ptr<i32>
  tt.return
}

// One op, two call paths.
// CHECK-LABEL: @caller
// CHECK-LABEL: @callee
// CHECK: tt.load %{{.*}} {tilewright.address = [{align_bytes = 4 : i64, block_size = 1 : i64, call = ["%a"], {{.*}}pattern = "PID_AFFINE"{{.*}}}, {align_bytes = 4 : i64, block_size = 1 : i64, call = ["%b"], {{.*}}pattern = "PID_INDEPENDENT"{{.*}}}]}
tt.func public @caller(%p: !tt.ptr<i32>) {
  %zero = arith.constant 0 : i32
  %pid = tt.get_program_id y : i32
  %a = tt.call @callee(%p, %pid) : (!tt.ptr<i32>, i32) -> i32
  %b = tt.call @callee(%p, %zero) : (!tt.ptr<i32>, i32) -> i32
  tt.return
}
tt.func private @callee(%p: !tt.ptr<i32>, %at: i32) -> i32 attributes {noinline = true} {
  %where = tt.addptr %p, %at : !tt.ptr<i32>, i32
  %v = tt.load %where : !tt.ptr<i32>
  tt.return %v : i32
}

// RUN: tilewright-opt %s -pid-address="values" -keep-names -verify-diagnostics

tt.func @vector_add(%arg0: !tt.ptr<f32>) {
  %c128 = arith.constant 128 : i32
  // expected-remark @below {{%pid: PID_INFO(axis=0, stride=1, offset=0)}}
  %pid = tt.get_program_id x : i32
  // expected-remark @below {{%block_start: PID_INFO(axis=0, stride=128, offset=0)}}
  %block_start = arith.muli %pid, %c128 : i32
  %offsets = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  // expected-remark @below {{%starts: PID_INFO(axis=0, stride=128, offset=0)}}
  %starts = tt.splat %block_start : i32 -> tensor<128xi32>
  // expected-remark @below {{%indices: PID_INFO(axis=0, stride=128, offset=[0,127], elem_range)}}
  %indices = arith.addi %starts, %offsets : tensor<128xi32>
  %ptr_a = tt.splat %arg0 : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  // expected-remark @below {{%ptrs_a: ADDR_INFO(base=%arg0, axis=0, stride=512, offset=[0,508], coalesced=true)}}
  %ptrs_a = tt.addptr %ptr_a, %indices : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  // expected-remark @below {{%a (load): PATTERN(PID_AFFINE, block_size=128, stride=512, coalesced=true)}}
  %a = tt.load %ptrs_a : tensor<128x!tt.ptr<f32>>
  tt.return
}

// A loop and a swizzle: the stride per iteration, and why there is none per program.
tt.func @walks(%p: !tt.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  // expected-remark @below {{%pid: PID_INFO(axis=2, stride=1, offset=0)}}
  %pid = tt.get_program_id z : i32
  // expected-remark @below {{%half: PID_INFO(axis=2, stride=?, offset=}}
  %half = arith.divsi %pid, %four : i32
  scf.for %i = %zero to %n step %one : i32 {
    // expected-remark @below {{%at: PID_INFO(axis=2, stride=?, offset=?)}}
    %at = arith.addi %half, %i : i32
    // expected-remark @below {{%where: ADDR_INFO(base=%p, axis=2, stride=?, offset=?, coalesced=true)}}
    %where = tt.addptr %p, %at : !tt.ptr<f32>, i32
    // expected-remark @below {{%v (load): PATTERN(PID_NONLINEAR, block_size=1, strides=[2:?], coalesced=true, loops=[%i:4], reason=div_mod)}}
    %v = tt.load %where : !tt.ptr<f32>
  }
  tt.return
}

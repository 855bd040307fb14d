// RUN: tilewright-opt --split-input-file --verify-diagnostics %s

// Faults are reported where they are, several in one run.

tt.func @several(%v: tensor<8xf32>, %p: !tt.ptr<f32>) {
  // expected-error @+1 {{'tt.make_range' op number of elements in returned tensor, 8, must match size of range [0, 4), which has 4 elements}}
  %0 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<8xi32>
  // expected-error @+1 {{'tt.reshape' op number of src and dst elements of reshape must be the same}}
  %1 = tt.reshape %v : tensor<8xf32> -> tensor<4xf32>
  // expected-error @+1 {{Rounding mode is required for FP downcast}}
  %2 = tt.fp_to_fp %v : tensor<8xf32> -> tensor<8xf16>
  tt.return
}

// -----

// expected-error @+1 {{symbol declaration cannot have public visibility}}
tt.func @declared(i32)

// -----

tt.func @size() {
  // expected-error @+1 {{Number of elements must be power-of-two, but %0 = "tt.make_range"() <{end = 3 : i32, start = 0 : i32}> : () -> tensor<3xi32> doesn't follow the rule (3) elements}}
  %0 = tt.make_range {end = 3 : i32, start = 0 : i32} : tensor<3xi32>
  tt.return
}

// -----

tt.func @region(%v: tensor<8xf32>) {
  // expected-error @+1 {{nested block must take 2 arguments, but given block with 1 arguments}}
  %0 = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32):
    tt.reduce.return %a : f32
  }) : (tensor<8xf32>) -> f32
  tt.return
}

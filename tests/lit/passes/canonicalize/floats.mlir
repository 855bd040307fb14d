// RUN: tilewright-opt %s -canonicalize | filecheck %s

// CHECK-LABEL: @rounds_to_the_type
// CHECK-NEXT: %[[C:.*]] = arith.constant 0x4B800000 : f32
// CHECK-NEXT: tt.return %[[C]]
tt.func @rounds_to_the_type() -> f32 {
  %a = arith.constant 0x4B800000 : f32
  %b = arith.constant 1.0 : f32
  %r = arith.addf %a, %b : f32
  tt.return %r : f32
}

// CHECK-LABEL: @too_large_is_infinite
// CHECK-NEXT: %[[C:.*]] = arith.constant 0x7F800000 : f32
// CHECK-NEXT: tt.return %[[C]]
tt.func @too_large_is_infinite() -> f32 {
  %a = arith.constant 3.0e38 : f32
  %r = arith.addf %a, %a : f32
  tt.return %r : f32
}

// CHECK-LABEL: @infinite_splat
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK-NEXT: tt.return %[[C]]
tt.func @infinite_splat() -> tensor<64xf32> {
  %a = arith.constant dense<-1.0> : tensor<64xf32>
  %z = arith.constant dense<0.0> : tensor<64xf32>
  %r = arith.divf %a, %z : tensor<64xf32>
  tt.return %r : tensor<64xf32>
}

// CHECK-LABEL: @zero_is_not_a_unit_of_addition
// CHECK: arith.addf
tt.func @zero_is_not_a_unit_of_addition(%x: f32) -> f32 {
  %z = arith.constant 0.0 : f32
  %r = arith.addf %x, %z : f32
  tt.return %r : f32
}

// CHECK-LABEL: @units
// CHECK-SAME: (%[[X:.*]]: f32
// CHECK-NEXT: tt.return %[[X]], %[[X]], %[[X]], %[[X]]
tt.func @units(%x: f32) -> (f32, f32, f32, f32) {
  %neg_zero = arith.constant -0.0 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %a = arith.addf %x, %neg_zero : f32
  %b = arith.subf %x, %zero : f32
  %c = arith.mulf %one, %x : f32
  %d = arith.divf %x, %one : f32
  tt.return %a, %b, %c, %d : f32, f32, f32, f32
}

// CHECK-LABEL: @times_zero_stays
// CHECK: arith.mulf
tt.func @times_zero_stays(%x: f32) -> f32 {
  %z = arith.constant 0.0 : f32
  %r = arith.mulf %x, %z : f32
  tt.return %r : f32
}

// CHECK-LABEL: @zeros_of_either_sign_are_two_constants
// CHECK-DAG: %[[P:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[N:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: tt.return %[[P]], %[[N]]
tt.func @zeros_of_either_sign_are_two_constants() -> (f32, f32) {
  %p = arith.constant 0.0 : f32
  %n = arith.constant -0.0 : f32
  tt.return %p, %n : f32, f32
}

// CHECK-LABEL: @only_exact_truncation
// CHECK-DAG: arith.constant 1.500000e+00 : f16
// CHECK-DAG: arith.truncf
tt.func @only_exact_truncation() -> (f16, f16) {
  %a = arith.constant 1.5 : f32
  %b = arith.constant 1.1 : f32
  %x = arith.truncf %a : f32 to f16
  %y = arith.truncf %b : f32 to f16
  tt.return %x, %y : f16, f16
}

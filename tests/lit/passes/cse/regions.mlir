// RUN: tilewright-opt %s -cse | filecheck %s

// CHECK-LABEL: @equal_reductions
// CHECK-COUNT-1: "tt.reduce"
// CHECK-NOT: "tt.reduce"
// CHECK: tt.return
tt.func @equal_reductions(%x: tensor<64xf32>) -> f32 {
  %a = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tt.reduce.return %s : f32
  }) : (tensor<64xf32>) -> f32
  %b = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tt.reduce.return %s : f32
  }) : (tensor<64xf32>) -> f32
  %c = arith.mulf %a, %b : f32
  tt.return %c : f32
}

// CHECK-LABEL: @other_combination
// CHECK-COUNT-3: "tt.reduce"
tt.func @other_combination(%x: tensor<64xf32>) -> (f32, f32, f32) {
  %a = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tt.reduce.return %s : f32
  }) : (tensor<64xf32>) -> f32
  %b = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %s = arith.subf %l, %r : f32
    tt.reduce.return %s : f32
  }) : (tensor<64xf32>) -> f32
  %c = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %s = arith.subf %r, %l : f32
    tt.reduce.return %s : f32
  }) : (tensor<64xf32>) -> f32
  tt.return %a, %b, %c : f32, f32, f32
}

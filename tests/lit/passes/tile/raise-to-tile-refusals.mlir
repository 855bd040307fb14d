// RUN: tilewright-opt %s --raise-to-tile --split-input-file --verify-diagnostics

// All reasons at once, and the kernel stays as it is.
tt.func public @lock(%p: !tt.ptr<i32>, %table: !tt.ptr<i64>) {
  %c1 = arith.constant 1 : i32
  // expected-note @+2 {{help: rewrite it with ops that tiles have, or keep it}}
  // expected-remark @below {{not raised to tiles: polling has no tile op}}
  %seen = tt.atomic_poll acquire, gpu, %p, %c1 : !tt.ptr<i32>, i32 -> i1
  // expected-note @+2 {{help: pass the array as an argument of the kernel, or one address for all elements}}
  // expected-remark @below {{an address is used as an integer (tt.ptr_to_int)}}
  %address = tt.ptr_to_int %p : !tt.ptr<i32> -> i64
  tt.store %table, %address : !tt.ptr<i64>
  tt.return
}

// -----

tt.func public @advance(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!tt.ptr<i32>) : i32 {
    // expected-note @+2 {{help: compute the address from the loop counter instead of advancing a pointer}}
    // expected-remark @below {{the loop advances the pointer by an amount that has no closed form}}
    %step = tt.load %p : !tt.ptr<i32>
    %o = tt.addptr %y, %i : !tt.ptr<i32>, i32
    tt.store %o, %step : !tt.ptr<i32>
    %q = tt.addptr %p, %step : !tt.ptr<i32>, i32
    scf.yield %q : !tt.ptr<i32>
  }
  tt.return
}

// -----

tt.func public @other_floats(%x: !tt.ptr<f32>) {
  %a = arith.constant dense<1.0> : tensor<16x16xf8E4M3FNUZ>
  %c = arith.constant dense<1.0> : tensor<16x16xf32>
  // expected-note @+2 {{help: use f16, bf16, f32, fp8 or int8 operands}}
  // expected-remark @below {{operands of type 'f8E4M3FNUZ': no such GEMM at tile level}}
  %d = tt.dot %a, %a, %c : tensor<16x16xf8E4M3FNUZ> * tensor<16x16xf8E4M3FNUZ> -> tensor<16x16xf32>
  // expected-note @+2 {{help: combine with arithmetic alone: tl.where instead of branches, no memory}}
  // expected-remark @below {{'scf.if' in the combiner of a reduction or scan}}
  %sum = "tt.reduce"(%d) <{axis = 1 : i32}> ({
  ^bb0(%l: f32, %k: f32):
    %more = arith.cmpf ogt, %l, %k : f32
    %z = scf.if %more -> (f32) {
      %u = math.exp %l : f32
      scf.yield %u : f32
    } else {
      scf.yield %k : f32
    }
    tt.reduce.return %z : f32
  }) : (tensor<16x16xf32>) -> tensor<16xf32>
  %r = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %s = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %p = tt.addptr %s, %r : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  tt.store %p, %sum : tensor<16x!tt.ptr<f32>>
  tt.return
}

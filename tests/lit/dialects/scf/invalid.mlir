// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

tt.func @yield_type(%n: i32, %x: f32) {
  // expected-error @+1 {{'scf.for' op along control flow edge from Operation scf.yield to Region #0: successor operand type #0 'i32' should match successor input type #0 'f32'}}
  %0 = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (f32) : i32 {
    scf.yield %i : i32
  }
  tt.return
}

// -----

tt.func @missing_else(%c: i1, %x: f32) {
  // expected-error @+1 {{'scf.if' op must have an else block if defining values}}
  %0 = scf.if %c -> f32 {
    scf.yield %x : f32
  }
  tt.return
}

// -----

tt.func @outside() {
  // expected-error @+1 {{'scf.yield' op expects parent op to be one of 'scf.execute_region, scf.for, scf.if, scf.index_switch, scf.while'}}
  scf.yield
}

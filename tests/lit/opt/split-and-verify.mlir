// RUN: tilewright-opt --split-input-file --verify-diagnostics %s

// Positions are those of the whole file, whatever chunk an error is in.

tt.func @undeclared(%a: i32) {
  // expected-error @+1 {{use of undeclared SSA value name '%b'}}
  %x = arith.addi %a, %b : i32
  tt.return
}

// -----

tt.func @several_errors_in_one_run(%a: i32) {
  // expected-error @below {{'arith.extsi' op operand type 'i32' and result type 'i16' are cast incompatible}}
  %x = arith.extsi %a : i32 to i16
  // expected-error @+1 {{'arith.trunci' op operand type 'i32' and result type 'i64' are cast incompatible}}
  %y = arith.trunci %a : i32 to i64
  tt.return
}

// -----

tt.func @unknown_op() {
  // expected-error @+1 {{unknown operation 'foo.bar'}}
  foo.bar
  tt.return
}

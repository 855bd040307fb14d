// Flags stand anywhere, with one dash or two; passes run in the order of their flags.

// RUN: tilewright-opt -dce %s | filecheck %s
// RUN: tilewright-opt %s --dce | filecheck %s
// RUN: tilewright-opt -pass-pipeline='builtin.module(dce)' %s | filecheck %s
// RUN: tilewright-opt --pass-pipeline 'builtin.module(tt.func(canonicalize{max-iterations=3}),dce)' %s | filecheck %s
// RUN: cat %s | tilewright-opt -dce - | filecheck %s
// RUN: tilewright-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tilewright-opt %s --mlir-print-debuginfo -dce | filecheck %s --check-prefix=LOCATED
// RUN: tilewright-opt %s -keep-names | filecheck %s --check-prefix=NAMED

// CHECK-LABEL: tt.func @dead
// CHECK-SAME: (%arg0: i32)
// CHECK-NEXT: tt.return

// GENERIC: "tt.func"() <{function_type = (i32) -> (), sym_name = "dead"}> ({
// GENERIC-NEXT: ^bb0(%arg0: i32):
// GENERIC-NEXT: %0 = "arith.addi"(%arg0, %arg0) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32

// LOCATED: tt.func @dead(%arg0: i32 loc("{{.*}}flags.mlir":{{[0-9]+:[0-9]+}}))

// NAMED: %sum = arith.addi %count, %count : i32
tt.func @dead(%count: i32) {
  %sum = arith.addi %count, %count : i32
  tt.return
}

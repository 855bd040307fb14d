// RUN: tilewright-opt -mlir-print-ir-after-all -canonicalize -dce %s 2>&1 >/dev/null | filecheck %s
// RUN: rm -rf %t && tilewright-opt --dump-ir %t -canonicalize -dce %s >/dev/null && ls %t | filecheck %s --check-prefix=FILES

// CHECK: IR Dump After canonicalize
// CHECK: tt.func @f
// CHECK: IR Dump After dce
// CHECK: tt.func @f

// FILES: 00-input.mlir
// FILES-NEXT: 01-canonicalize.mlir
// FILES-NEXT: 02-dce.mlir
tt.func @f() {
  tt.return
}

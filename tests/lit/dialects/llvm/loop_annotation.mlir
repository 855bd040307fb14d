// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt %s | tilewright-opt | filecheck %s

// CHECK: #loop_licm = #llvm.loop_licm<disable = true, versioningDisable = true>
// CHECK: #loop_annotation = #llvm.loop_annotation<licm = #loop_licm>

// CHECK-LABEL: tt.func @keep_in_loop
tt.func @keep_in_loop(%n: i32, %c: i1) {
  // CHECK: llvm.intr.assume %{{.*}} : i1
  llvm.intr.assume %c : i1
  // CHECK: } {llvm.loop_annotation = #loop_annotation}
  scf.for %i = %n to %n step %n : i32 {
  } {llvm.loop_annotation = #llvm.loop_annotation<licm = <disable = true, versioningDisable = true>>}
  tt.return
}

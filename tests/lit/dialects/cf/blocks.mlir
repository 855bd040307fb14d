// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

// CHECK-LABEL: tt.func @blocks
tt.func @blocks(%c: i1, %n: i32, %x: f32) {
  // CHECK: cf.assert %{{.*}}, "index out of bounds"
  cf.assert %c, "index out of bounds"
  // CHECK: cf.cond_br %{{.*}} weights([1, 9]), ^bb1, ^bb2(%{{.*}} : f32)
  cf.cond_br %c weights([1, 9]), ^then, ^else(%x : f32)
// CHECK: ^bb1:  // pred: ^bb0
^then:
  // CHECK: cf.br ^bb2(%{{.*}} : f32)
  cf.br ^else(%x : f32)
// CHECK: ^bb2(%{{.*}}: f32):  // 2 preds: ^bb0, ^bb1
^else(%y: f32):
  // CHECK: cf.switch %{{.*}} : i32, [
  // CHECK-NEXT: default: ^bb3,
  // CHECK-NEXT: 7: ^bb3
  // CHECK-NEXT: ]
  cf.switch %n : i32, [default: ^exit, 7: ^exit]
// CHECK: ^bb3:  // 2 preds: ^bb2, ^bb2
^exit:
  tt.return
}

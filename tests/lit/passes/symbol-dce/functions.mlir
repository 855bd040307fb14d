// RUN: tilewright-opt %s -symbol-dce | filecheck %s

// CHECK: tt.func public @kernel
// CHECK: tt.func private @used
// CHECK: tt.func private @used_by_used
// CHECK: tt.func @visible
// CHECK-NOT: @unused
// CHECK-NOT: @recursive
tt.func public @kernel() {
  tt.call @used() : () -> ()
  tt.return
}
tt.func private @used() {
  tt.call @used_by_used() : () -> ()
  tt.return
}
tt.func private @used_by_used() {
  tt.return
}
tt.func @visible() {
  tt.return
}
tt.func private @unused() {
  tt.call @used_by_unused() : () -> ()
  tt.return
}
tt.func private @used_by_unused() {
  tt.return
}
tt.func private @recursive() {
  tt.call @recursive() : () -> ()
  tt.return
}

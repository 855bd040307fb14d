// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --drop-nvidia-hints 2>&1 | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>

// CHECK: remark[TW7502]: without effect on gfx942: 1 x asynchronous copy, 1 x proxy fence
// CHECK-LABEL: func.func @copy
// CHECK: tile.copy %{{.*}} -> %s : memref<64xf16, #global> -> memref<64xf16, #shared>
// CHECK-NOT: nv.
// CHECK: tile.sync
// CHECK-NOT: barrier_id
// CHECK: func.return
func.func @copy(%A: memref<64xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %s = tile.alloc "s" : memref<64xf16, #shared>
    tile.async_copy %A -> %s : memref<64xf16, #global> -> memref<64xf16, #shared>
    nv.cp_async.commit
    nv.cp_async.wait 0
    nv.fence_proxy_async
    tile.sync block barrier_id 3
  }
  func.return
}

// RUN: tilewright-opt -drop-reuse-groups %s | filecheck %s

#shared = #tile.space<shared>

// Groups that have been planned go, the storage and the offsets in it stay.

// CHECK-LABEL: func.func @f(
// CHECK: tile.storage_alias_spec shared size 8192
// CHECK: tile.alloc "p" alias %{{.*}} offset 0
// CHECK: tile.alloc "q" alias %{{.*}} offset 0
// CHECK-NOT: tile.reuse_group
// CHECK-NOT: tile.set_buffer_overlap
func.func @f() {
  tile.kernel (%bx) in (1) threads(128) {
    %spec = tile.storage_alias_spec shared size 8192 : !tile.storage_alias_spec<shared>
    %p = tile.alloc "p" alias %spec offset 0 : memref<64x64xf16, #shared>
    %q = tile.alloc "q" alias %spec offset 0 : memref<64x64xf16, #shared>
    %inner = tile.reuse_group distinct(%q) : (memref<64x64xf16, #shared>) -> !tile.reuse_group<distinct>
    %all = tile.reuse_group shared(%p, %inner) : (memref<64x64xf16, #shared>, !tile.reuse_group<distinct>) -> !tile.reuse_group<shared>
    tile.set_buffer_overlap %spec, %all : !tile.storage_alias_spec<shared>, !tile.reuse_group<shared>
  }
  func.return
}

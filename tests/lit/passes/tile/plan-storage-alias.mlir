// RUN: tilewright-opt %s --plan-storage-alias --split-input-file | filecheck %s

#shared = #tile.space<shared>

// P and the two rows of statistics lie in the bytes of QK.
// CHECK-LABEL: func.func @attention
func.func @attention() {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.storage_alias_spec shared size 16384
    %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
    // CHECK: tile.alloc "qk" alias %{{.*}} offset 0
    // CHECK: tile.alloc "p" alias %{{.*}} offset 0
    // CHECK: tile.alloc "m" alias %{{.*}} offset 8192
    // CHECK: tile.alloc "l" alias %{{.*}} offset 8448
    %qk = tile.alloc "qk" alias %spec : memref<64x64xf32, #shared>
    %p = tile.alloc "p" alias %spec : memref<64x64xf16, #shared>
    %m = tile.alloc "m" alias %spec : memref<64xf32, #shared>
    %l = tile.alloc "l" alias %spec : memref<64xf32, #shared>
    %right = tile.reuse_group distinct(%p, %m, %l) : (memref<64x64xf16, #shared>, memref<64xf32, #shared>, memref<64xf32, #shared>) -> !tile.reuse_group<distinct>
    %all = tile.reuse_group shared(%qk, %right) : (memref<64x64xf32, #shared>, !tile.reuse_group<distinct>) -> !tile.reuse_group<shared>
    tile.set_buffer_overlap %spec, %all : !tile.storage_alias_spec<shared>, !tile.reuse_group<shared>
  }
  func.return
}

// -----

#shared = #tile.space<shared>

// A size that was given stays, siblings start at multiples of 128 bytes, other buffers stay free.
// CHECK-LABEL: func.func @given
func.func @given() {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.storage_alias_spec shared size 4096
    %spec = tile.storage_alias_spec shared size 4096 : !tile.storage_alias_spec<shared>
    // CHECK: tile.alloc "a" alias %{{.*}} offset 0
    // CHECK: tile.alloc "b" alias %{{.*}} offset 128
    // CHECK: tile.alloc "free" :
    %a = tile.alloc "a" alias %spec : memref<3xf32, #shared>
    %b = tile.alloc "b" alias %spec : memref<5xf32, #shared>
    %free = tile.alloc "free" : memref<5xf32, #shared>
    %both = tile.reuse_group distinct(%a, %b) : (memref<3xf32, #shared>, memref<5xf32, #shared>) -> !tile.reuse_group<distinct>
    tile.set_buffer_overlap %spec, %both : !tile.storage_alias_spec<shared>, !tile.reuse_group<distinct>
  }
  func.return
}

// -----

// Tensor memory: columns of 512 bytes.
// CHECK-LABEL: func.func @columns
func.func @columns() {
  tile.kernel (%bx) in (1) threads(128) {
    %spec = tile.storage_alias_spec tmem : !tile.storage_alias_spec<tmem>
    // CHECK: tile.alloc "a" alias %{{.*}} offset 0
    // CHECK: tile.alloc "b" alias %{{.*}} offset 32768
    %a = tile.alloc "a" alias %spec : memref<128x64xf32, #tile.space<tmem>>
    %b = tile.alloc "b" alias %spec : memref<128x64xf32, #tile.space<tmem>>
    %both = tile.reuse_group distinct(%a, %b) : (memref<128x64xf32, #tile.space<tmem>>, memref<128x64xf32, #tile.space<tmem>>) -> !tile.reuse_group<distinct>
    tile.set_buffer_overlap %spec, %both : !tile.storage_alias_spec<tmem>, !tile.reuse_group<distinct>
  }
  func.return
}

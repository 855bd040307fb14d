// RUN: tilewright-opt %s --plan-storage-alias="report" --split-input-file --verify-diagnostics

#shared = #tile.space<shared>

func.func @too_small() {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-error @below {{storage_alias_spec buffer_size_bytes 64 is too small for computed shape, requires at least}}
    %spec = tile.storage_alias_spec shared size 64 : !tile.storage_alias_spec<shared>
    %a = tile.alloc "a" alias %spec : memref<64xf32, #shared>
  }
  func.return
}

// -----

#shared = #tile.space<shared>

func.func @twice() {
  tile.kernel (%bx) in (1) threads(128) {
    %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
    %a = tile.alloc "a" alias %spec : memref<64xf32, #shared>
    %b = tile.alloc "b" alias %spec : memref<64xf32, #shared>
    %one = tile.reuse_group shared(%a, %b) : (memref<64xf32, #shared>, memref<64xf32, #shared>) -> !tile.reuse_group<shared>
    %two = tile.reuse_group distinct(%a, %b) : (memref<64xf32, #shared>, memref<64xf32, #shared>) -> !tile.reuse_group<distinct>
    // expected-note @below {{the first definition is here}}
    tile.set_buffer_overlap %spec, %one : !tile.storage_alias_spec<shared>, !tile.reuse_group<shared>
    // expected-error @below {{storage_alias_spec already has a set_buffer_overlap defined}}
    tile.set_buffer_overlap %spec, %two : !tile.storage_alias_spec<shared>, !tile.reuse_group<distinct>
  }
  func.return
}

// -----

#shared = #tile.space<shared>

// An allocation is one buffer: nothing to make groups of two from.
func.func @grouped() {
  tile.kernel (%bx) in (1) threads(128) {
    %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
    // expected-error @below {{buffer count (1) must be a multiple of the accumulated group_size (2)}}
    %a = tile.alloc "a" alias %spec : memref<2x64xf32, #shared>
    %one = tile.reuse_group shared(%a) group_size 2 : (memref<2x64xf32, #shared>) -> !tile.reuse_group<shared>
    tile.set_buffer_overlap %spec, %one : !tile.storage_alias_spec<shared>, !tile.reuse_group<shared>
  }
  func.return
}

// -----

#shared = #tile.space<shared>

func.func @large() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-error @below {{storage alias region needs 262144 bytes, shared memory has}}
    %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
    %a = tile.alloc "a" alias %spec : memref<256x256xf32, #shared>
  }
  func.return
}

// -----

#shared = #tile.space<shared>

func.func @unsaid() {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-warning @below {{storage_alias_spec has no overlap definition; its 2 buffers all start at offset 0}}
    %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
    %a = tile.alloc "a" alias %spec : memref<64xf32, #shared>
    %b = tile.alloc "b" alias %spec : memref<64xf32, #shared>
  }
  func.return
}

// -----

func.func @empty() {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-warning @below {{has no referencing storage_alias_local_alloc operations}}
    %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
  }
  func.return
}

// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

#line = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// CHECK-LABEL: tt.func @shared_storage
tt.func @shared_storage(%x: tensor<64xf32>) {
  // CHECK: %[[SPEC:.*]] = tlx.storage_alias_spec storage = smem, size = 4096 : !tlx.storage_alias_spec<smem, 4096>
  %spec = tlx.storage_alias_spec storage = smem, size = 4096 : !tlx.storage_alias_spec<smem, 4096>
  // CHECK: %[[A:.*]] = tlx.storage_alias_local_alloc %[[SPEC]] : !tlx.storage_alias_spec<smem, 4096> -> !ttg.memdesc<2x64xf32, #shared, #smem, mutable>
  %a = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem, 4096> -> !ttg.memdesc<2x64xf32, #line, #smem, mutable>
  // CHECK: %[[B:.*]] = tlx.storage_alias_local_alloc %[[SPEC]]
  %b = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem, 4096> -> !ttg.memdesc<2x64xf16, #line, #smem, mutable>
  // CHECK: %[[GROUP:.*]] = tlx.reuse_group(%[[A]], %[[B]]) group_kind = shared : (!ttg.memdesc<2x64xf32, #shared, #smem, mutable>, !ttg.memdesc<2x64xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
  %group = tlx.reuse_group(%a, %b) group_kind = shared : (!ttg.memdesc<2x64xf32, #line, #smem, mutable>, !ttg.memdesc<2x64xf16, #line, #smem, mutable>) -> !tlx.reuse_group<shared>
  // CHECK: tlx.set_buffer_overlap(%[[SPEC]], %[[GROUP]]) : (!tlx.storage_alias_spec<smem, 4096>, !tlx.reuse_group<shared>) -> ()
  tlx.set_buffer_overlap(%spec, %group) : (!tlx.storage_alias_spec<smem, 4096>, !tlx.reuse_group<shared>) -> ()
  tt.return
}

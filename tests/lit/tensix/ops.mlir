// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

!cb = !tensix.cb<2 x 2048, bf16>
!wide = !tensix.cb<4 x 4096, f32>
!acc = !tensix.accessor<2, bf16>
#g = #tile.space<global>

// CHECK-LABEL: tensix.kernel @reader role(reader) attributes {compile_args = ["a", "a.page"], runtime_args = ["a_addr", "start_id", "count", "block_ids"]} {
tensix.kernel @reader role(reader) attributes {runtime_args = ["a_addr", "start_id", "count", "block_ids"], compile_args = ["a", "a.page"]} {
  // CHECK-NEXT: %a_addr = tensix.arg 0 "a_addr"
  %a = tensix.arg 0 "a_addr"
  // CHECK-NEXT: %[[START:.*]] = tensix.arg 1
  %start = tensix.arg 1
  // CHECK-NEXT: %[[CT:.*]] = tensix.ct_arg 1 "a.page"
  %page_bytes = tensix.ct_arg 1 "a.page"
  // CHECK-NEXT: %cb0 = tensix.cb 0 "A" : !cb
  %c0 = tensix.cb 0 "A" : !cb
  // CHECK-NEXT: %[[ACC:.*]] = tensix.accessor %a_addr ct_offset(0) "A" : !tensix.accessor<2, bf16>
  %acc = tensix.accessor %a ct_offset(0) "A" : !acc
  %one = arith.constant 1 : index
  // CHECK: tensix.table [0, 64, 70] %{{.*}}
  %row = tensix.table [0, 64, 70] %one
  // CHECK: %by, %bx = tensix.raster block_linear [4, 2] %[[START]], %{{.*}}, %{{.*}}
  %by, %bx = tensix.raster block_linear [4, 2] %start, %one, %one
  // CHECK-NEXT: tensix.raster column_major %[[START]]
  %cy, %cx = tensix.raster column_major %start, %one, %one
  // CHECK-NEXT: tensix.raster hilbert %[[START]], %{{.*}}, %{{.*}} listed %{{.*}}
  %hy, %hx = tensix.raster hilbert %start, %one, %one listed %one
  // CHECK-NEXT: %{{.*}} = tensix.arg_at 3 "block_ids"[%{{.*}}]
  %id = tensix.arg_at 3 "block_ids"[%start]
  // CHECK-NEXT: tensix.cb_reserve %cb0, %c1 : !cb
  tensix.cb_reserve %c0, %one : !cb
  // CHECK-NEXT: %[[W:.*]] = tensix.cb_write_ptr %cb0 : !cb
  %w = tensix.cb_write_ptr %c0 : !cb
  // CHECK-NEXT: tensix.noc_read_tile %by, %[[ACC]], %[[W]] : !tensix.accessor<2, bf16>
  tensix.noc_read_tile %by, %acc, %w : !acc
  // CHECK-NEXT: tensix.noc_barrier read
  tensix.noc_barrier read
  // CHECK-NEXT: tensix.fill_page scaler bits(1065353216) format(bf16) %[[W]], %c1
  tensix.fill_page scaler bits(1065353216) format(bf16) %w, %one
  // CHECK-NEXT: tensix.fill_page column_index bits(0) format(i32) %[[W]], %c1
  tensix.fill_page column_index bits(0) format(i32) %w, %one
  // CHECK-NEXT: tensix.mcast %[[W]] to[%c1, %c1, %by, %bx] bytes %[[CT]] dests %c1
  tensix.mcast %w to [%one, %one, %by, %bx] bytes %page_bytes dests %one
  // CHECK-NEXT: %sem3 = tensix.sem 3 "ready"
  %s = tensix.sem 3 "ready"
  // CHECK-NEXT: tensix.sem_set %sem3, %c1
  tensix.sem_set %s, %one
  // CHECK-NEXT: tensix.sem_wait %sem3, %c1 {min}
  tensix.sem_wait %s, %one {min}
  // CHECK-NEXT: tensix.sem_inc %sem3, %c1 at[%by, %bx]
  tensix.sem_inc %s, %one at [%by, %bx]
  // CHECK-NEXT: tensix.sem_mcast %sem3 to[%c1, %c1, %by, %bx] dests %c1
  tensix.sem_mcast %s to [%one, %one, %by, %bx] dests %one
  // CHECK-NEXT: tensix.cb_push %cb0, %c1 : !cb
  tensix.cb_push %c0, %one : !cb
}

// CHECK-LABEL: tensix.kernel @compute role(compute) attributes {fp32_dest_acc, math_fidelity = "HiFi2"} {
tensix.kernel @compute role(compute) attributes {fp32_dest_acc, math_fidelity = "HiFi2"} {
  %a = tensix.cb 0 : !cb
  %b = tensix.cb 1 : !cb
  %out = tensix.cb 16 : !cb
  %sum = tensix.cb 24 : !wide
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: tensix.hw_startup %cb0, %cb1, %cb16 {matmul} : !cb, !cb, !cb
  tensix.hw_startup %a, %b, %out {matmul} : !cb, !cb, !cb
  // CHECK-NEXT: tensix.init matmul {transpose}(%cb0, %cb1) : !cb, !cb
  tensix.init matmul {transpose} (%a, %b) : !cb, !cb
  // CHECK-NEXT: tensix.dst_acquire
  tensix.dst_acquire
  // CHECK-NEXT: tensix.cb_wait %cb0, %c1 : !cb
  tensix.cb_wait %a, %one : !cb
  // CHECK-NEXT: tensix.matmul_tile %cb0[%c0], %cb1[%c1] -> %c0 {transpose} : !cb, !cb
  tensix.matmul_tile %a[%z], %b[%one] -> %z {transpose} : !cb, !cb
  // CHECK-NEXT: tensix.init matmul_block [2, 2, 1](%cb0, %cb1) : !cb, !cb
  tensix.init matmul_block [2, 2, 1] (%a, %b) : !cb, !cb
  // CHECK-NEXT: tensix.matmul_block %cb0[%c0], %cb1[%c0] -> %c0 block [2, 2, 1] : !cb, !cb
  tensix.matmul_block %a[%z], %b[%z] -> %z block [2, 2, 1] : !cb, !cb
  // CHECK-NEXT: tensix.init binary add {accumulate}(%cb0, %cb1) : !cb, !cb
  tensix.init binary add {accumulate} (%a, %b) : !cb, !cb
  // CHECK-NEXT: tensix.binary add %cb0[%c0], %cb1[%c0] -> %c0 {accumulate} : !cb, !cb
  tensix.binary add %a[%z], %b[%z] -> %z {accumulate} : !cb, !cb
  // CHECK-NEXT: tensix.init bcast mul col(%cb0, %cb1) : !cb, !cb
  tensix.init bcast mul col (%a, %b) : !cb, !cb
  // CHECK-NEXT: tensix.bcast mul col %cb0[%c0], %cb1[%c0] -> %c0 : !cb, !cb
  tensix.bcast mul col %a[%z], %b[%z] -> %z : !cb, !cb
  // CHECK-NEXT: tensix.init reduce sum row(%cb0, %cb1, %cb16) : !cb, !cb, !cb
  tensix.init reduce sum row (%a, %b, %out) : !cb, !cb, !cb
  // CHECK-NEXT: tensix.reduce sum row %cb0[%c0], %cb1[%c0] -> %c0 : !cb, !cb
  tensix.reduce sum row %a[%z], %b[%z] -> %z : !cb, !cb
  // CHECK-NEXT: tensix.init reduce_end(%cb0) : !cb
  tensix.init reduce_end (%a) : !cb
  // CHECK-NEXT: tensix.reconfig %cb24, %cb24 : !cb1, !cb1
  tensix.reconfig %sum, %sum : !wide, !wide
  // CHECK-NEXT: tensix.init copy(%cb24) : !cb1
  tensix.init copy (%sum) : !wide
  // CHECK-NEXT: tensix.copy_tile %cb24[%c0] -> %c1 : !cb1
  tensix.copy_tile %sum[%z] -> %one : !wide
  // CHECK-NEXT: tensix.init transpose(%cb24) : !cb1
  tensix.init transpose (%sum) : !wide
  // CHECK-NEXT: tensix.transpose %cb24[%c0] -> %c1 : !cb1
  tensix.transpose %sum[%z] -> %one : !wide
  // CHECK-NEXT: tensix.init unary exp
  tensix.init unary exp
  // CHECK-NEXT: tensix.unary exp %c0
  tensix.unary exp %z
  // CHECK-NEXT: tensix.init unary_scalar
  tensix.init unary_scalar
  // CHECK-NEXT: tensix.unary_scalar rsub %c0, %c1
  tensix.unary_scalar rsub %z, %one
  // CHECK-NEXT: tensix.init binary_dst max
  tensix.init binary_dst max
  // CHECK-NEXT: tensix.binary_dst max %c0, %c1 -> %c0
  tensix.binary_dst max %z, %one -> %z
  // CHECK-NEXT: tensix.init where
  tensix.init where
  // CHECK-NEXT: tensix.where f32 %c0, %c1, %c1 -> %c0
  tensix.where f32 %z, %one, %one -> %z
  // CHECK-NEXT: tensix.init fill
  tensix.init fill
  // CHECK-NEXT: tensix.fill %c0 bits(1065353216)
  tensix.fill %z bits(1065353216)
  // CHECK-NEXT: tensix.fill_word i32 %c0, %c1
  tensix.fill_word i32 %z, %one
  // CHECK-NEXT: tensix.init typecast f32 bf16
  tensix.init typecast f32 bf16
  // CHECK-NEXT: tensix.typecast %c0 from f32 to bf16
  tensix.typecast %z from f32 to bf16
  // CHECK-NEXT: tensix.dst_commit
  tensix.dst_commit
  // CHECK-NEXT: tensix.dst_wait
  tensix.dst_wait
  // CHECK-NEXT: tensix.pack %c0 -> %cb16 : !cb
  tensix.pack %z -> %out : !cb
  // CHECK-NEXT: tensix.pack_reconfig %cb24 : !cb1
  tensix.pack_reconfig %sum : !wide
  // CHECK-NEXT: tensix.pack_l1_acc 1
  tensix.pack_l1_acc 1
  // CHECK-NEXT: tensix.pack %c0 -> %cb24[%c1] : !cb1
  tensix.pack %z -> %sum[%one] : !wide
  // CHECK-NEXT: tensix.dst_release
  tensix.dst_release
}

// CHECK-LABEL: tensix.kernel @writer role(writer) {
tensix.kernel @writer role(writer) {
  %addr = tensix.arg 0
  %out = tensix.cb 16 : !cb
  %one = arith.constant 1 : index
  // CHECK: %[[C:.*]] = tensix.accessor %arg0 ct_offset(2) : !tensix.accessor<2, bf16>
  %c = tensix.accessor %addr ct_offset(2) : !acc
  // CHECK: %[[R:.*]] = tensix.cb_read_ptr %cb16 : !cb
  %r = tensix.cb_read_ptr %out : !cb
  // CHECK-NEXT: tensix.noc_write_tile %c1, %[[C]], %[[R]] : !tensix.accessor<2, bf16>
  tensix.noc_write_tile %one, %c, %r : !acc
  // CHECK-NEXT: tensix.noc_barrier flush
  tensix.noc_barrier flush
  // CHECK-NEXT: tensix.cb_pop %cb16, %c1 : !cb
  tensix.cb_pop %out, %one : !cb
}

// CHECK: tensix.host_plan @gemm {plan = {grid = {x = 8 : i64, y = 8 : i64}, version = "2.0"}}
tensix.host_plan @gemm {plan = {version = "2.0", grid = {x = 8, y = 8}}}

// CHECK-LABEL: func.func @before_the_split
func.func @before_the_split(%A: memref<64x64xbf16, #g>, %n: index) {
  // CHECK: tensix.core_program (%{{.*}}, %{{.*}}) attributes {names = ["start_id", "count"]} {
  tensix.core_program (%start, %count) attributes {names = ["start_id", "count"]} {
    // CHECK: tensix.matmul_k_loop %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} inputs(%{{.*}}, %{{.*}}) acc(%{{.*}}) tiles(2, 2, 1) attributes {transpose_b} : memref<64x64xbf16, #global>, memref<64x64xbf16, #global>, memref<64x64xbf16, #global> {
    tensix.matmul_k_loop %k = %start to %count step %n inputs(%A, %A) acc(%A) tiles(2, 2, 1) attributes {transpose_b} : memref<64x64xbf16, #g>, memref<64x64xbf16, #g>, memref<64x64xbf16, #g> {
    }
  }
  func.return
}

// CHECK: func.func private @spaces(memref<64x64xbf16, #dram>, memref<64x64xbf16, #l1>, memref<64x64xbf16, #dst>)
func.func private @spaces(memref<64x64xbf16, #tile.space<dram>>, memref<64x64xbf16, #tile.space<l1>>, memref<64x64xbf16, #tile.space<dst>>)

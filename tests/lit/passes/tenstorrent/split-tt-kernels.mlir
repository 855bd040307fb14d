// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=2x2 --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --lower-circular-buffers --split-tt-kernels | filecheck %s

// CHECK: tensix.host_plan @gemm
// CHECK-SAME: traffic = {dram_page_reads = 32 : i64, dram_page_writes = 8 : i64
// CHECK: tensix.kernel @reader role(reader) attributes {compile_args = ["arg0_accessor", "arg0_page_bytes", "arg1_accessor", "arg1_page_bytes"], runtime_args = ["arg0_addr", "arg1_addr", "start_id", "count"]}
// CHECK: tensix.cb_reserve
// CHECK: tensix.noc_read_tile
// CHECK: tensix.noc_barrier read
// CHECK: tensix.cb_push
// CHECK: tensix.kernel @compute role(compute) attributes {fp32_dest_acc, runtime_args = ["count"]}
// CHECK: tensix.matmul_k_loop
// CHECK: tensix.elementwise
// CHECK: tensix.kernel @writer role(writer) attributes {compile_args = ["arg2_accessor", "arg2_page_bytes"], runtime_args = ["arg2_addr", "start_id", "count"]}
// CHECK: tensix.cb_wait
// CHECK: tensix.noc_write_tile
// CHECK: tensix.noc_barrier write
// CHECK: tensix.cb_pop
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @gemm(%A: memref<100x64xbf16, #global>, %B: memref<64x64xbf16, #global>, %C: memref<100x64xbf16, #global>) {
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.kernel (%bx, %by) in (2, 4) threads(128) {
    %a = tile.alloc "a" : memref<32x32xbf16, #shared>
    %b = tile.alloc "b" : memref<32x32xbf16, #shared>
    %c = tile.alloc "c" : memref<32x32xf32, #fragment>
    %row = arith.muli %by, %c32 : index
    %column = arith.muli %bx, %c32 : index
    tile.fill %c, %zero : memref<32x32xf32, #fragment>, f32
    tile.pipeline %k = 0 to 2 num_stages(3) {
      %step = arith.muli %k, %c32 : index
      %ra = tile.region %A[%row, %step] [32, 32] : memref<100x64xbf16, #global> to !tile.region<32x32xbf16, #global>
      tile.copy %ra -> %a : !tile.region<32x32xbf16, #global> -> memref<32x32xbf16, #shared>
      %rb = tile.region %B[%step, %column] [32, 32] : memref<64x64xbf16, #global> to !tile.region<32x32xbf16, #global>
      tile.copy %rb -> %b : !tile.region<32x32xbf16, #global> -> memref<32x32xbf16, #shared>
      tile.gemm %a, %b -> %c : memref<32x32xbf16, #shared>, memref<32x32xbf16, #shared> -> memref<32x32xf32, #fragment>
    }
    %rc = tile.region %C[%row, %column] [32, 32] : memref<100x64xbf16, #global> to !tile.region<32x32xbf16, #global>
    tile.copy %c -> %rc : memref<32x32xf32, #fragment> -> !tile.region<32x32xbf16, #global>
  }
  func.return
}

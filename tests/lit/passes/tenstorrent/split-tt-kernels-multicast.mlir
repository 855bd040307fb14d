// RUN: tilewright-opt %s --bind-target=target=tenstorrent:wormhole "--apply-tt-defaults=cores=2x2 multicast=on" --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --add-ghost-steps --group-multicast --lower-circular-buffers --split-tt-kernels | filecheck %s --check-prefix=CHECK
// RUN: tilewright-opt %s --bind-target=target=tenstorrent:blackhole "--apply-tt-defaults=cores=2x2 multicast=on" --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --add-ghost-steps --group-multicast --lower-circular-buffers --split-tt-kernels | filecheck %s --check-prefix=FLUSH

// The readers of 2 x 2 cores: who sends and who receives A and B, and the protocol of each.
// CHECK: tensix.host_plan @gemm
// CHECK-SAME: multicast_pages = 16
// CHECK: tensix.kernel @reader_arg0_sender_arg1_sender
// CHECK-SAME: "arg0_x_start", "arg0_y_start", "arg0_x_end", "arg0_y_end", "arg0_dests"
// CHECK: tensix.sem_set %sem1, %c1
// CHECK-NEXT: tensix.sem_set %sem3, %c1
// CHECK: tensix.cb_reserve %cb0, %c1
// CHECK: tensix.noc_read_tile
// CHECK-NEXT: tensix.noc_barrier read
// CHECK-NEXT: tensix.sem_wait %sem0, %arg0_dests
// CHECK-NEXT: tensix.sem_set %sem0, %c0
// CHECK-NEXT: tensix.mcast %{{.*}} to[%arg0_x_start, %arg0_y_start, %arg0_x_end, %arg0_y_end] bytes %c2048 dests %arg0_dests
// CHECK-NEXT: tensix.sem_mcast %sem1 to[%arg0_x_start, %arg0_y_start, %arg0_x_end, %arg0_y_end] dests %arg0_dests
// CHECK-NEXT: tensix.cb_push %cb0, %c1
// CHECK: tensix.cb_push %cb1, %c1
// CHECK: tensix.noc_barrier write
// CHECK: tensix.kernel @reader_arg0_receiver_arg1_sender
// CHECK: tensix.cb_reserve %cb0, %c1
// CHECK-NEXT: tensix.sem_set %sem1, %c0
// CHECK-NEXT: tensix.sem_inc %sem0, %c1 at[%arg0_sender_x, %arg0_sender_y]
// CHECK-NEXT: tensix.sem_wait %sem1, %c1
// CHECK-NEXT: tensix.cb_push %cb0, %c1
// CHECK: tensix.kernel @reader_arg0_sender_arg1_receiver
// CHECK: tensix.kernel @reader_arg0_receiver_arg1_receiver
// CHECK-NOT: tensix.noc_read_tile
// CHECK: tensix.noc_barrier atomic
// CHECK: tensix.kernel @compute

// Data and flag are not ordered there: the sender flushes between them.
// FLUSH: tensix.kernel @reader_arg0_sender_arg1_sender
// FLUSH: tensix.mcast
// FLUSH-NEXT: tensix.noc_barrier flush
// FLUSH-NEXT: tensix.sem_mcast
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

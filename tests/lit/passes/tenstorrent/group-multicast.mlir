// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim "--apply-tt-defaults=cores=2x2 multicast=on" --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --make-persistent --rasterize-tiles --map-cores --group-multicast | filecheck %s

// Cores of a row read the same rows of A, cores of a column the same columns of B.
// CHECK: tt.multicast_groups = [{axis = "x", dests = [1, 0, 1, 0], num_dests = 1 : i64, operand = "arg0", pages_per_step = 1 : i64, ready_sem = 0 : i64, sender = [0, 0], valid_sem = 1 : i64}
// CHECK-SAME: {axis = "x", dests = [1, 1, 1, 1], num_dests = 1 : i64, operand = "arg0"
// CHECK-SAME: {axis = "y", dests = [0, 1, 0, 1], num_dests = 1 : i64, operand = "arg1", pages_per_step = 1 : i64, ready_sem = 2 : i64, sender = [0, 0], valid_sem = 3 : i64}
// CHECK-SAME: policy = "rect"
// CHECK-SAME: tt.sync_barriers = []
// CHECK: tile.copy %{{.*}} -> %a {tt.multicast = "arg0"}
// CHECK: tile.copy %{{.*}} -> %b {tt.multicast = "arg1"}
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

// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults="cores=1x2 shard=arg0:height,arg2:height" --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --assign-shards | filecheck %s
// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults="cores=1x2 order=column_major shard=arg0:height" --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --assign-shards | filecheck %s --check-prefix=NOC

// Two cores with two rows of blocks each: they find A and C in their own shards.
// CHECK: tt.l1_tensors = {{\[\[}}"arg0", 8192], ["arg2", 8192]]
// CHECK-SAME: in_place = true, layout = "tiled", memory = "l1_height_sharded"
// CHECK-SAME: shards = {cores = {{\[\[}}0, 0], [0, 1]], shape = [2, 2], tensor = [4, 2]}
// CHECK-SAME: memory = "dram_interleaved"

// Columns of blocks: both cores need all rows of A.
// NOC: in_place = false, layout = "tiled", memory = "l1_height_sharded"
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @gemm(%A: memref<128x64xbf16, #global>, %B: memref<64x64xbf16, #global>, %C: memref<128x64xbf16, #global>) {
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
      %ra = tile.region %A[%row, %step] [32, 32] : memref<128x64xbf16, #global> to !tile.region<32x32xbf16, #global>
      tile.copy %ra -> %a : !tile.region<32x32xbf16, #global> -> memref<32x32xbf16, #shared>
      %rb = tile.region %B[%step, %column] [32, 32] : memref<64x64xbf16, #global> to !tile.region<32x32xbf16, #global>
      tile.copy %rb -> %b : !tile.region<32x32xbf16, #global> -> memref<32x32xbf16, #shared>
      tile.gemm %a, %b -> %c : memref<32x32xbf16, #shared>, memref<32x32xbf16, #shared> -> memref<32x32xf32, #fragment>
    }
    %rc = tile.region %C[%row, %column] [32, 32] : memref<128x64xbf16, #global> to !tile.region<32x32xbf16, #global>
    tile.copy %c -> %rc : memref<32x32xf32, #fragment> -> !tile.region<32x32xbf16, #global>
  }
  func.return
}

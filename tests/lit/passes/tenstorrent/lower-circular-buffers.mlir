// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=2x2 --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --lower-circular-buffers | filecheck %s
// RUN: not tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=2x2 --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --lower-circular-buffers=l1-budget=4096 2>&1 | filecheck %s --check-prefix=L1

// Loads get depth 3, the output two blocks; the accumulator stays in DST.
// CHECK: %a = tile.alloc "a" {tt.cb = {chunk = 1 : i64, consumer = "compute", index = 0 : i64, pages = 3 : i64, producer = "reader"
// CHECK: %b = tile.alloc "b" {tt.cb = {{.*}}index = 1 : i64, pages = 3 : i64
// CHECK: %c = tile.alloc "c" {tt.extents
// CHECK: tile.alloc "arg2_tile" {tt.cb = {{.*}}consumer = "writer", index = 16 : i64, pages = 2 : i64
// CHECK: strategy = "whole"
// CHECK: tt.release
// L1: error[TW7050]: L1: 12288 B needed for circular buffers, 4096 B allowed by tt.l1_budget (sim has 1368064 B): a 2 x 2048 | b 2 x 2048 | arg2_tile 2 x 2048; use smaller blocks, or raise the budget
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

// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim "--apply-tt-defaults=cores=2x2 order=block_linear:2x2" --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --make-persistent --rasterize-tiles | filecheck %s
// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim "--apply-tt-defaults=cores=2x2 order=column_major policy=rect" --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --make-persistent --rasterize-tiles | filecheck %s --check-prefix=RECT
// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim "--apply-tt-defaults=cores=2x2 order=hilbert policy=strided" --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --make-persistent --rasterize-tiles | filecheck %s --check-prefix=LISTED
// RUN: tilewright-opt %s --tenstorrent-pipeline="target=tenstorrent:sim cores=2x2 order=hilbert" | filecheck %s --check-prefix=KERNEL
// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults | filecheck %s --check-prefix=AUTHOR
// RUN: not tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=order=block_linear:0x2 2>&1 | filecheck %s --check-prefix=EMPTY

// CHECK: tensix.raster block_linear [2, 2] %block

// The walk is over the rectangle of the core.
// RECT: tensix.core_program (%start_id, %count, %row0, %col0, %rows, %cols)
// RECT: %[[Y:.*]], %[[X:.*]] = tensix.raster column_major %i, %rows, %cols
// RECT-NEXT: arith.addi %row0, %[[Y]]
// RECT-NEXT: arith.addi %col0, %[[X]]

// At most 256 blocks a core: a list, which reader and writer read from their arguments.
// LISTED: tensix.raster hilbert %block, %{{.*}}, %{{.*}} listed %i
// KERNEL: blocks = [3, 2]
// KERNEL: tensix.kernel @reader
// KERNEL: %[[ID:.*]] = tensix.arg_at 3 "block_ids"[%i]
// KERNEL-NEXT: tensix.raster row_major %[[ID]]
// KERNEL: tensix.kernel @writer
// KERNEL: %[[ID:.*]] = tensix.arg_at 2 "block_ids"[%i]
// KERNEL-NEXT: tensix.raster row_major %[[ID]]

// Panels of three rows.
// AUTHOR: order = "block_linear", policy = "contiguous", rect = [3, 1]
// EMPTY: error[TW7081]: the block of the raster order is 0x2: use extents >= 1
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @gemm(%A: memref<100x64xbf16, #global>, %B: memref<64x64xbf16, #global>, %C: memref<100x64xbf16, #global>) {
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.kernel (%bx, %by) in (2, 4) threads(128) raster #tile.raster<row, 3> {
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

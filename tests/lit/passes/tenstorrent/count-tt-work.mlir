// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=2x2 --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --lower-circular-buffers --split-tt-kernels --lower-tt-intrinsics --canonicalize --cse --verify-tt --count-tt-work | filecheck %s

// Eight blocks on four cores: two blocks each, two steps of K a block.
// CHECK: work = [{cbs = {{\[\[0, "pop", 1, 4\], \[0, "push", 1, 4\], \[1, "pop", 1, 4\], \[1, "push", 1, 4\], \[16, "pop", 1, 2\], \[16, "push", 1, 2\]\]}}
// CHECK-SAME: compute = {{\[\[}}"cb", "", 20, []], ["init", "", 2, []], ["matmul_tile", "", 4, [2048, 2048]], ["pack", "", 2, [2048]]]
// CHECK-SAME: cores = [0, 1, 2, 3]
// CHECK-SAME: reader = {{\[\[}}"cb", "", 16, []], ["noc_barrier", "read", 8, []], ["noc_read", "arg0", 4, [2048]], ["noc_read", "arg1", 4, [2048]]]
// CHECK-SAME: writer = {{\[\[}}"cb", "", 4, []], ["noc_barrier", "write", 2, []], ["noc_write", "arg2", 2, [2048]]]

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

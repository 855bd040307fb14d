// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=3x1 --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --keep-panels=residency=auto | filecheck %s
// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=3x1 --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --fuse-elementwise --make-persistent --rasterize-tiles --map-cores --keep-panels | filecheck %s --check-prefix=OFF
// RUN: not tilewright-opt %s --bind-target=target=tenstorrent:sim --keep-panels=residency=always 2>&1 | filecheck %s --check-prefix=UNKNOWN

// Blocks 0 1 2 | 3 4 5 | 6 7 of two columns: rows change after 1 and 3 and 5, columns always.
// CHECK: tt.residency = {mode = "auto", streamed = [{buffer = "b", pages = 2 : i64, reason = "no two consecutive blocks of a core read the same", saved_page_reads = 0 : i64
// CHECK: %a = tile.alloc "a" {{.*}}tt.retained = {axes = ["y"], blocks = 8 : i64, copies = 1 : i64, loads = 5 : i64, loops = 1 : i64, steps = 2 : i64, tensor = "arg0", tiles = 1 : i64}
// CHECK: scf.for %i = %c0 to %count
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %i, %{{.*}}
// CHECK: %[[BEFORE:.*]] = arith.maxui %i
// CHECK: arith.subi %[[BEFORE]]
// CHECK: %[[CHANGED:.*]] = arith.cmpi ne, %by, %by_{{.*}} : index
// CHECK-NEXT: %is_first = arith.ori %[[FIRST]], %[[CHANGED]] : i1
// CHECK: arith.cmpi eq, %{{.*}}, %count : index
// CHECK: %is_last = arith.ori
// CHECK: tensix.matmul_k_loop
// CHECK: scf.if %is_first {
// CHECK-NEXT: tile.copy %{{.*}} -> %a
// CHECK-NEXT: }
// CHECK: tile.copy %{{.*}} -> %b
// CHECK: scf.if %is_last {
// CHECK-NEXT: tensix.release %a
// OFF-NOT: tt.residency
// OFF-NOT: scf.if
// UNKNOWN: error[TW7001]: unknown residency 'always': use off, on, auto
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

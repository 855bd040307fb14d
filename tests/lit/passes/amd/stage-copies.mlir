// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --stage-copies | filecheck %s
// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --stage-copies --plan-staging | filecheck %s --check-prefix=PLAN
// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --stage-copies --plan-staging --expand-pipeline | filecheck %s --check-prefix=EXPANDED

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK-LABEL: func.func @gemm
// PLAN-LABEL: func.func @gemm
// EXPANDED-LABEL: func.func @gemm
func.func @gemm(%A: memref<64x96xf16, #global>, %B: memref<64x96xf16, #global>, %C: memref<64x64xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // Sixteen bytes of a row to each of four neighbouring threads.
    // CHECK: tile.alloc "As_staged" layout #tile.fragment<(i : 64, j : 32) -> thread (i mod 32 * 4 + j floordiv 8) index (i floordiv 32 * 8 + j mod 8)> {amd.staging} : memref<64x32xf16, #fragment>
    %as = tile.alloc "As" : memref<64x32xf16, #shared>
    %bs = tile.alloc "Bs" : memref<64x32xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %c32 = arith.constant 32 : index
    %z = arith.constant 0.0 : f32
    tile.fill %c, %z : memref<64x64xf32, #fragment>, f32
    // CHECK: tile.pipeline
    // CHECK: tile.copy %{{.*}} -> %As_staged
    // CHECK: tile.copy %As_staged -> %As
    // CHECK: tile.copy %{{.*}} -> %Bs_staged
    // CHECK: tile.copy %Bs_staged -> %Bs
    // Loads first, then the GEMM of the previous iteration, then the stores to the other version.
    // PLAN: tile.pipeline %{{.*}} = 0 to 3 num_stages(3) plan #tile.pipeline_plan<stage = [0, 0, 0, 0, 1], order = [0, 3, 1, 4, 2], versions = [1, 2, 1, 2, 1]>

    // EXPANDED: tile.alloc "As" : memref<2x64x32xf16, #shared>
    // EXPANDED: tile.copy %{{.*}} -> %As_staged
    // EXPANDED: tile.copy %{{.*}} -> %Bs_staged
    // EXPANDED: tile.copy %As_staged
    // EXPANDED: tile.copy %Bs_staged
    // EXPANDED: scf.for
    // EXPANDED: tile.copy %{{.*}} -> %As_staged
    // EXPANDED: tile.copy %{{.*}} -> %Bs_staged
    // EXPANDED: tile.gemm
    // EXPANDED: tile.copy %As_staged
    // EXPANDED: tile.copy %Bs_staged
    // EXPANDED: }
    // EXPANDED: tile.gemm
    tile.pipeline %k = 0 to 3 num_stages(3) {
      %o = arith.muli %k, %c32 : index
      %ra = tile.region %A[0, %o] [64, 32] : memref<64x96xf16, #global> to !tile.region<64x32xf16, #global>
      tile.copy %ra -> %as : !tile.region<64x32xf16, #global> -> memref<64x32xf16, #shared>
      %rb = tile.region %B[0, %o] [64, 32] : memref<64x96xf16, #global> to !tile.region<64x32xf16, #global>
      tile.copy %rb -> %bs : !tile.region<64x32xf16, #global> -> memref<64x32xf16, #shared>
      tile.gemm %as, %bs -> %c {transpose_b} : memref<64x32xf16, #shared>, memref<64x32xf16, #shared> -> memref<64x64xf32, #fragment>
    }
    tile.copy %c -> %C : memref<64x64xf32, #fragment> -> memref<64x64xf32, #global>
  }
  func.return
}

// A serial loop, and a loop that the user schedules, keep their copies.
// CHECK-LABEL: func.func @serial
func.func @serial(%A: memref<64x96xf16, #global>, %B: memref<64x96xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %as = tile.alloc "As" : memref<64x32xf16, #shared>
    %c32 = arith.constant 32 : index
    // CHECK-NOT: amd.staging
    // CHECK: func.return
    tile.pipeline %k = 0 to 3 {
      %o = arith.muli %k, %c32 : index
      %ra = tile.region %A[0, %o] [64, 32] : memref<64x96xf16, #global> to !tile.region<64x32xf16, #global>
      %rb = tile.region %B[0, %o] [64, 32] : memref<64x96xf16, #global> to !tile.region<64x32xf16, #global>
      tile.copy %ra -> %as : !tile.region<64x32xf16, #global> -> memref<64x32xf16, #shared>
      tile.copy %as -> %rb : memref<64x32xf16, #shared> -> !tile.region<64x32xf16, #global>
    }
  }
  func.return
}

// Shared memory holds the second operand along K, which is not how the tensor is stored: a thread
// reads eight columns of two rows, and writes pairs.
// CHECK-LABEL: func.func @transposing
func.func @transposing(%A: memref<64x32xf16, #global>, %B: memref<32x64xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %as = tile.alloc "As" : memref<64x32xf16, #shared>
    // CHECK: tile.alloc "Bs_staged" layout #tile.fragment<(i : 32, j : 64) -> thread (i floordiv 2 + j floordiv 8 * 16) index (i mod 2 * 8 + j mod 8)> {amd.staging}
    %bs = tile.alloc "Bs" : memref<32x64xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %z = arith.constant 0.0 : f32
    tile.fill %c, %z : memref<64x64xf32, #fragment>, f32
    // A copy that does not transpose stays one where no loop is pipelined.
    // CHECK: tile.copy %arg0 -> %As
    tile.copy %A -> %as : memref<64x32xf16, #global> -> memref<64x32xf16, #shared>
    // CHECK: tile.copy %arg1 -> %Bs_staged
    // CHECK: tile.parallel (%[[N:.*]], %[[K:.*]]) in (64, 32) attributes {layout = #tile.fragment<(i : 64, j : 32) -> thread (i floordiv 8 * 16 + j floordiv 2) index (i mod 8 * 2 + j mod 2)>
    // CHECK: memref.load %Bs_staged[%[[K]], %[[N]]]
    // CHECK: memref.store %{{.*}}, %Bs[%[[K]], %[[N]]]
    tile.copy %B -> %bs : memref<32x64xf16, #global> -> memref<32x64xf16, #shared>
    tile.gemm %as, %bs -> %c : memref<64x32xf16, #shared>, memref<32x64xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

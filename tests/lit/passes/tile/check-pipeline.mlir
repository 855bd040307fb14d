// RUN: tilewright-opt %s --plan-pipeline --check-pipeline --expand-pipeline --split-input-file --verify-diagnostics

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Proved: nothing is said.
func.func @gemm(%A: memref<?x64xf16, #global>, %C: memref<64x64xf32, #global>, %n: index, %zero: f32) {
  %c64 = arith.constant 64 : index
  tile.kernel (%bx) in (1) threads(128) {
    %as = tile.alloc "as" : memref<64x64xf16, #shared>
    %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
    tile.fill %acc, %zero : memref<64x64xf32, #fragment>, f32
    tile.pipeline %k = 0 to %n num_stages(3) {
      %i = arith.muli %k, %c64 : index
      %ra = tile.region %A[%i, 0] [64, 64] : memref<?x64xf16, #global> to !tile.region<64x64xf16, #global>
      tile.copy %ra -> %as : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
      tile.gemm %as, %as -> %acc : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    }
    tile.copy %acc -> %C : memref<64x64xf32, #fragment> -> memref<64x64xf32, #global>
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>

// How often the loop runs is known to the data only.
func.func @unknown(%A: memref<?x64xf16, #global>, %C: memref<64x64xf16, #global>, %n: memref<1xf32, #global>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.kernel (%bx) in (1) threads(128) {
    %as = tile.alloc "as" : memref<64x64xf16, #shared>
    %f = memref.load %n[%c0] : memref<1xf32, #global>
    %i32 = arith.fptosi %f : f32 to i32
    %turns = arith.index_cast %i32 : i32 to index
    // expected-remark @below {{pipeline not analysed: an integer depends on unknown values}}
    tile.pipeline %k = 0 to %turns num_stages(2) {
      %i = arith.muli %k, %c64 : index
      %ra = tile.region %A[%i, 0] [64, 64] : memref<?x64xf16, #global> to !tile.region<64x64xf16, #global>
      tile.copy %ra -> %as : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
      tile.copy %as -> %C : memref<64x64xf16, #shared> -> memref<64x64xf16, #global>
    }
  }
  func.return
}

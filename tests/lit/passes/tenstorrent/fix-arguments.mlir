// RUN: tilewright-opt %s --fix-arguments="values=A=33x64;n=5" --canonicalize | filecheck %s
// RUN: not tilewright-opt %s --fix-arguments="values=A=33x64" 2>&1 | filecheck %s --check-prefix=OPEN

// Extents and the loop bound are known; the factor stays an argument.
// CHECK: func.func public @scaled(%{{.*}}: memref<33x64xf32, #global> {tile.name = "A", tile.shape = [33, 64]}, %{{.*}}: i32 {tile.name = "n"}, %[[FACTOR:.*]]: f32)
// CHECK-DAG: %[[BOUND:.*]] = arith.constant 5 : index
// CHECK: tile.kernel (%{{.*}}) in (2)
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[BOUND]]
// CHECK: arith.mulf %{{.*}}, %[[FACTOR]] : f32
// OPEN: error[TW7110]: 'n' decides about control flow, addresses or extents, and its value is not known
#fragment = #tile.space<fragment>
#global = #tile.space<global>
func.func public @scaled(%A: memref<?x64xf32, #global> {tile.name = "A", tile.shape = ["m", 64]}, %n: i32 {tile.name = "n"}, %factor: f32) attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %rows = memref.dim %A, %c0 : memref<?x64xf32, #global>
  %blocks = arith.ceildivsi %rows, %c32 : index
  %bound = arith.index_cast %n : i32 to index
  tile.kernel (%by) in (%blocks) threads(128) {
    %x = tile.alloc "x" : memref<32x64xf32, #fragment>
    %row = arith.muli %by, %c32 : index
    %box = tile.region %A[%row, 0] [32, 64] : memref<?x64xf32, #global> to !tile.region<32x64xf32, #global>
    tile.copy %box -> %x : !tile.region<32x64xf32, #global> -> memref<32x64xf32, #fragment>
    scf.for %t = %c0 to %bound step %c1 {
      tile.parallel (%i, %j) in (32, 64) {
        %v = memref.load %x[%i, %j] : memref<32x64xf32, #fragment>
        %w = arith.mulf %v, %factor : f32
        memref.store %w, %x[%i, %j] : memref<32x64xf32, #fragment>
      }
    }
    tile.copy %x -> %box : memref<32x64xf32, #fragment> -> !tile.region<32x64xf32, #global>
  }
  func.return
}

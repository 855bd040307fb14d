#global = #tile.space<global>
#shared = #tile.space<shared>
module {
  func.func public @scale(%X: memref<1024xf32, #global> {tile.dtype = "float32", tile.name = "X", tile.shape = [1024]}, %Y: memref<1024xf32, #global> {tile.dtype = "float32", tile.name = "Y", tile.output, tile.shape = [1024]}) attributes {tile.entry} {
    tile.kernel (%bx) in (16) threads(32) {
      %staged = tile.alloc "staged" {dtype = "float32"} : memref<64xf32, #shared>
      %c64 = arith.constant 64 : index
      %0 = arith.muli %bx, %c64 : index
      %1 = tile.region %X[%0] [64] : memref<1024xf32, #global> to !tile.region<64xf32, #global>
      tile.copy %1 -> %staged : !tile.region<64xf32, #global> -> memref<64xf32, #shared>
      tile.parallel (%i) in (64) {
        %4 = memref.load %staged[%i] : memref<64xf32, #shared>
        %cst = arith.constant 2.000000e+00 : f32
        %5 = arith.mulf %4, %cst : f32
        memref.store %5, %staged[%i] : memref<64xf32, #shared>
      }
      %c64_0 = arith.constant 64 : index
      %2 = arith.muli %bx, %c64_0 : index
      %3 = tile.region %Y[%2] [64] : memref<1024xf32, #global> to !tile.region<64xf32, #global>
      tile.copy %staged -> %3 : memref<64xf32, #shared> -> !tile.region<64xf32, #global>
    }
    func.return
  }
}

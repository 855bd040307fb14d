// RUN: not tilewright-opt %s --bind-target=target=tenstorrent:sim --rasterize-tiles 2>&1 | filecheck %s

// Orders without a closed form need a grid that is known, unless every core has a list.
// CHECK: error[TW7080]: raster order hilbert is a table, and the grid is a run-time value: use row_major, column_major or block_linear
#global = #tile.space<global>
func.func public @walk(%A: memref<64x64xbf16, #global>, %rows: index, %columns: index) attributes {tt.schedule = {policy = "contiguous", order = "hilbert", grid = [30, 30, 1], cores = [1, 1], assignments = [[0, 0, 900]]}} {
  tensix.core_program (%start_id, %count) attributes {names = ["start_id", "count"]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %count step %c1 {
      %by, %bx = tensix.raster row_major %i, %rows, %columns
      scf.yield
    }
    tensix.end
  }
  func.return
}

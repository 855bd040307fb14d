// RUN: tilewright-opt -apply-tensor-layouts -verify-diagnostics %s

#g = #tile.space<global>
#s = #tile.space<shared>
#rows = #tile.layout<(i : 16, j : 64) -> (i floordiv 8, j, i mod 8)>

func.func @whole(%A: memref<16x64xf32, #g> {tile.layout = #rows, tile.name = "A"}) {
  tile.kernel (%bx) in (1) threads(128) {
    %s = tile.alloc "s" : memref<16x64xf32, #s>
    // expected-error@+2 {{'A' has a layout of its own (T.annotate_layout): accesses to single elements support it, tile.async_copy does not}}
    // expected-note@+1 {{help: copy it outside of pipelined loops}}
    tile.async_copy %A -> %s : memref<16x64xf32, #g> -> memref<16x64xf32, #s>
  }
  func.return
}

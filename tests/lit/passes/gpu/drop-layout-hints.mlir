// RUN: tilewright-opt -drop-layout-hints %s | filecheck %s

#shared = #tile.space<shared>

// A swizzle that the author asks for is chosen by the compiler; other layouts were meant.

// CHECK-LABEL: func.func @f(
// CHECK: tile.alloc "hint" : memref<64x64xf16
// CHECK: tile.alloc "plain" : memref<64x64xf16
// CHECK: tile.alloc "own" layout #{{.*}} : memref<64x64xf16
func.func @f() {
  tile.kernel (%bx) in (1) threads(128) {
    %hint = tile.alloc "hint" layout #tile.layout<(i : 64, j : 64) -> (i, ((j floordiv 8) xor (i mod 8)) * 8 + j mod 8)> : memref<64x64xf16, #shared>
    %plain = tile.alloc "plain" layout #tile.layout<(i : 64, j : 64) -> (i, j)> : memref<64x64xf16, #shared>
    %own = tile.alloc "own" layout #tile.layout<(i : 64, j : 64) -> (i, (j + i * 8) mod 64)> : memref<64x64xf16, #shared>
  }
  func.return
}

// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --check-tt-tensors --split-input-file -verify-diagnostics

#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @strided(%X: memref<4096xf32, #global> {tile.name = "X"}) {
  // expected-error @+1 {{a view of 'arg0' is not supported: its elements are in other tiles than those of the tensor; pass a tensor of shape 32x64 instead}}
  %A = tile.view %X : memref<4096xf32, #global> to memref<32x64xf32, strided<[128, 1]>, #global>
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @at_an_address(%X: memref<4096xf32, #global> {tile.name = "X"}) {
  %c = arith.constant 17 : index
  %p = tile.ptr_of r %X[%c] : memref<4096xf32, #global>
  // expected-error @+1 {{a view of 'arg0' is not supported}}
  %A = tile.view %p : !tile.ptr<f32, #global> to memref<32x64xf32, #global>
  func.return
}

// -----

#shared = #tile.space<shared>
func.func public @on_chip(%x: memref<32x64xf32, #shared>) {
  %v = tile.view %x : memref<32x64xf32, #shared> to memref<64x32xf32, #shared>
  func.return
}

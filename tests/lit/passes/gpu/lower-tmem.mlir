// RUN: tilewright-opt -lower-tmem -verify-diagnostics %s

#t = #tile.space<tmem>

func.func @hopper() {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @+2 {{help: allocate the accumulator in registers: T.alloc_fragment((128, 256), 'f32')}}
    // expected-error @+1 {{tensor memory requires sm_100, the target is sm_90}}
    %acc = tile.alloc "acc" : memref<128x256xf32, #t>
  }
  func.return
}

func.func @blackwell() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @+2 {{help: allocate the accumulator in registers: T.alloc_fragment((64, 32), 'f32')}}
    // expected-error @+1 {{code generation for tensor memory is not implemented: 'acc' is allocated there}}
    %acc = tile.alloc "acc" : memref<64x32xf32, #t>
  }
  func.return
}

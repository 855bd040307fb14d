// RUN: tilewright-opt --sink-tensor-reads --split-input-file %s | filecheck %s

#t = #tile.space<tmem>
#s = #tile.space<shared>
#f = #tile.space<fragment>
#g = #tile.space<global>

// The last columns of a matrix are stored element by element: either branch reads the accumulator.
// CHECK-LABEL: func.func @branches
// CHECK: tile.alloc "f"
// CHECK-NOT: tile.copy
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: tile.copy %c -> %f
// CHECK-NEXT: tile.parallel
// CHECK: } else {
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: tile.copy %c -> %f
// CHECK-NEXT: tile.parallel
// CHECK-NOT: tile.copy
func.func @branches(%a: memref<128x256xbf16, #g>, %whole: i1, %part: i1) attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<128x256xf32, #t>
    %f = tile.alloc "f" : memref<128x256xf32, #f>
    %out = tile.alloc "out" : memref<128x256xf32, #s>
    tile.copy %c -> %f : memref<128x256xf32, #t> -> memref<128x256xf32, #f>
    scf.if %whole {
      tile.parallel (%i, %j) in (128, 256) {
        %v = memref.load %f[%i, %j] : memref<128x256xf32, #f>
        memref.store %v, %out[%i, %j] : memref<128x256xf32, #s>
      }
    } else {
      scf.if %part {
        tile.parallel (%i, %j) in (128, 256) {
          %v = memref.load %f[%i, %j] : memref<128x256xf32, #f>
          %w = arith.truncf %v : f32 to bf16
          memref.store %w, %a[%i, %j] : memref<128x256xbf16, #g>
        }
      }
    }
  }
  func.return
}

// -----

#t = #tile.space<tmem>
#s = #tile.space<shared>
#f = #tile.space<fragment>
#b = #tile.space<barrier>

// Another warp may write the accumulator once a barrier has been passed; a use after the branch
// needs the value, too; and a branch that some threads do not take cannot read tensor memory.
// CHECK-LABEL: func.func @barrier
// CHECK: tile.copy %c -> %f
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.if
// CHECK-NOT: tile.copy
func.func @barrier(%whole: i1) attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<128x256xf32, #t>
    %f = tile.alloc "f" : memref<128x256xf32, #f>
    %out = tile.alloc "out" : memref<128x256xf32, #s>
    tile.copy %c -> %f : memref<128x256xf32, #t> -> memref<128x256xf32, #f>
    gpu.barrier
    scf.if %whole {
      tile.parallel (%i, %j) in (128, 256) {
        %v = memref.load %f[%i, %j] : memref<128x256xf32, #f>
        memref.store %v, %out[%i, %j] : memref<128x256xf32, #s>
      }
    }
  }
  func.return
}

// CHECK-LABEL: func.func @after
// CHECK: tile.copy %c -> %f
// CHECK-NEXT: scf.if
// CHECK-NOT: tile.copy
func.func @after(%whole: i1) attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<128x256xf32, #t>
    %f = tile.alloc "f" : memref<128x256xf32, #f>
    %out = tile.alloc "out" : memref<128x256xf32, #s>
    tile.copy %c -> %f : memref<128x256xf32, #t> -> memref<128x256xf32, #f>
    scf.if %whole {
      tile.parallel (%i, %j) in (128, 256) {
        %v = memref.load %f[%i, %j] : memref<128x256xf32, #f>
        memref.store %v, %out[%i, %j] : memref<128x256xf32, #s>
      }
    }
    tile.parallel (%i, %j) in (128, 256) {
      %v = memref.load %f[%i, %j] : memref<128x256xf32, #f>
      memref.store %v, %out[%i, %j] : memref<128x256xf32, #s>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @some_threads
// CHECK: tile.copy %c -> %f
// CHECK: scf.if
// CHECK-NOT: tile.copy
func.func @some_threads() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<128x256xf32, #t>
    %f = tile.alloc "f" : memref<128x256xf32, #f>
    %out = tile.alloc "out" : memref<128x256xf32, #s>
    %zero = arith.constant 0 : index
    %tx = gpu.thread_id x
    tile.copy %c -> %f : memref<128x256xf32, #t> -> memref<128x256xf32, #f>
    %first = arith.cmpi eq, %tx, %zero : index
    scf.if %first {
      tile.parallel (%i, %j) in (128, 256) {
        %v = memref.load %f[%i, %j] : memref<128x256xf32, #f>
        memref.store %v, %out[%i, %j] : memref<128x256xf32, #s>
      }
    }
  }
  func.return
}

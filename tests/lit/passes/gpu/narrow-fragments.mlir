// RUN: tilewright-opt --narrow-fragments --split-input-file %s | filecheck %s

#t = #tile.space<tmem>
#s = #tile.space<shared>
#f = #tile.space<fragment>

// Both halves are stored as bf16: they are converted as they leave tensor memory.
// CHECK-LABEL: func.func @halves
// CHECK-NOT: memref<128x128xf32, #fragment>
// CHECK: %[[FIRST:.*]] = tile.alloc "f" : memref<128x64xbf16, #fragment>
// CHECK: %[[SECOND:.*]] = tile.alloc "f" : memref<128x64xbf16, #fragment>
// CHECK: tile.copy %{{.*}} -> %[[WIDE:.*]] : !tile.region<128x64xf32, #tmem> -> memref<128x64xf32, #fragment>
// CHECK: tile.copy %[[WIDE]] -> %[[FIRST]]
// CHECK: tile.region %c[0, 64] [128, 64]
// CHECK: tile.copy %{{.*}} -> %[[SECOND]]
// CHECK: gpu.barrier
// CHECK: tile.copy %[[FIRST]] -> %{{.*}} : memref<128x64xbf16, #fragment> -> memref<128x64xbf16, #shared>
// CHECK: gpu.barrier
// CHECK: tile.copy %[[SECOND]] -> %{{.*}} : memref<128x64xbf16, #fragment> -> memref<128x64xbf16, #shared>
func.func @halves() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<128x128xf32, #t>
    %f = tile.alloc "f" : memref<128x128xf32, #f>
    %out = tile.alloc "out" : memref<128x64xbf16, #s>
    tile.copy %c -> %f : memref<128x128xf32, #t> -> memref<128x128xf32, #f>
    gpu.barrier
    %low = tile.region %f[0, 0] [128, 64] : memref<128x128xf32, #f> to !tile.region<128x64xf32, #f>
    tile.copy %low -> %out : !tile.region<128x64xf32, #f> -> memref<128x64xbf16, #s>
    gpu.barrier
    %high = tile.region %f[0, 64] [128, 64] : memref<128x128xf32, #f> to !tile.region<128x64xf32, #f>
    tile.copy %high -> %out : !tile.region<128x64xf32, #f> -> memref<128x64xbf16, #s>
  }
  func.return
}

// -----

#t = #tile.space<tmem>
#s = #tile.space<shared>
#f = #tile.space<fragment>

// All of it, stored after a barrier: 32 columns at a time.
// CHECK-LABEL: func.func @after_a_barrier
// CHECK-COUNT-4: tile.copy %{{.*}} : memref<128x32xf32, #fragment> -> memref<128x32xbf16, #fragment>
// CHECK: gpu.barrier
// CHECK-COUNT-4: tile.copy %{{.*}} : memref<128x32xbf16, #fragment> -> !tile.region<128x32xbf16, #shared>
func.func @after_a_barrier() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<128x128xf32, #t>
    %f = tile.alloc "f" : memref<128x128xf32, #f>
    %out = tile.alloc "out" : memref<128x128xbf16, #s>
    tile.copy %c -> %f : memref<128x128xf32, #t> -> memref<128x128xf32, #f>
    gpu.barrier
    tile.copy %f -> %out : memref<128x128xf32, #f> -> memref<128x128xbf16, #s>
  }
  func.return
}

// -----

#t = #tile.space<tmem>
#s = #tile.space<shared>
#f = #tile.space<fragment>

// Nothing in between: the columns of the chain are divided later.
// CHECK-LABEL: func.func @chain
// CHECK: tile.copy %c -> %f : memref<128x128xf32, #tmem> -> memref<128x128xf32, #fragment>
func.func @chain() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<128x128xf32, #t>
    %f = tile.alloc "f" : memref<128x128xf32, #f>
    %out = tile.alloc "out" : memref<128x128xbf16, #s>
    tile.copy %c -> %f : memref<128x128xf32, #t> -> memref<128x128xf32, #f>
    tile.copy %f -> %out : memref<128x128xf32, #f> -> memref<128x128xbf16, #s>
  }
  func.return
}

// -----

#t = #tile.space<tmem>
#s = #tile.space<shared>
#f = #tile.space<fragment>

// One half is stored as it is.
// CHECK-LABEL: func.func @not_converted
// CHECK: tile.copy %c -> %f : memref<128x128xf32, #tmem> -> memref<128x128xf32, #fragment>
func.func @not_converted() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<128x128xf32, #t>
    %f = tile.alloc "f" : memref<128x128xf32, #f>
    %out = tile.alloc "out" : memref<128x64xbf16, #s>
    %same = tile.alloc : memref<128x64xf32, #s>
    tile.copy %c -> %f : memref<128x128xf32, #t> -> memref<128x128xf32, #f>
    %low = tile.region %f[0, 0] [128, 64] : memref<128x128xf32, #f> to !tile.region<128x64xf32, #f>
    tile.copy %low -> %out : !tile.region<128x64xf32, #f> -> memref<128x64xbf16, #s>
    %high = tile.region %f[0, 64] [128, 64] : memref<128x128xf32, #f> to !tile.region<128x64xf32, #f>
    tile.copy %high -> %same : !tile.region<128x64xf32, #f> -> memref<128x64xf32, #s>
  }
  func.return
}

// -----

#t = #tile.space<tmem>
#s = #tile.space<shared>
#f = #tile.space<fragment>
#g = #tile.space<global>

// A fragment that a loop reads element by element is read in the same parts.
// CHECK-LABEL: func.func @cast
// CHECK-NOT: memref<128x128xbf16, #fragment>
// CHECK: scf.if
// CHECK-COUNT-2: tile.copy %{{.*}} -> %{{.*}} : memref<128x64xbf16, #fragment> -> memref<128x64xbf16, #shared>
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in (128, 64) {
// CHECK-NEXT: memref.load %{{.*}}[%[[I]], %[[J]]] : memref<128x64xbf16, #fragment>
// CHECK-NEXT: memref.store %{{.*}}, %arg0[%[[I]], %[[J]]]
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in (128, 64) {
// CHECK: %[[AT:.*]] = arith.addi %[[J]], %{{.*}} : index
// CHECK: memref.store %{{.*}}, %arg0[%[[I]], %[[AT]]]
func.func @cast(%a: memref<128x128xbf16, #g>, %whole: i1) attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<128x128xf32, #t>
    %f = tile.alloc "f" : memref<128x128xf32, #f>
    %g = tile.alloc "g" : memref<128x128xbf16, #f>
    %out = tile.alloc "out" : memref<128x64xbf16, #s>
    tile.copy %c -> %f : memref<128x128xf32, #t> -> memref<128x128xf32, #f>
    scf.if %whole {
      %low = tile.region %f[0, 0] [128, 64] : memref<128x128xf32, #f> to !tile.region<128x64xf32, #f>
      tile.copy %low -> %out : !tile.region<128x64xf32, #f> -> memref<128x64xbf16, #s>
      %high = tile.region %f[0, 64] [128, 64] : memref<128x128xf32, #f> to !tile.region<128x64xf32, #f>
      tile.copy %high -> %out : !tile.region<128x64xf32, #f> -> memref<128x64xbf16, #s>
    } else {
      tile.copy %f -> %g : memref<128x128xf32, #f> -> memref<128x128xbf16, #f>
      tile.parallel (%i, %j) in (128, 128) {
        %v = memref.load %g[%i, %j] : memref<128x128xbf16, #f>
        memref.store %v, %a[%i, %j] : memref<128x128xbf16, #g>
      }
    }
  }
  func.return
}

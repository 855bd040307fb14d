// RUN: tilewright-opt -version-roles -canonicalize -cse -split-input-file %s | filecheck %s
// RUN: tilewright-opt -version-roles -split-input-file %s 2>&1 | filecheck %s --check-prefix=REMARK

#s = #tile.space<shared>
#g = #tile.space<global>
#f = #tile.space<fragment>
#b = #tile.space<barrier>

// Buffers and barriers get a slot for each stage; parities count the iterations of a slot.

// CHECK-LABEL: func.func @slots
// CHECK:         tile.alloc {{.*}} : memref<2x8x8xf32, #shared>
// CHECK:         tile.alloc "full" init [32, 32]
// CHECK:         tile.alloc "empty" init [32, 32]
// CHECK:         scf.for %[[K:.*]] =
// CHECK:           %[[S:.*]] = arith.remui %[[K]], %c2
// CHECK:           %[[I:.*]] = arith.divui %[[K]], %c2
// CHECK:           %[[P:.*]] = arith.remui %[[I]], %c2
// CHECK:           %[[N:.*]] = arith.addi %[[I]], %c1
// CHECK:           %[[Q:.*]] = arith.remui %[[N]], %c2
// CHECK:           nv.mbarrier.wait %empty[%[[S]]], %[[Q]]
// CHECK:           tile.async_copy {{.*}} barrier %full[%[[S]]]
// CHECK:           nv.mbarrier.wait %full[%[[S]]], %[[P]]
// CHECK:           nv.mbarrier.arrive %empty[%[[S]]]
func.func @slots(%A: memref<?x8xf32, #g>, %n: index) attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  tile.kernel (%bx) in (1) threads(64) {
    %a = tile.alloc "a" : memref<8x8xf32, #s>
    %acc = tile.alloc "acc" : memref<8x8xf32, #f>
    %full = tile.alloc "full" init [32] : memref<1x!nv.mbarrier, #b>
    %empty = tile.alloc "empty" init [32] : memref<1x!nv.mbarrier, #b>
    tile.pipeline %k = 0 to %n num_stages(2) {
      tile.ws custom
      role "group1" threads(32 to 64) {
        %next = arith.addi %k, %c1 : index
        %q = arith.remsi %next, %c2 : index
        nv.mbarrier.wait %empty[%c0], %q : memref<1x!nv.mbarrier, #b>, index
        %i = arith.muli %k, %c8 : index
        %r = tile.region %A[%i, 0] [8, 8] : memref<?x8xf32, #g> to !tile.region<8x8xf32, #g>
        tile.async_copy %r -> %a barrier %full[%c0] {instruction = "tma"}
            : !tile.region<8x8xf32, #g> -> memref<8x8xf32, #s>, memref<1x!nv.mbarrier, #b>
        nv.mbarrier.arrive %full[%c0] : memref<1x!nv.mbarrier, #b>
      }
      tile.ws custom
      role "group0" threads(0 to 32) {
        %p = arith.remsi %k, %c2 : index
        nv.mbarrier.wait %full[%c0], %p : memref<1x!nv.mbarrier, #b>, index
        tile.copy %a -> %acc : memref<8x8xf32, #s> -> memref<8x8xf32, #f>
        nv.mbarrier.arrive %empty[%c0] : memref<1x!nv.mbarrier, #b>
      }
    }
  }
  func.return
}

// -----

#s = #tile.space<shared>
#g = #tile.space<global>
#f = #tile.space<fragment>
#b = #tile.space<barrier>

// A role reads what another wrote an iteration before: only the wait of each iteration orders that.

// REMARK: loop not pipelined: several roles access total
// CHECK-LABEL: func.func @carried
// CHECK:         tile.alloc "full" init [32] : memref<1x
func.func @carried(%A: memref<?x8xf32, #g>, %n: index) attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.kernel (%bx) in (1) threads(64) {
    %a = tile.alloc "a" : memref<8x8xf32, #s>
    %total = tile.alloc "total" : memref<8x8xf32, #s>
    %acc = tile.alloc "acc" : memref<8x8xf32, #f>
    %full = tile.alloc "full" init [32] : memref<1x!nv.mbarrier, #b>
    %empty = tile.alloc "empty" init [32] : memref<1x!nv.mbarrier, #b>
    tile.pipeline %k = 0 to %n num_stages(2) {
      tile.ws custom
      role "group1" threads(32 to 64) {
        %next = arith.addi %k, %c1 : index
        %q = arith.remsi %next, %c2 : index
        nv.mbarrier.wait %empty[%c0], %q : memref<1x!nv.mbarrier, #b>, index
        tile.copy %total -> %a : memref<8x8xf32, #s> -> memref<8x8xf32, #s>
        nv.mbarrier.arrive %full[%c0] : memref<1x!nv.mbarrier, #b>
      }
      tile.ws custom
      role "group0" threads(0 to 32) {
        %p = arith.remsi %k, %c2 : index
        nv.mbarrier.wait %full[%c0], %p : memref<1x!nv.mbarrier, #b>, index
        tile.copy %a -> %total : memref<8x8xf32, #s> -> memref<8x8xf32, #s>
        nv.mbarrier.arrive %empty[%c0] : memref<1x!nv.mbarrier, #b>
      }
    }
  }
  func.return
}

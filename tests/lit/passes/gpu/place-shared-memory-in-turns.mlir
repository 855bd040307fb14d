// RUN: tilewright-opt -place-shared-memory -split-input-file %s | filecheck %s
// RUN: tilewright-opt -place-shared-memory -split-input-file -verify-diagnostics %s

// 240 KB of buffers that each turn fills anew: too much together, so they take turns. "kept" hands
// what it holds to the next turn and shares with nobody.

#s = #tile.space<shared>

// expected-remark @+7 {{shared memory is reused within a loop iteration, at the cost of barriers: 135168 B instead of 258048 B (232448 B available on sm_90)}}
// expected-note @+6 {{help: no change is required; to avoid the barriers, use smaller tiles or fewer stages, so that all buffers together need at most 232448 B}}
// CHECK-LABEL: func.func @too_large_together
// CHECK-SAME:    simt.shared_bytes = 135168
// CHECK-DAG:     "one" offset 0
// CHECK-DAG:     "two" offset 0
// CHECK-DAG:     "kept" offset 122880
func.func @too_large_together(%v: f16, %n: index) attributes {simt.kernel, simt.threads = 256 : i64} {
  // expected-note @+1 {{'one' overlaps 'two'}}
  %one = tile.alloc "one" {tile.private} : memref<61440xf16, #s>
  %two = tile.alloc "two" {tile.private} : memref<61440xf16, #s>
  %kept = tile.alloc "kept" : memref<6144xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %tile = %c0 to %n step %c1 {
    %last = memref.load %kept[%c0] : memref<6144xf16, #s>
    memref.store %v, %one[%c0] : memref<61440xf16, #s>
    %x = memref.load %one[%c0] : memref<61440xf16, #s>
    memref.store %x, %two[%c0] : memref<61440xf16, #s>
    %y = memref.load %two[%c0] : memref<61440xf16, #s>
    memref.store %y, %kept[%c0] : memref<6144xf16, #s>
  }
  func.return
}

// -----

// With room enough, nothing changes hands: that would take barriers.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @room_enough
// CHECK-SAME:    simt.shared_bytes = 512
func.func @room_enough(%v: f16, %n: index) attributes {simt.kernel, simt.threads = 256 : i64} {
  %one = tile.alloc "one" {tile.private} : memref<128xf16, #s>
  %two = tile.alloc "two" {tile.private} : memref<128xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %tile = %c0 to %n step %c1 {
    memref.store %v, %one[%c0] : memref<128xf16, #s>
    %x = memref.load %one[%c0] : memref<128xf16, #s>
    memref.store %x, %two[%c0] : memref<128xf16, #s>
    %y = memref.load %two[%c0] : memref<128xf16, #s>
  }
  func.return
}

// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --split-operands="parts=4 pipelined=false" | filecheck %s
// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --split-operands="parts=4" | filecheck %s --check-prefix=PIPELINED
// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --split-operands | filecheck %s --check-prefix=WHOLE

// A part has at most a quarter of 64 KiB, or, in loops that stay pipelined, a quarter of its buffer.

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// A is filled in two parts, each of which is multiplied with a part of B, that a loop writes. Only
// the first GEMM clears the result.
// CHECK-LABEL: func.func @one_operand
// WHOLE-LABEL: func.func @one_operand
// PIPELINED-LABEL: func.func @one_operand
func.func @one_operand(%A: memref<256x256xf16, #global>, %k: index) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK: %As = tile.alloc "As" : memref<128x64xf16, #shared>
    // WHOLE: %As = tile.alloc "As" : memref<128x128xf16, #shared>
    // PIPELINED: %As = tile.alloc "As" : memref<128x32xf16, #shared>
    %as = tile.alloc "As" : memref<128x128xf16, #shared>
    %bs = tile.alloc "Bs" : memref<128x128xf16, #shared>
    %c = tile.alloc "C" : memref<128x128xf32, #fragment>
    %r = tile.region %A[0, %k] [128, 128] : memref<256x256xf16, #global> to !tile.region<128x128xf16, #global>
    tile.copy %r -> %as : !tile.region<128x128xf16, #global> -> memref<128x128xf16, #shared>
    tile.parallel (%i, %j) in (128, 128) {
      %z = arith.constant 1.0 : f16
      memref.store %z, %bs[%i, %j] : memref<128x128xf16, #shared>
    }
    // CHECK: tile.parallel
    // CHECK: %[[r0:.*]] = tile.region %arg0[0, %arg1] [128, 64]
    // CHECK: tile.copy %[[r0]] -> %As
    // CHECK: %[[b0:.*]] = tile.region %Bs[0, 0] [128, 64]
    // CHECK: tile.gemm %As, %[[b0]] -> %C {clear, transpose_b
    // CHECK: %[[next:.*]] = arith.addi %arg1
    // CHECK: %[[r1:.*]] = tile.region %arg0[0, %[[next]]] [128, 64]
    // CHECK: tile.copy %[[r1]] -> %As
    // CHECK: %[[b1:.*]] = tile.region %Bs[0, 64] [128, 64]
    // CHECK: tile.gemm %As, %[[b1]] -> %C {transpose_b
    // CHECK-NOT: tile.gemm
    tile.gemm %as, %bs -> %c {clear, transpose_b} : memref<128x128xf16, #shared>, memref<128x128xf16, #shared> -> memref<128x128xf32, #fragment>
  }
  func.return
}

// A copy before a loop moves to the GEMM inside it; one whose tensor the kernel writes does not.
// CHECK-LABEL: func.func @loop
func.func @loop(%Q: memref<64x256xf16, #global>, %K: memref<512x256xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "Qs" : memref<64x128xf16, #shared>
    // CHECK: tile.alloc "Ks" : memref<64x256xf16, #shared>
    %qs = tile.alloc "Qs" : memref<64x256xf16, #shared>
    %ks = tile.alloc "Ks" : memref<64x256xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    tile.copy %Q -> %qs : memref<64x256xf16, #global> -> memref<64x256xf16, #shared>
    // CHECK: scf.for
    scf.for %n = %c0 to %c8 step %c1 {
      %at = arith.muli %n, %c64 : index
      %r = tile.region %K[%at, 0] [64, 256] : memref<512x256xf16, #global> to !tile.region<64x256xf16, #global>
      // CHECK: tile.copy %{{.*}} -> %Ks
      // CHECK: tile.copy %{{.*}} -> %Qs
      // CHECK: tile.gemm %Qs, %{{.*}} -> %C {transpose_b
      // CHECK: tile.copy %{{.*}} -> %Qs
      // CHECK: tile.gemm %Qs, %{{.*}} -> %C {transpose_b
      tile.copy %r -> %ks : !tile.region<64x256xf16, #global> -> memref<64x256xf16, #shared>
      tile.gemm %qs, %ks -> %c {transpose_b} : memref<64x256xf16, #shared>, memref<64x256xf16, #shared> -> memref<64x64xf32, #fragment>
      tile.copy %ks -> %r : memref<64x256xf16, #shared> -> !tile.region<64x256xf16, #global>
    }
  }
  func.return
}

// Two GEMMs read KV along different dimensions: each has a buffer and copies of its own. The first
// one has four parts of 64 x 128, the second one two of 32 x 512, as K has 64 elements: that is as
// far as it can be divided. The loop is not pipelined. If it is to be, KV stays as it is.
// CHECK-LABEL: func.func @both_dimensions
// PIPELINED-LABEL: func.func @both_dimensions
func.func @both_dimensions(%Q: memref<64x512xf16, #global>, %KV: memref<2x512x1x512xf16, #global>, %b: index) {
  tile.kernel (%bx) in (1) threads(256) {
    // PIPELINED: tile.alloc "Qs" : memref<64x128xf16, #shared>
    // PIPELINED: tile.alloc "KVs" : memref<64x512xf16, #shared>
    // CHECK: %Qs = tile.alloc "Qs" : memref<64x128xf16, #shared>
    // CHECK: %KVs = tile.alloc "KVs" : memref<64x128xf16, #shared>
    // CHECK: %KVs_2 = tile.alloc "KVs_2" : memref<32x512xf16, #shared>
    %qs = tile.alloc "Qs" : memref<64x512xf16, #shared>
    %kvs = tile.alloc "KVs" : memref<64x512xf16, #shared>
    %p = tile.alloc "P" : memref<64x64xf16, #shared>
    %s = tile.alloc "S" : memref<64x64xf32, #fragment>
    %o = tile.alloc "O" : memref<64x512xf32, #fragment>
    tile.copy %Q -> %qs : memref<64x512xf16, #global> -> memref<64x512xf16, #shared>
    // CHECK: tile.pipeline %[[n:.*]] = 0 to 8 {
    // PIPELINED: tile.pipeline %{{.*}} = 0 to 8 num_stages(2) {
    // PIPELINED-COUNT-4: tile.gemm %Qs, %{{.*}} -> %S
    // PIPELINED: tile.gemm %P, %KVs -> %O
    tile.pipeline %n = 0 to 8 num_stages(2) {
      %c64 = arith.constant 64 : index
      %at = arith.muli %n, %c64 : index
      %r = tile.region %KV[%b, %at, 0, 0] [1, 64, 1, 512] : memref<2x512x1x512xf16, #global> to !tile.region<1x64x1x512xf16, #global>
      tile.copy %r -> %kvs : !tile.region<1x64x1x512xf16, #global> -> memref<64x512xf16, #shared>
      // CHECK: %[[at:.*]] = arith.muli %[[n]]
      // CHECK: tile.region %arg0[0, 0] [64, 128]
      // CHECK-NEXT: tile.copy %{{.*}} -> %Qs
      // CHECK-NEXT: tile.region %arg1[%arg2, %[[at]], 0, 0] [1, 64, 1, 128]
      // CHECK-NEXT: tile.copy %{{.*}} -> %KVs :
      // CHECK-NEXT: tile.gemm %Qs, %KVs -> %S {clear, transpose_b
      // CHECK: tile.region %arg1[%arg2, %[[at]], 0, 128] [1, 64, 1, 128]
      // CHECK: tile.region %arg1[%arg2, %[[at]], 0, 256] [1, 64, 1, 128]
      // CHECK: tile.region %arg1[%arg2, %[[at]], 0, 384] [1, 64, 1, 128]
      // CHECK: tile.gemm %Qs, %KVs -> %S {transpose_b
      tile.gemm %qs, %kvs -> %s {clear, transpose_b} : memref<64x512xf16, #shared>, memref<64x512xf16, #shared> -> memref<64x64xf32, #fragment>
      // CHECK: tile.copy %S -> %P
      tile.copy %s -> %p : memref<64x64xf32, #fragment> -> memref<64x64xf16, #shared>
      // CHECK: %[[p0:.*]] = tile.region %P[0, 0] [64, 32]
      // CHECK: tile.region %arg1[%arg2, %[[at]], 0, 0] [1, 32, 1, 512]
      // CHECK: tile.copy %{{.*}} -> %KVs_2
      // CHECK: tile.gemm %[[p0]], %KVs_2 -> %O
      // CHECK: %[[p1:.*]] = tile.region %P[0, 32] [64, 32]
      // CHECK: %[[next:.*]] = arith.addi %[[at]]
      // CHECK: tile.region %arg1[%arg2, %[[next]], 0, 0] [1, 32, 1, 512]
      // CHECK: tile.copy %{{.*}} -> %KVs_2
      // CHECK: tile.gemm %[[p1]], %KVs_2 -> %O
      // CHECK-NOT: tile.gemm
      tile.gemm %p, %kvs -> %o : memref<64x64xf16, #shared>, memref<64x512xf16, #shared> -> memref<64x512xf32, #fragment>
    }
  }
  func.return
}

// A GEMM reads a part of the buffer, from column 64 on, and a fragment.
// CHECK-LABEL: func.func @part_and_fragment
// PIPELINED-LABEL: func.func @part_and_fragment
func.func @part_and_fragment(%KV: memref<64x576xf16, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK: %KVs = tile.alloc "KVs" : memref<32x512xf16, #shared>
    // CHECK-NOT: tile.alloc "KVs
    // PIPELINED: tile.alloc "KVs" : memref<64x576xf16, #shared>
    %kvs = tile.alloc "KVs" : memref<64x576xf16, #shared>
    %p = tile.alloc "P" : memref<64x64xf16, #fragment>
    %o = tile.alloc "O" : memref<64x512xf32, #fragment>
    tile.copy %KV -> %kvs : memref<64x576xf16, #global> -> memref<64x576xf16, #shared>
    %v = tile.region %kvs[0, 64] [64, 512] : memref<64x576xf16, #shared> to !tile.region<64x512xf16, #shared>
    // CHECK: %[[p0:.*]] = tile.region %P[0, 0] [64, 32] {{.*}} to !tile.region<64x32xf16, #fragment>
    // CHECK: tile.region %arg0[0, 64] [32, 512]
    // CHECK: tile.gemm %[[p0]], %KVs -> %O
    // CHECK: %[[p1:.*]] = tile.region %P[0, 32] [64, 32]
    // CHECK: tile.region %arg0[32, 64] [32, 512]
    // CHECK: tile.gemm %[[p1]], %KVs -> %O
    tile.gemm %p, %v -> %o : memref<64x64xf16, #fragment>, !tile.region<64x512xf16, #shared> -> memref<64x512xf32, #fragment>
  }
  func.return
}

// B takes 72 KiB, five parts; 192 elements, 32 at a time, have six.
// Six is not four.
// CHECK-LABEL: func.func @divisors
// PIPELINED-LABEL: func.func @divisors
func.func @divisors(%A: memref<128x192xf16, #global>, %B: memref<192x192xf16, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK: tile.alloc "As" : memref<128x32xf16, #shared>
    // CHECK: tile.alloc "Bs" : memref<32x192xf16, #shared>
    // PIPELINED: tile.alloc "As" : memref<128x192xf16, #shared>
    %as = tile.alloc "As" : memref<128x192xf16, #shared>
    %bs = tile.alloc "Bs" : memref<192x192xf16, #shared>
    %c = tile.alloc "C" : memref<128x192xf32, #fragment>
    tile.copy %A -> %as : memref<128x192xf16, #global> -> memref<128x192xf16, #shared>
    tile.copy %B -> %bs : memref<192x192xf16, #global> -> memref<192x192xf16, #shared>
    tile.gemm %as, %bs -> %c : memref<128x192xf16, #shared>, memref<192x192xf16, #shared> -> memref<128x192xf32, #fragment>
  }
  func.return
}

// -- must not change ------------------------------------------------------------------------------

// CHECK-LABEL: func.func @small
func.func @small(%A: memref<64x128xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "As" : memref<64x128xf16, #shared>
    %as = tile.alloc "As" : memref<64x128xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    tile.copy %A -> %as : memref<64x128xf16, #global> -> memref<64x128xf16, #shared>
    tile.gemm %as, %as -> %c {transpose_b} : memref<64x128xf16, #shared>, memref<64x128xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// The second GEMM has K = 32, one part: the buffer stays whole for both.
// CHECK-LABEL: func.func @one_part
func.func @one_part(%KV: memref<32x512xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "KVs" : memref<32x512xf16, #shared>
    %kvs = tile.alloc "KVs" : memref<32x512xf16, #shared>
    %p = tile.alloc "P" : memref<32x32xf16, #shared>
    %s = tile.alloc "S" : memref<32x32xf32, #fragment>
    %o = tile.alloc "O" : memref<32x512xf32, #fragment>
    tile.copy %KV -> %kvs : memref<32x512xf16, #global> -> memref<32x512xf16, #shared>
    // CHECK: tile.gemm %KVs, %KVs -> %S
    tile.gemm %kvs, %kvs -> %s {transpose_b} : memref<32x512xf16, #shared>, memref<32x512xf16, #shared> -> memref<32x32xf32, #fragment>
    // CHECK: tile.gemm %P, %KVs -> %O
    tile.gemm %p, %kvs -> %o : memref<32x32xf16, #shared>, memref<32x512xf16, #shared> -> memref<32x512xf32, #fragment>
  }
  func.return
}

// Threads read the buffer, too.
// CHECK-LABEL: func.func @other_reader
func.func @other_reader(%A: memref<64x256xf16, #global>, %D: memref<64x256xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "As" : memref<64x256xf16, #shared>
    %as = tile.alloc "As" : memref<64x256xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    tile.copy %A -> %as : memref<64x256xf16, #global> -> memref<64x256xf16, #shared>
    tile.gemm %as, %as -> %c {transpose_b} : memref<64x256xf16, #shared>, memref<64x256xf16, #shared> -> memref<64x64xf32, #fragment>
    tile.copy %as -> %D : memref<64x256xf16, #shared> -> memref<64x256xf16, #global>
  }
  func.return
}

// The kernel writes a tensor that shares bytes with A: a later read may find other values.
// CHECK-LABEL: func.func @aliased
func.func @aliased(%A: memref<64x256xf16, #global> {tile.aliased}, %D: memref<64x64xf32, #global> {tile.aliased}) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "As" : memref<64x256xf16, #shared>
    %as = tile.alloc "As" : memref<64x256xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    tile.copy %A -> %as : memref<64x256xf16, #global> -> memref<64x256xf16, #shared>
    tile.gemm %as, %as -> %c {transpose_b} : memref<64x256xf16, #shared>, memref<64x256xf16, #shared> -> memref<64x64xf32, #fragment>
    tile.copy %c -> %D : memref<64x64xf32, #fragment> -> memref<64x64xf32, #global>
  }
  func.return
}

// The same without shared bytes.
// CHECK-LABEL: func.func @not_aliased
func.func @not_aliased(%A: memref<64x256xf16, #global>, %D: memref<64x64xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "As" : memref<64x128xf16, #shared>
    %as = tile.alloc "As" : memref<64x256xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    tile.copy %A -> %as : memref<64x256xf16, #global> -> memref<64x256xf16, #shared>
    // One copy for both operands.
    // CHECK: tile.copy %{{.*}} -> %As
    // CHECK-NEXT: tile.gemm %As, %As
    tile.gemm %as, %as -> %c {transpose_b} : memref<64x256xf16, #shared>, memref<64x256xf16, #shared> -> memref<64x64xf32, #fragment>
    tile.copy %c -> %D : memref<64x64xf32, #fragment> -> memref<64x64xf32, #global>
  }
  func.return
}

// The kernel writes A through another view of it.
// CHECK-LABEL: func.func @view
func.func @view(%A: memref<64x256xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "As" : memref<64x256xf16, #shared>
    %as = tile.alloc "As" : memref<64x256xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %seen = tile.view %A : memref<64x256xf16, #global> to memref<128x128xf16, #global>
    %whole = tile.view %A : memref<64x256xf16, #global> to memref<64x256xf16, #global>
    tile.copy %whole -> %as : memref<64x256xf16, #global> -> memref<64x256xf16, #shared>
    %zero = arith.constant 0.0 : f16
    tile.fill %seen, %zero : memref<128x128xf16, #global>, f16
    tile.gemm %as, %as -> %c {transpose_b} : memref<64x256xf16, #shared>, memref<64x256xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// The user says when each of two statements runs.
// CHECK-LABEL: func.func @schedule
func.func @schedule(%A: memref<64x256xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "As" : memref<64x256xf16, #shared>
    %as = tile.alloc "As" : memref<64x256xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    // CHECK: tile.pipeline %{{.*}} = 0 to 8 num_stages(2) stage(0, 1) order(0, 1)
    tile.pipeline %n = 0 to 8 num_stages(2) stage(0, 1) order(0, 1) {
      tile.copy %A -> %as : memref<64x256xf16, #global> -> memref<64x256xf16, #shared>
      tile.gemm %as, %as -> %c {transpose_b} : memref<64x256xf16, #shared>, memref<64x256xf16, #shared> -> memref<64x64xf32, #fragment>
    }
  }
  func.return
}

// Another tile may be in the buffer when the GEMM runs.
// CHECK-LABEL: func.func @two_copies
func.func @two_copies(%A: memref<128x256xf16, #global>, %is_second: i1) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "As" : memref<64x256xf16, #shared>
    %as = tile.alloc "As" : memref<64x256xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %r = tile.region %A[0, 0] [64, 256] : memref<128x256xf16, #global> to !tile.region<64x256xf16, #global>
    %s = tile.region %A[64, 0] [64, 256] : memref<128x256xf16, #global> to !tile.region<64x256xf16, #global>
    tile.copy %r -> %as : !tile.region<64x256xf16, #global> -> memref<64x256xf16, #shared>
    scf.if %is_second {
      tile.copy %s -> %as : !tile.region<64x256xf16, #global> -> memref<64x256xf16, #shared>
    }
    tile.gemm %as, %as -> %c {transpose_b} : memref<64x256xf16, #shared>, memref<64x256xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// The copy of an iteration is for the next one.
// CHECK-LABEL: func.func @copy_after
func.func @copy_after(%A: memref<64x256xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "As" : memref<64x256xf16, #shared>
    %as = tile.alloc "As" : memref<64x256xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %n = %c0 to %c8 step %c1 {
      tile.gemm %as, %as -> %c {transpose_b} : memref<64x256xf16, #shared>, memref<64x256xf16, #shared> -> memref<64x64xf32, #fragment>
      tile.copy %A -> %as : memref<64x256xf16, #global> -> memref<64x256xf16, #shared>
    }
  }
  func.return
}

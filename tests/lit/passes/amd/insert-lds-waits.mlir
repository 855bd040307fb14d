// RUN: tilewright-opt %s --insert-lds-waits | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>
#local = #tile.space<local>

// The copies of the next iteration stay in flight; the last ones are waited for.
// CHECK-LABEL: func.func @two
// CHECK: amd.load_lds
// CHECK: scf.for
// CHECK-NEXT: amd.load_lds
// CHECK-NEXT: amd.wait loads(1)
// CHECK-NEXT: simt.move
// CHECK-NEXT: amd.load_lds
// CHECK-NEXT: amd.wait loads(1)
// CHECK-NEXT: simt.move
// CHECK: amd.wait loads(0)
// CHECK-NEXT: simt.move
func.func @two(%A: memref<1024xf32, #global>) attributes {simt.kernel, simt.threads = 64 : i64, simt.shared_bytes = 2048 : i64, tile.target = #tile.target<hip, gfx950>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %tid = gpu.thread_id x
  %s0 = tile.alloc "s_0" offset 0 : memref<256xf32, #shared>
  %s1 = tile.alloc "s_1" offset 1024 : memref<256xf32, #shared>
  %r = tile.alloc "r" : memref<4xf32, #local>
  amd.load_lds %A[%tid] -> %s0[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
  scf.for %k = %c0 to %c8 step %c2 {
    amd.load_lds %A[%tid] -> %s1[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
    simt.move %s0[%c0] -> %r[%c0] lanes(4) : memref<256xf32, #shared>, memref<4xf32, #local>
    amd.load_lds %A[%tid] -> %s0[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
    simt.move %s1[%c0] -> %r[%c0] lanes(4) : memref<256xf32, #shared>, memref<4xf32, #local>
  }
  simt.move %s0[%c0] -> %r[%c0] lanes(4) : memref<256xf32, #shared>, memref<4xf32, #local>
  func.return
}

// Two iterations ahead: the wait comes first, and its barrier lets the copy overwrite a tile.
// CHECK-LABEL: func.func @three
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK-NEXT: amd.wait loads(1)
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: amd.load_lds
// CHECK-NEXT: simt.move
// CHECK-NEXT: amd.wait loads(0)
// CHECK-NEXT: func.return
func.func @three(%A: memref<1024xf32, #global>) attributes {simt.kernel, simt.threads = 64 : i64, simt.shared_bytes = 3072 : i64, tile.target = #tile.target<hip, gfx950>} {
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %s0 = tile.alloc "s_0" offset 0 : memref<256xf32, #shared>
  %s1 = tile.alloc "s_1" offset 1024 : memref<256xf32, #shared>
  %s2 = tile.alloc "s_2" offset 2048 : memref<256xf32, #shared>
  %r = tile.alloc "r" : memref<4xf32, #local>
  amd.load_lds %A[%tid] -> %s0[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
  gpu.barrier
  amd.load_lds %A[%tid] -> %s1[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
  gpu.barrier
  amd.load_lds %A[%tid] -> %s2[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
  simt.move %s0[%c0] -> %r[%c0] lanes(4) : memref<256xf32, #shared>, memref<4xf32, #local>
  func.return
}

// A branch may have started a copy or not: the fewest count. Copies to a tile in flight wait for it.
// CHECK-LABEL: func.func @paths
// CHECK: scf.if
// CHECK: amd.wait loads(0)
// CHECK-NEXT: simt.move
// CHECK: gpu.barrier
// CHECK-NEXT: amd.wait loads(0)
// CHECK-NEXT: amd.load_lds
// CHECK-NEXT: amd.wait loads(0)
// CHECK-NEXT: func.return
func.func @paths(%A: memref<1024xf32, #global>, %p: i1) attributes {simt.kernel, simt.threads = 64 : i64, simt.shared_bytes = 2048 : i64, tile.target = #tile.target<hip, gfx950>} {
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %s0 = tile.alloc "s_0" offset 0 : memref<256xf32, #shared>
  %s1 = tile.alloc "s_1" offset 1024 : memref<256xf32, #shared>
  %r = tile.alloc "r" : memref<4xf32, #local>
  amd.load_lds %A[%tid] -> %s0[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
  scf.if %p {
    amd.load_lds %A[%tid] -> %s1[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
  }
  simt.move %s0[%c0] -> %r[%c0] lanes(4) : memref<256xf32, #shared>, memref<4xf32, #local>
  amd.load_lds %A[%tid] -> %s0[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
  gpu.barrier
  amd.load_lds %A[%tid] -> %s0[%c0] lanes(4) : memref<1024xf32, #global>, memref<256xf32, #shared>
  func.return
}

// RUN: tilewright-opt %s --use-buffer-accesses -split-input-file | filecheck %s

#g = #tile.space<global>
#l = #tile.space<local>
// Zeros where the guard fails: the index arithmetic leaves the branch.
// CHECK-LABEL: @load
// CHECK: [[I:%[a-z0-9]+]] = arith.addi
// CHECK: [[N:%[a-z0-9]+]] = arith.constant 96 : index
// CHECK: amd.buffer_load {{%[a-zA-Z0-9]+}}[[[I]]] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] lanes(2) elements [[N]] if {{%[a-z0-9]+}} : memref<96xf16, #global>, memref<2xf16, #local>
// CHECK-NOT: scf.if
func.func @load(%A: memref<96xf16, #g>, %ok: i1, %i: index) attributes {simt.kernel, tile.target = #tile.target<hip, gfx942>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f16
  %r = tile.alloc "r" : memref<2xf16, #l>
  scf.if %ok {
    %j = arith.addi %i, %i : index
    simt.move %A[%j] -> %r[%c0] lanes(2) : memref<96xf16, #g>, memref<2xf16, #l>
  } else {
    memref.store %z, %r[%c0] : memref<2xf16, #l>
    memref.store %z, %r[%c1] : memref<2xf16, #l>
  }
  func.return
}

// -----

#g = #tile.space<global>
#l = #tile.space<local>
// CHECK-LABEL: @store
// CHECK: amd.buffer_store {{.*}} lanes(2) elements {{%[a-z0-9]+}} if {{%[a-z0-9]+}} : memref<2xf16, #local>, memref<96xf16, #global>
// CHECK-NOT: scf.if
func.func @store(%A: memref<96xf16, #g>, %ok: i1, %i: index) attributes {simt.kernel, tile.target = #tile.target<hip, gfx1201>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc "r" : memref<2xf16, #l>
  scf.if %ok {
    simt.move %r[%c0] -> %A[%i] lanes(2) : memref<2xf16, #l>, memref<96xf16, #g>
  }
  func.return
}

// -----

#g = #tile.space<global>
#l = #tile.space<local>
// Another value than zero, the negative zero among them, or registers that stay as they are.
// CHECK-LABEL: @other
// CHECK-COUNT-3: scf.if
// CHECK-NOT: amd.buffer
func.func @other(%A: memref<96xf16, #g>, %ok: i1, %i: index) attributes {simt.kernel, tile.target = #tile.target<hip, gfx942>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = arith.constant -0.0 : f16
  %z = arith.constant 0.0 : f16
  %r = tile.alloc "r" : memref<2xf16, #l>
  scf.if %ok {
    simt.move %A[%i] -> %r[%c0] lanes(2) : memref<96xf16, #g>, memref<2xf16, #l>
  } else {
    memref.store %m, %r[%c0] : memref<2xf16, #l>
    memref.store %m, %r[%c1] : memref<2xf16, #l>
  }
  scf.if %ok {
    simt.move %A[%i] -> %r[%c0] lanes(2) : memref<96xf16, #g>, memref<2xf16, #l>
  } else {
    memref.store %z, %r[%c0] : memref<2xf16, #l>
  }
  scf.if %ok {
    simt.move %A[%i] -> %r[%c0] lanes(2) : memref<96xf16, #g>, memref<2xf16, #l>
  }
  func.return
}

// -----

#g = #tile.space<global>
#l = #tile.space<local>
// A size that is a run-time value, or too large; a division that may fail; another op in the branch.
// CHECK-LABEL: @guarded
// CHECK-COUNT-4: scf.if
// CHECK-NOT: amd.buffer
func.func @guarded(%A: memref<?xf16, #g>, %B: memref<1073741824xf16, #g>, %C: memref<96xf16, #g>, %ok: i1, %i: index) attributes {simt.kernel, tile.target = #tile.target<hip, gfx942>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc "r" : memref<2xf16, #l>
  scf.if %ok {
    simt.move %r[%c0] -> %A[%i] lanes(2) : memref<2xf16, #l>, memref<?xf16, #g>
  }
  scf.if %ok {
    simt.move %r[%c0] -> %B[%i] lanes(2) : memref<2xf16, #l>, memref<1073741824xf16, #g>
  }
  scf.if %ok {
    %j = arith.divui %i, %i : index
    simt.move %r[%c0] -> %C[%j] lanes(2) : memref<2xf16, #l>, memref<96xf16, #g>
  }
  scf.if %ok {
    gpu.barrier
    simt.move %r[%c0] -> %C[%i] lanes(2) : memref<2xf16, #l>, memref<96xf16, #g>
  }
  func.return
}

// -----

#g = #tile.space<global>
#l = #tile.space<local>
// Not on another vendor's GPU.
// CHECK-LABEL: @cuda
// CHECK: scf.if
func.func @cuda(%C: memref<96xf16, #g>, %ok: i1, %i: index) attributes {simt.kernel, tile.target = #tile.target<cuda, sm_90a>} {
  %c0 = arith.constant 0 : index
  %r = tile.alloc "r" : memref<2xf16, #l>
  scf.if %ok {
    simt.move %r[%c0] -> %C[%i] lanes(2) : memref<2xf16, #l>, memref<96xf16, #g>
  }
  func.return
}

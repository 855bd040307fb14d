// RUN: tilewright-opt %s --hint-schedule="mode=groups" | filecheck %s
// RUN: tilewright-opt %s --hint-schedule="mode=priority" | filecheck %s --check-prefix PRIO
// RUN: tilewright-opt %s --hint-schedule="mode=iglp" | filecheck %s --check-prefix IGLP
// RUN: tilewright-opt %s --hint-schedule | filecheck %s --check-prefix NONE

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
// Two MMAs, each with a load from LDS, in an unrolled loop; one load of a tensor, one store to LDS.
// CHECK-LABEL: @main
// CHECK: } {tile.unroll}
// CHECK-NEXT: simt.move
// CHECK-NEXT: amd.sched_group mfma count(1)
// CHECK-NEXT: amd.sched_group lds_read count(1)
// CHECK-NEXT: amd.sched_group mfma count(1)
// CHECK-NEXT: amd.sched_group vmem_read count(1)
// CHECK-NEXT: amd.sched_group lds_write count(1)
// CHECK-NEXT: amd.sched_group lds_read count(1)
// CHECK-NEXT: }
// PRIO: simt.move
// PRIO: amd.setprio 1
// PRIO-NEXT: scf.for
// PRIO: } {tile.unroll}
// PRIO-NEXT: amd.setprio 0
// IGLP: scf.for
// IGLP-NEXT: amd.iglp 0
// NONE-LABEL: @main
// NONE-NOT: amd.{{sched|setprio|iglp}}
func.func @main(%A: memref<?xf16, #g>, %S: memref<64xf16, #s>, %n: index) attributes {simt.kernel, tile.target = #tile.target<hip, gfx942>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = tile.alloc "a" : memref<4xf16, #l>
  %t = tile.alloc "t" : memref<4xf16, #l>
  %c = tile.alloc "c" : memref<4xf32, #l>
  scf.for %i = %c0 to %n step %c1 {
    simt.move %A[%i] -> %t[%c0] lanes(4) : memref<?xf16, #g>, memref<4xf16, #l>
    scf.for %k = %c0 to %c2 step %c1 {
      simt.move %S[%c0] -> %a[%c0] lanes(4) : memref<64xf16, #s>, memref<4xf16, #l>
      amd.mfma %a[%c0], %a[%c0] -> %c[%c0] shape [16, 16, 16] : memref<4xf16, #l>, memref<4xf16, #l> -> memref<4xf32, #l>
    } {tile.unroll}
    simt.move %t[%c0] -> %S[%c0] lanes(4) : memref<4xf16, #l>, memref<64xf16, #s>
  }
  func.return
}

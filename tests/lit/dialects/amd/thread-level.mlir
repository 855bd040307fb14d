// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// What one lane does on AMD's GPUs, in text and back.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
// CHECK-LABEL: func.func @mfma
func.func @mfma(%a: memref<64xf16, #l>, %c: memref<64xf32, #l>, %x: memref<64xf8E4M3FNUZ, #l>, %y: memref<64xf8E5M2FNUZ, #l>, %q: memref<64xi8, #l>, %r: memref<64xi32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx942>} {
  // CHECK: amd.mfma {{%[a-z0-9]+}}[{{%[a-z0-9]+}}], {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] shape [32, 32, 8] : memref<64xf16, #local>, memref<64xf16, #local> -> memref<64xf32, #local>
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [32, 32, 8] : memref<64xf16, #l>, memref<64xf16, #l> -> memref<64xf32, #l>
  // CHECK: amd.mfma {{.*}} shape [16, 16, 32] : memref<64xf8E4M3FNUZ, #local>, memref<64xf8E5M2FNUZ, #local> -> memref<64xf32, #local>
  amd.mfma %x[%i], %y[%i] -> %c[%i] shape [16, 16, 32] : memref<64xf8E4M3FNUZ, #l>, memref<64xf8E5M2FNUZ, #l> -> memref<64xf32, #l>
  // CHECK: amd.mfma {{.*}} shape [32, 32, 16] : memref<64xi8, #local>, memref<64xi8, #local> -> memref<64xi32, #local>
  amd.mfma %q[%i], %q[%i] -> %r[%i] shape [32, 32, 16] : memref<64xi8, #l>, memref<64xi8, #l> -> memref<64xi32, #l>
  // CHECK: amd.mfma {{.*}} shape [16, 16, 8] {xf32} : memref<64xf32, #local>
  amd.mfma %c[%i], %c[%i] -> %c[%i] shape [16, 16, 8] {xf32} : memref<64xf32, #l>, memref<64xf32, #l> -> memref<64xf32, #l>
  // CHECK: amd.mfma {{.*}} shape [16, 16, 4] : memref<64xf32, #local>
  amd.mfma %c[%i], %c[%i] -> %c[%i] shape [16, 16, 4] : memref<64xf32, #l>, memref<64xf32, #l> -> memref<64xf32, #l>
  func.return
}
// CHECK-LABEL: func.func @wmma
func.func @wmma(%a: memref<64xbf16, #l>, %c: memref<64xf32, #l>, %q: memref<64xi8, #l>, %r: memref<64xi32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx1201>} {
  // CHECK: amd.wmma {{.*}} shape [16, 16, 16] : memref<64xbf16, #local>, memref<64xbf16, #local> -> memref<64xf32, #local>
  amd.wmma %a[%i], %a[%i] -> %c[%i] shape [16, 16, 16] : memref<64xbf16, #l>, memref<64xbf16, #l> -> memref<64xf32, #l>
  // CHECK: amd.wmma {{.*}} shape [16, 16, 16] {unsigned_a} : memref<64xi8, #local>
  amd.wmma %q[%i], %q[%i] -> %r[%i] shape [16, 16, 16] {unsigned_a} : memref<64xi8, #l>, memref<64xi8, #l> -> memref<64xi32, #l>
  // CHECK: amd.interleave {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] lanes(8) : memref<64xbf16, #local>, memref<64xbf16, #local>
  amd.interleave %a[%i] -> %a[%i] lanes(8) : memref<64xbf16, #l>, memref<64xbf16, #l>
  func.return
}
// CHECK-LABEL: func.func @moves
func.func @moves(%A: memref<?xf16, #g>, %a: memref<64xf16, #l>, %S: memref<8192xf16, #s>, %i: index, %t: i1) attributes {tile.target = #tile.target<hip, gfx950>} {
  // CHECK: amd.buffer_load {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] -> {{%[a-z0-9]+}}[{{%[a-z0-9]+}}] lanes(8) elements {{%[a-z0-9]+}} if {{%[a-z0-9]+}} : memref<?xf16, #global>, memref<64xf16, #local>
  amd.buffer_load %A[%i] -> %a[%i] lanes(8) elements %i if %t : memref<?xf16, #g>, memref<64xf16, #l>
  // CHECK: amd.buffer_load {{.*}} lanes(1) elements {{%[a-z0-9]+}} {nontemporal} : memref<?xf16, #global>, memref<64xf16, #local>
  amd.buffer_load %A[%i] -> %a[%i] lanes(1) elements %i {nontemporal} : memref<?xf16, #g>, memref<64xf16, #l>
  // CHECK: amd.buffer_store {{.*}} lanes(4) elements {{%[a-z0-9]+}} : memref<64xf16, #local>, memref<?xf16, #global>
  amd.buffer_store %a[%i] -> %A[%i] lanes(4) elements %i : memref<64xf16, #l>, memref<?xf16, #g>
  // CHECK: amd.load_lds {{.*}} lanes(8) : memref<?xf16, #global>, memref<8192xf16, #shared>
  amd.load_lds %A[%i] -> %S[%i] lanes(8) : memref<?xf16, #g>, memref<8192xf16, #s>
  // CHECK: amd.load_lds {{.*}} lanes(2) elements {{%[a-z0-9]+}} if {{%[a-z0-9]+}} : memref<?xf16, #global>, memref<8192xf16, #shared>
  amd.load_lds %A[%i] -> %S[%i] lanes(2) elements %i if %t : memref<?xf16, #g>, memref<8192xf16, #s>
  // CHECK: amd.wait loads(3)
  amd.wait loads(3)
  func.return
}
// CHECK-LABEL: func.func @hints
func.func @hints() attributes {tile.target = #tile.target<hip, gfx942>} {
  // CHECK: amd.sched_group mfma count(4)
  amd.sched_group mfma count(4)
  // CHECK: amd.sched_group lds_read count(1) {sync = 2 : i64}
  amd.sched_group lds_read count(1) {sync = 2}
  // CHECK: amd.sched_barrier 8
  amd.sched_barrier 8
  // CHECK: amd.setprio 1
  amd.setprio 1
  // CHECK: amd.iglp 0
  amd.iglp 0
  func.return
}

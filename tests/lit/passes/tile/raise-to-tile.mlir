// RUN: tilewright-opt %s --raise-to-tile --split-input-file | filecheck %s

// A mask is the extent of the tensor: no condition in the loop.
// CHECK-LABEL: func.func public @masked(
// CHECK-SAME: %arg0: memref<?xf32, #global> {tile.divisibility = 4 : i32, tile.name = "arg0"}, %arg1: i32 {tile.name = "arg1"}
// CHECK-SAME: %grid0: i32 {tile.name = "grid0"}
// CHECK-SAME: attributes {tile.entry}
// CHECK: %[[N:.*]] = arith.index_cast %arg1 : i32 to index
// CHECK: %[[X:.*]] = tile.view %arg0 sizes(%[[N]]) : memref<?xf32, #global> to memref<?xf32, strided<[1]>, #global>
// CHECK: tile.kernel (%{{.*}}, %{{.*}}, %{{.*}}) in ({{.*}}) threads(128) {
// CHECK: tile.parallel (%{{.*}}) in (64) {
// CHECK-NOT: scf.if
// CHECK: memref.load %[[X]][%{{.*}}]
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}, %[[X]][%{{.*}}]
tt.func public @masked(%x: !tt.ptr<f32>, %n: i32) {
  %c64 = arith.constant 64 : i32
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %c64 : i32
  %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %s = tt.splat %start : i32 -> tensor<64xi32>
  %o = arith.addi %s, %r : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %m = arith.cmpi slt, %o, %ns : tensor<64xi32>
  %b = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %p = tt.addptr %b, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %p, %m : tensor<64x!tt.ptr<f32>>
  %w = arith.addf %v, %v : tensor<64xf32>
  tt.store %p, %w, %m : tensor<64x!tt.ptr<f32>>
  tt.return
}

// -----

// A mask that is no box: elements under a condition.
// CHECK-LABEL: func.func public @odd_lanes
// CHECK: tile.parallel
// CHECK: scf.if %{{.*}} -> (f32) {
// CHECK: memref.load %arg0[
tt.func public @odd_lanes(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
  %one = arith.constant dense<1> : tensor<32xi32>
  %r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %bit = arith.andi %r, %one : tensor<32xi32>
  %m = arith.cmpi eq, %bit, %one : tensor<32xi32>
  %b = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %p = tt.addptr %b, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %c = tt.splat %y : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %q = tt.addptr %c, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %v = tt.load %p, %m : tensor<32x!tt.ptr<f32>>
  tt.store %q, %v : tensor<32x!tt.ptr<f32>>
  tt.return
}

// -----

// A scalar store happens once a program, a reduction is an op on a buffer.
// CHECK-LABEL: func.func public @total
// CHECK: %[[F:.*]] = tile.alloc {{.*}} : memref<128xf32, #fragment>
// CHECK: tile.copy %{{.*}} -> %[[F]]
// CHECK: tile.reduce sum %[[F]] -> %[[S:.*]] dim 0
// CHECK: %[[T:.*]] = memref.load %[[S]][
// CHECK: tile.parallel (%{{.*}}) in (1) {
// CHECK-NEXT: memref.store %[[T]], %{{.*}}[
tt.func public @total(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
  %pid = tt.get_program_id x : i32
  %c128 = arith.constant 128 : i32
  %start = arith.muli %pid, %c128 : i32
  %r = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32>
  %s = tt.splat %start : i32 -> tensor<128xi32>
  %o = arith.addi %s, %r : tensor<128xi32>
  %b = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %p = tt.addptr %b, %o : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %v = tt.load %p : tensor<128x!tt.ptr<f32>>
  %sum = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %k: f32):
    %z = arith.addf %l, %k : f32
    tt.reduce.return %z : f32
  }) : (tensor<128xf32>) -> f32
  %q = tt.addptr %y, %pid : !tt.ptr<f32>, i32
  tt.store %q, %sum : !tt.ptr<f32>
  tt.return
}

// -----

// A loop with a GEMM that loads feed; carried pointers are functions of the counter; the
// accumulator is one fragment.
// CHECK-LABEL: func.func public @gemm
// CHECK: %[[ACC:.*]] = tile.alloc {{.*}} : memref<64x64xf32, #fragment>
// CHECK: %[[A:.*]] = tile.alloc {{.*}} : memref<64x32xf16, #shared>
// CHECK: tile.fill %[[ACC]]
// CHECK: tile.pipeline %[[T:.*]] = 0 to %{{.*}} num_stages(3) {
// CHECK: %[[K:.*]] = arith.muli %[[T]], %{{.*}} : index
// CHECK: tile.region %{{.*}}[0, %[[K]]] [64, 32]
// CHECK: tile.copy %{{.*}} -> %[[A]]
// CHECK: tile.gemm %[[A]], %{{.*}} -> %[[ACC]] : memref<64x32xf16
// CHECK-NEXT: }
tt.func public @gemm(%x: !tt.ptr<f16>, %y: !tt.ptr<f16>, %z: !tt.ptr<f32>, %k: i32, %sx: i32, %sy: i32) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant dense<32> : tensor<64x32xi32>
  %c32 = arith.constant 32 : i32
  %rows = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %depth = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %row = tt.expand_dims %rows {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %column = tt.expand_dims %rows {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %across = tt.expand_dims %depth {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %down = tt.expand_dims %depth {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %sxs = tt.splat %sx : i32 -> tensor<64x1xi32>
  %sys = tt.splat %sy : i32 -> tensor<32x1xi32>
  %xr = arith.muli %row, %sxs : tensor<64x1xi32>
  %xrb = tt.broadcast %xr : tensor<64x1xi32> -> tensor<64x32xi32>
  %xcb = tt.broadcast %across : tensor<1x32xi32> -> tensor<64x32xi32>
  %xo = arith.addi %xrb, %xcb : tensor<64x32xi32>
  %xb = tt.splat %x : !tt.ptr<f16> -> tensor<64x32x!tt.ptr<f16>>
  %xp = tt.addptr %xb, %xo : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
  %yr = arith.muli %down, %sys : tensor<32x1xi32>
  %yrb = tt.broadcast %yr : tensor<32x1xi32> -> tensor<32x64xi32>
  %ycb = tt.broadcast %column : tensor<1x64xi32> -> tensor<32x64xi32>
  %yo = arith.addi %yrb, %ycb : tensor<32x64xi32>
  %yb = tt.splat %y : !tt.ptr<f16> -> tensor<32x64x!tt.ptr<f16>>
  %yp = tt.addptr %yb, %yo : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi32>
  %by = arith.muli %sy, %c32 : i32
  %bys = tt.splat %by : i32 -> tensor<32x64xi32>
  %acc:3 = scf.for %i = %c0 to %k step %c1 iter_args(%c = %zero, %p = %xp, %q = %yp) -> (tensor<64x64xf32>, tensor<64x32x!tt.ptr<f16>>, tensor<32x64x!tt.ptr<f16>>) : i32 {
    %a = tt.load %p : tensor<64x32x!tt.ptr<f16>>
    %b = tt.load %q : tensor<32x64x!tt.ptr<f16>>
    %d = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    %p2 = tt.addptr %p, %step : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
    %q2 = tt.addptr %q, %bys : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi32>
    scf.yield %d, %p2, %q2 : tensor<64x64xf32>, tensor<64x32x!tt.ptr<f16>>, tensor<32x64x!tt.ptr<f16>>
  }
  %zr = tt.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
  %c64 = arith.constant dense<64> : tensor<64x64xi32>
  %zs = arith.muli %zr, %c64 : tensor<64x64xi32>
  %zc = tt.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %zo = arith.addi %zs, %zc : tensor<64x64xi32>
  %zb = tt.splat %z : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %zp = tt.addptr %zb, %zo : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %zp, %acc#0 : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

// A return in a branch becomes the other branch; a called function is part of the kernel.
// CHECK-LABEL: func.func public @early
// CHECK: scf.if
// CHECK-NOT: cf.cond_br
// CHECK-NOT: tt.
tt.func private @double(%v: i32) -> i32 {
  %two = arith.addi %v, %v : i32
  tt.return %two : i32
}
tt.func public @early(%x: !tt.ptr<i32>, %n: i32) {
  %pid = tt.get_program_id x : i32
  %done = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %done, ^end, ^rest
^end:
  tt.return
^rest:
  %p = tt.addptr %x, %pid : !tt.ptr<i32>, i32
  %v = tt.call @double(%pid) : (i32) -> i32
  tt.store %p, %v : !tt.ptr<i32>
  tt.return
}

// -----

// Values that a loop swaps are copied at its end, reads before writes.
// CHECK-LABEL: func.func public @swap
// CHECK: %[[A:.*]] = tile.alloc
// CHECK: %[[B:.*]] = tile.alloc
// CHECK: scf.for
// CHECK: tile.parallel (%[[I:.*]]) in (32) {
// CHECK-NEXT: %[[V:.*]] = memref.load %[[B]][%[[I]]]
// CHECK-NEXT: %[[W:.*]] = memref.load %[[A]][%[[I]]]
// CHECK-NEXT: memref.store %[[V]], %[[A]][%[[I]]]
// CHECK-NEXT: memref.store %[[W]], %[[B]][%[[I]]]
// CHECK-NEXT: }
tt.func public @swap(%x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %one = arith.constant dense<1.0> : tensor<32xf32>
  %r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %one) -> (tensor<32xf32>, tensor<32xf32>) : i32 {
    scf.yield %b, %a : tensor<32xf32>, tensor<32xf32>
  }
  %s = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %p = tt.addptr %s, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  tt.store %p, %out#0 : tensor<32x!tt.ptr<f32>>
  tt.return
}

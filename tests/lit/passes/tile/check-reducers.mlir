// RUN: tilewright-opt %s --check-reducers --split-input-file --verify-diagnostics

#fragment = #tile.space<fragment>

// Two epochs, in a loop, and reads of the results.
func.func @epochs(%x: f32, %n: index, %out: memref<64xf32, #tile.space<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel (%bx) in (1) threads(128) {
    %r = tile.reducer.alloc "r" sum : memref<64xf32, #fragment>
    scf.for %k = %c0 to %n step %c1 {
      tile.fill %r, %x : memref<64xf32, #fragment>, f32
      tile.parallel (%i, %j) in (64, 4) {
        %v = memref.load %r[%i] : memref<64xf32, #fragment>
        %s = arith.addf %v, %x : f32
        memref.store %s, %r[%i] : memref<64xf32, #fragment>
      }
      tile.reducer.finalize %r : memref<64xf32, #fragment>
      tile.copy %r -> %out : memref<64xf32, #fragment> -> memref<64xf32, #tile.space<global>>
    }
    %last = memref.load %r[%c0] : memref<64xf32, #fragment>
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>

func.func @filled_twice(%x: f32) {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @below 2 {{reducer r is allocated here}}
    %r = tile.reducer.alloc "r" sum : memref<64xf32, #fragment>
    // expected-note @below {{the epoch is opened here}}
    tile.fill %r, %x : memref<64xf32, #fragment>, f32
    // expected-error @below {{T.fill on reducer must be enclosed with a T.finalize_reducer before next.}}
    tile.fill %r, %x : memref<64xf32, #fragment>, f32
    tile.reducer.finalize %r : memref<64xf32, #fragment>
    // expected-error @below {{T.finalize_reducer must have a pairing T.fill ahead of it, enclosing a reduction range.}}
    tile.reducer.finalize %r : memref<64xf32, #fragment>
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>

func.func @never_closed(%x: f32, %c: i1, %out: memref<64xf32, #tile.space<global>>) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @below 2 {{reducer r is allocated here}}
    %r = tile.reducer.alloc "r" max : memref<64xf32, #fragment>
    // expected-error @below {{T.fill on reducer must be enclosed with a T.finalize_reducer before next.}}
    // expected-note @below {{the epoch is opened here}}
    tile.fill %r, %x : memref<64xf32, #fragment>, f32
    // expected-error @below {{only r[i] = max(r[i], x) is allowed}}
    tile.copy %r -> %out : memref<64xf32, #fragment> -> memref<64xf32, #tile.space<global>>
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>

func.func @other_uses(%x: f32) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @below 3 {{reducer r is allocated here}}
    %r = tile.reducer.alloc "r" sum : memref<64xf32, #fragment>
    // expected-error @below {{reducer r is used before T.fill opens an epoch}}
    %early = memref.load %r[%c0] : memref<64xf32, #fragment>
    // expected-note @below {{the epoch is opened here}}
    tile.fill %r, %x : memref<64xf32, #fragment>, f32
    tile.parallel (%i) in (64) {
      %v = memref.load %r[%i] : memref<64xf32, #fragment>
      %s = arith.addf %v, %x : f32
      // expected-error @below {{only r[i] = sum(r[i], x) is allowed}}
      memref.store %s, %r[%c0] : memref<64xf32, #fragment>
    }
    tile.reducer.finalize %r : memref<64xf32, #fragment>
    // expected-error @below {{write to finalised reducer r: after T.finalize_reducer it is read-only}}
    memref.store %x, %r[%c0] : memref<64xf32, #fragment>
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>

// One branch closes the epoch, the other forgets it.
func.func @branches(%x: f32, %c: i1) {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @below {{reducer r is allocated here}}
    %r = tile.reducer.alloc "r" sum : memref<64xf32, #fragment>
    tile.fill %r, %x : memref<64xf32, #fragment>, f32
    // expected-error @below {{Only one of the two branches opens or closes an epoch}}
    scf.if %c {
      tile.reducer.finalize %r : memref<64xf32, #fragment>
    }
  }
  func.return
}

// RUN: tilewright-opt -check-launch -split-input-file -verify-diagnostics %s

// What can be launched is left alone.

func.func @fine(%n: index) attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%x, %y) in (%n, 8) threads(128) cluster(2, 4) {
  }
  func.return
}

// -----

func.func @many_blocks() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  // expected-error @+2 {{cluster too large: 4 x 4 = 16 blocks, at most 8 are supported}}
  // expected-note @+1 {{help: use cluster_dims=(2, 4)}}
  tile.kernel (%x, %y) in (8, 8) threads(128) cluster(4, 4) {
  }
  func.return
}

// -----

func.func @older() attributes {tile.target = #tile.target<cuda, sm_80>} {
  // expected-error @+2 {{clusters not supported: the kernel uses clusters of 2 blocks, which require sm_90; the target is sm_80}}
  // expected-note @+1 {{help: use T.Kernel instead of T.ClusterKernel}}
  tile.kernel (%x) in (8) threads(128) cluster(2) {
  }
  func.return
}

// -----

// A cluster of one block is none.

func.func @alone() attributes {tile.target = #tile.target<cuda, sm_80>} {
  tile.kernel (%x) in (8) threads(128) cluster(1) {
  }
  func.return
}

// -----

func.func @nothing_runs() {
  // expected-warning @+2 {{empty grid: 0 blocks along y, so the kernel does not run and its outputs are not written}}
  // expected-note @+1 {{help: use T.ceildiv(size, block), which rounds up; size // block rounds down}}
  tile.kernel (%x, %y) in (8, 0) threads(128) {
  }
  func.return
}

// -----

func.func @too_many() {
  // expected-error @+2 {{grid too large: 65536 blocks along y, at most 65535 are supported}}
  // expected-note @+1 {{help: make this extent the first of T.Kernel: x supports up to 2147483647 blocks}}
  tile.kernel (%x, %y) in (8, 65536) threads(128) {
  }
  // expected-error @+2 {{grid too large: 4294967296 blocks along x, at most 2147483647 are supported}}
  // expected-note @+1 {{help: use larger tiles, or T.Persistent, in which each block processes several tiles}}
  tile.kernel (%z) in (4294967296) threads(128) {
  }
  func.return
}

// RUN: tilewright-opt -check-launch -split-input-file -verify-diagnostics %s

// What can be launched is left alone.

func.func @fine(%n: index) attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%x, %y) in (%n, 8) threads(128) cluster(2, 4) {
  }
  func.return
}

// -----

func.func @many_blocks() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  // expected-error @+2 {{a cluster of 4 x 4 = 16 blocks: GPUs take at most 8}}
  // expected-note @+1 {{help: cluster_dims=(2, 4)}}
  tile.kernel (%x, %y) in (8, 8) threads(128) cluster(4, 4) {
  }
  func.return
}

// -----

func.func @older() attributes {tile.target = #tile.target<cuda, sm_80>} {
  // expected-error @+2 {{clusters of 2 blocks: sm_80 has none, they come with sm_90}}
  // expected-note @+1 {{help: T.Kernel instead of T.ClusterKernel}}
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
  // expected-warning @+2 {{the grid has 0 blocks along y: nothing runs, and the kernel's outputs are not written}}
  // expected-note @+1 {{help: T.ceildiv(size, block) rounds up, size // block down}}
  tile.kernel (%x, %y) in (8, 0) threads(128) {
  }
  func.return
}

// -----

func.func @too_many() {
  // expected-error @+2 {{the grid has 65536 blocks along y: GPUs take at most 65535}}
  // expected-note @+1 {{help: name this extent first in T.Kernel: x takes up to 2147483647}}
  tile.kernel (%x, %y) in (8, 65536) threads(128) {
  }
  // expected-error @+2 {{the grid has 4294967296 blocks along x: GPUs take at most 2147483647}}
  // expected-note @+1 {{help: larger tiles, or T.Persistent, which has blocks walk over tiles}}
  tile.kernel (%z) in (4294967296) threads(128) {
  }
  func.return
}

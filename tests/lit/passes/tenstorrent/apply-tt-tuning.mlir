// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim "--apply-tt-tuning=subblock=1x8 stages=4" | filecheck %s
// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-tuning | filecheck %s --check-prefix DEFAULT
// RUN: not tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-tuning=subblock=8 2>&1 | filecheck %s --check-prefix BLOCK
// RUN: not tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-tuning=stages=1 2>&1 | filecheck %s --check-prefix STAGES

// CHECK: tt.tuning = {stages = 4 : i64, subblock = [1, 8]}
// DEFAULT-NOT: tt.tuning
// BLOCK: error[TW7001]: sub-block '8': expected rows x columns, as in 1x8
// STAGES: error[TW7001]: 1 stages: buffers of loads hold 2 blocks or more
func.func public @copy(%A: memref<64x64xbf16, #tile.space<global>>) {
  func.return
}

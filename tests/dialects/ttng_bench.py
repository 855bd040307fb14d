"""Operands for tests of ``ttng`` and ``tlx``."""

from __future__ import annotations

from tests.dialects.gpu_text import Bench

MB = "!ttg.memdesc<1xi64, #shared, #smem, mutable>"
MA = "!ttg.memdesc<128x64xf16, #shared1, #smem, mutable>"
MT = "!ttg.memdesc<64x128xf16, #shared2, #smem, mutable>"
D = "!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>"
DESC = "!tt.tensordesc<128x64xf16, #shared1>"
ROWS = "!tt.tensordesc<1x64xf16, #shared1>"
MR = "!ttg.memdesc<32x64xf16, #shared1, #smem, mutable>"
IM2COL = "!ttng.tensordesc_im2col<128x64xf16, #shared1>"
V = "tensor<128x128xf32, #blocked>"
ACC = "tensor<128x128xf32, #mma>"
CLC = "!ttg.memdesc<2xi64, #shared, #smem, mutable>"
SCALE = "!ttg.memdesc<128x4xi8, #tmem_scales, #ttng.tensor_memory>"
F8 = "!ttg.memdesc<128x128xf8E4M3FN, #shared3, #smem, mutable>"
F8T = "!ttg.memdesc<128x128xf8E4M3FN, #shared4, #smem, mutable>"

BENCH = Bench(
    aliases="""\
#blocked = #ttg.blocked<{sizePerThread = [1, 128], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#shared3 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#shared4 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#tmem_scales = #ttng.tensor_memory_scales_encoding<>""",
    arguments={
        "%bar": MB,
        "%i": "i32",
        "%j": "i32",
        "%p": "i1",
        "%a": MA,
        "%b": MT,
        "%d": D,
        "%desc": DESC,
        "%rows": ROWS,
        "%rbuf": MR,
        "%x": V,
        "%acc": ACC,
        "%ptr": "!tt.ptr<i8>",
        "%tok": "!ttg.async.token",
        "%clc": CLC,
        "%resp": "i128",
        "%o": "i16",
        "%l": "i64",
        "%ix": "tensor<32xi32>",
        "%im": IM2COL,
        "%sa": SCALE,
        "%fa": F8,
        "%fb": F8T,
        "%ptrs": "tensor<128x!tt.ptr<f32>>",
        "%mask": "tensor<128xi1>",
    },
    attributes={
        "ttg.num-ctas": "1 : i32",
        "ttg.num-warps": "4 : i32",
        "ttg.target": '"cuda:100"',
        "ttg.threads-per-warp": "32 : i32",
    },
)

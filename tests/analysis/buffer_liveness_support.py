"""Small functions with buffers, written as a few lines of IR."""

from tests.passes.pass_support import parse
from tilewright.analysis.buffer_liveness import BufferLiveness, FunctionLiveness

HEAD = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tm = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#smem = #ttg.shared_memory
!tile = tensor<64x64xf16, #blocked>
!buf = !ttg.memdesc<64x64xf16, #s, #smem, mutable>
!const = !ttg.memdesc<64x64xf16, #s, #smem>
!ring = !ttg.memdesc<3x64x64xf16, #s, #smem, mutable>
!bar = !ttg.memdesc<1xi64, #bar, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #bar, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #s>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:TARGET", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%d: !desc, %p: tensor<64x64x!tt.ptr<f16>, #blocked>, %n: i32, %t: i1) {
    %x = arith.constant dense<1.0> : !tile
    %acc = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %true = arith.constant true
    %false = arith.constant false
"""
TAIL = """
    tt.return
  }
}
"""

A = "%a = ttg.local_alloc : () -> !buf\n"
B = "%b = ttg.local_alloc : () -> !buf\n"
RING = "%r = ttg.local_alloc : () -> !ring\n"
BAR = "%m = ttg.local_alloc : () -> !bar\nttng.init_barrier %m, 1 : !bar\n"
BARS = """
%m = ttg.local_alloc : () -> !bars
%m0 = ttg.memdesc_index %m[%c0] : !bars -> !bar
%m1 = ttg.memdesc_index %m[%c1] : !bars -> !bar
%m2 = ttg.memdesc_index %m[%c2] : !bars -> !bar
ttng.init_barrier %m0, 1 : !bar
ttng.init_barrier %m1, 1 : !bar
ttng.init_barrier %m2, 1 : !bar
"""


def put(buffer: str) -> str:
    return f"ttg.local_store %x, %{buffer} : !tile -> !buf\n"


_loads = 0


def get(buffer: str) -> str:
    """Read a buffer; its value goes nowhere, which liveness does not care about."""
    global _loads
    _loads += 1
    return f"%y{_loads} = ttg.local_load %{buffer} : !buf -> !tile\n"


def text_of(body: str, target: int = 90) -> str:
    return HEAD.replace("TARGET", str(target)) + body + TAIL


def live(body: str, target: int = 90) -> FunctionLiveness:
    """The liveness of a function with this body."""
    (function,) = BufferLiveness(parse(text_of(body, target))).functions.values()
    return function


def can_share(body: str, target: int = 90) -> bool:
    """Whether the first two buffers that are no barriers may lie over each other."""
    function = live(body, target)
    first, second = [each.op for each in function.buffers if not each.is_barrier][:2]
    return function.conflict(first, second) is None


def why(body: str, target: int = 90) -> str:
    """Why the first two buffers may not."""
    function = live(body, target)
    first, second = [each.op for each in function.buffers if not each.is_barrier][:2]
    conflict = function.conflict(first, second)
    assert conflict is not None
    said = [held.text.format(*(op.name for op in held.ops)) for held in conflict.reasons]
    return f"{said[0]} | {said[1]}"

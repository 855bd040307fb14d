"""Kernels whose buffers exceed the memory of the target are rejected, with sizes and a fix."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.tasks.programs import compiled
from tilewright import tl, tlx
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.numpy import Buffer

SMEM_BYTES = 227 * 1024
FLAT = "#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"


def module(body: str, target: str = "") -> str:
    attributes = '"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32'
    attributes += f', ttg.target = "{target}"' if target else ""
    return f"""{FLAT}
#smem = #ttg.shared_memory
#wide = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
module attributes {{{attributes}}} {{
  tt.func public @kernel(%out: !tt.ptr<i8>) {{
    %c0 = arith.constant 0 : i32
    %lanes = tt.make_range {{start = 0 : i32, end = 16 : i32}} : tensor<16xi32>
{body}
    tt.return
  }}
}}
"""


def filled(name: str, size: int) -> str:
    """A buffer full of a number; equal ones of one value would be one buffer."""
    kind = f"tensor<{size}xi8>"
    return (
        f"%{name}_full = arith.constant dense<{ord(name) - 96}> : {kind}\n"
        f"%{name} = ttg.local_alloc %{name}_full : ({kind}) -> !ttg.memdesc<{size}xi8, #flat, #smem>"
    )


def used(name: str, size: int) -> str:
    """A read of it whose value is stored."""
    kind = f"tensor<{size}xi8>"
    return (
        f"%{name}_read = ttg.local_load %{name} : !ttg.memdesc<{size}xi8, #flat, #smem> -> {kind}\n"
        f'%{name}_sum = "tt.reduce"(%{name}_read) <{{axis = 0 : i32}}> ({{\n'
        f"^bb0(%l: i8, %r: i8):\n%s = arith.addi %l, %r : i8\ntt.reduce.return %s : i8\n"
        f"}}) : ({kind}) -> i8\ntt.store %out, %{name}_sum : !tt.ptr<i8>"
    )


def failure(text: str) -> str:
    with pytest.raises(CompileError) as found:
        compiled(text)
    return str(found.value)


TWO = (131072, 65536)  # tensors are powers of two; a third buffer fills up


def three(last: int) -> str:
    names = list(zip("abc", (*TWO, last), strict=True))
    return "\n".join([*(filled(*each) for each in names), *(used(*each) for each in names)])


def test_what_just_fits_runs() -> None:
    kernel = compiled(module(three(32768)))
    assert kernel.tables.smem_bytes == sum(TWO) + 32768 <= SMEM_BYTES
    out = np.full(1, 7, np.int8)
    kernel.launch((1,), [Buffer("out", out)])
    assert out[0] == 0  # the sum of 32768 threes, in eight bits


def test_what_does_not_fit_is_reported_with_its_parts() -> None:
    text = failure(module(three(65536)))
    assert "error[TW5001]: shared memory: 262144 bytes needed, 232448 available on sm_90" in text
    for part in ("a: 1 x 131072 bytes", "b: 1 x 65536 bytes", "c: 1 x 65536 bytes"):
        assert f"note: {part}\n" in text + "\n"
    assert "note: fits" not in text  # all three are in use together, and each is one buffer


def test_buffers_that_are_never_in_use_together_may_share() -> None:
    one, two = ("a", 131072), ("b", 131072)
    apart = "\n".join([filled(*one), used(*one), filled(*two), used(*two)])
    assert compiled(module(apart)).tables.smem_bytes == 262144
    together = "\n".join([filled(*one), filled(*two), used(*one), used(*two)])
    assert "262144 bytes needed" in failure(module(together))


def test_the_module_names_the_target() -> None:
    body = "\n".join([filled("a", 131072), used("a", 131072)])
    assert compiled(module(body, "cuda:90")).tables.smem_bytes == 131072
    assert "131072 bytes needed, 101376 available on sm_86" in failure(module(body, "cuda:86"))


def tensor_memory(count: int) -> str:
    lines = ["%zero = arith.constant dense<0.0> : tensor<128x128xf32>"]
    kind = "!ttg.memdesc<128x128xf32, #wide, #ttng.tensor_memory, mutable>"
    lines += [
        f"%d{n} = ttng.tmem_alloc %zero : (tensor<128x128xf32>) -> {kind}" for n in range(count)
    ]
    for n in range(count):
        lines.append(f"%r{n} = ttng.tmem_load %d{n} : {kind} -> tensor<128x128xf32>")
        lines.append(f"%p{n} = tt.splat %out : !tt.ptr<i8> -> tensor<128x128x!tt.ptr<i8>>")
        lines.append(f"%i{n} = arith.fptosi %r{n} : tensor<128x128xf32> to tensor<128x128xi8>")
        lines.append(f"tt.store %p{n}, %i{n} : tensor<128x128x!tt.ptr<i8>>")
    return module("\n".join(lines))


def test_tensor_memory_has_512_columns() -> None:
    assert compiled(tensor_memory(4)).tables.tmem_columns == 512
    text = failure(tensor_memory(5))
    assert "tensor memory: 640 columns needed, 512 available on sm_100" in text
    assert "d0: 1 x 128 columns" in text


@tw.jit
def ring(x_desc, out_ptr, blocks, STAGES: tl.constexpr):
    tile = tlx.local_alloc((64, 128), tl.float32, STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for block in range(blocks):
                slot = block % STAGES
                tlx.barrier_wait(empty[slot], (block // STAGES) & 1 ^ 1)
                tlx.barrier_expect_bytes(full[slot], 64 * 128 * 4)
                tlx.async_descriptor_load(x_desc, tile[slot], [block * 64, 0], full[slot])
        with tlx.async_task(num_warps=4):
            total = 0.0
            for block in range(blocks):
                slot = block % STAGES
                tlx.barrier_wait(full[slot], (block // STAGES) & 1)
                total += tl.sum(tlx.local_load(tile[slot]))
                tlx.barrier_arrive(empty[slot], 1)
            tl.store(out_ptr, total)


def test_the_way_out_is_fewer_stages() -> None:
    x, out = np.ones((256, 128), np.float32), np.zeros(1, np.float32)
    desc = tw.TensorDescriptor.from_tensor(x, [64, 128])
    with pytest.raises(CompileError) as found:
        ring[(1,)](desc, out, 4, STAGES=8)
    text = str(found.value)
    assert "shared memory: 262272 bytes needed, 232448 available on sm_90" in text
    assert "fits with 7 instead of 8 buffers of 'tile', 'full' and 'empty' (229496 bytes)" in text
    assert "tile = tlx.local_alloc((64, 128), tl.float32, STAGES)" in text  # the source line
    ring[(1,)](desc, out, 4, STAGES=7)
    assert out[0] == x.sum()


def test_arguments_that_no_launch_can_give() -> None:
    text = module("").replace("%out: !tt.ptr<i8>", "%k: !ttg.memdesc<16xi8, #flat, #smem>")
    assert "'kernel' cannot be launched: its argument 'k' is a buffer in shared or tensor memory" in failure(
        text.replace("tt.return", "%x = ttg.local_load %k : !ttg.memdesc<16xi8, #flat, #smem> -> "
                     "tensor<16xi8>\n    tt.return")
    )  # fmt: skip
    body = "\n".join([filled("a", 16), "tt.store %out, %v : tensor<16x!tt.ptr<i8>>"])
    body = body.replace("%v :", "%a_full :")
    tensor = module(body).replace("%out: !tt.ptr<i8>", "%out: tensor<16x!tt.ptr<i8>>")
    assert "its argument 'out' is a tensor" in failure(tensor)

"""Products: what operands demand, which layout the accumulator has, where a wait stands."""

import pytest

from tests.language.tlx.ours import check, emitted, text_of

BLACKWELL = ("cuda", 100)
OPERANDS = """
a = tlx.local_alloc(({m}, {k}), tl.float16, 1)
b = tlx.local_alloc(({k}, {n}), tl.float16, 1)
"""


def _operands(m: int = 64, n: int = 128, k: int = 64) -> str:
    return OPERANDS.format(m=m, n=n, k=k)


def test_hopper() -> None:
    body = _operands() + "r = tlx.async_dot(a[0], b[0])\nr = tlx.async_dot_wait(0, r)\nr + 1.0"
    check(
        """
        %a = tlx.require_layout %u : M<64x64xf16, nv128, smem> -> M<64x64xf16, nv128, smem>
        %b = tlx.require_layout %v : M<64x128xf16, nv128, smem> -> M<64x128xf16, nv128, smem>
        %c = tlx.require_layout %cst : tensor<64x128xf32> -> tensor<64x128xf32, #tlx.no_verify_layout<mma>>
        %d = ttng.warp_group_dot %a, %b, %c {inputPrecision = 0 : i32, isAsync = true} : M<64x64xf16, nv128, smem> * M<64x128xf16, nv128, smem> -> tensor<64x128xf32, #tlx.no_verify_layout<mma>>
        %w = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<64x128xf32, #tlx.no_verify_layout<mma>>
        %r = tlx.release_layout %w : tensor<64x128xf32, #tlx.no_verify_layout<mma>> -> tensor<64x128xf32>
        %s = arith.addf %r, %cst : tensor<64x128xf32>
        """,
        emitted(body),
    )


def test_left_operand_in_registers() -> None:
    body = _operands() + "p = tlx.local_load(a[0])\ntlx.async_dot(p, b[0])"
    found = emitted(body)
    wanted = "#tlx.no_verify_layout<#ttg.dot_op<{opIdx = 0, parent = mma, kWidth = 2}>>"
    assert found[-3].endswith(f": tensor<64x64xf16> -> tensor<64x64xf16, {wanted}>")
    assert found[-2].split(" = ")[1].startswith("ttng.warp_group_dot")


def test_transposed_operand() -> None:
    body = (
        "a = tlx.local_alloc((64, 64), tl.float16, 1)\ntlx.async_dot(a[0], tlx.local_trans(a[0]))"
    )
    found = emitted(body)
    assert sum("nv128t, smem> -> M<64x64xf16, nv128t, smem>" in line for line in found) == 1


def test_a_wait_that_comes_later_than_another_use() -> None:
    """The product is used before it is waited for: its release must not move behind the use."""
    body = _operands(m=64, n=64) + (
        "r = tlx.async_dot(a[0], b[0])\ns = tlx.async_dot(a[0], b[0], r)\n"
        "r = tlx.async_dot_wait(1, r)\nr + s"
    )
    found = emitted(body)
    names = [line.split(" = ")[0] for line in found]
    sums = found[-1].split("addf ")[1].split(" :")[0].split(", ")
    assert names.index(sums[0]) == len(found) - 2
    assert "tlx.release_layout" in found[-2]


def test_a_wait_for_a_variable_of_a_loop() -> None:
    body = _operands(n=64) + (
        "acc = tl.zeros((64, 64), tl.float32)\nfor i in range(0, n):\n"
        "    acc = tlx.async_dot(a[0], b[0], acc)\nacc = tlx.async_dot_wait(0, acc)"
    )
    check(
        "%w = ttng.warp_group_dot_wait %f {pendings = 0 : i32} : tensor<64x64xf32>", emitted(body)
    )


@pytest.mark.parametrize(
    ("m", "n", "warps", "shape"),
    [
        (64, 256, 4, "[16, 256, 16]"),
        (64, 128, 4, "[16, 128, 16]"),
        (128, 256, 8, "[16, 256, 16]"),
        (64, 128, 8, "[16, 64, 16]"),
        (64, 8, 4, "[16, 8, 16]"),
    ],
)
def test_layout_of_the_accumulator(m: int, n: int, warps: int, shape: str) -> None:
    source = "@jit\ndef kernel():\n" + "".join(
        f"    {line}\n" for line in (_operands(m, n) + "tlx.async_dot(a[0], b[0])").splitlines()
    )
    text = text_of(source, {}, num_warps=warps)
    assert f"warpsPerCTA = [{warps}, 1], instrShape = {shape}}}>" in text


def test_warps_of_the_task_decide() -> None:
    text = text_of("""
        @jit
        def kernel():
            a = tlx.local_alloc((128, 64), tl.float16, 1)
            with tlx.async_tasks():
                with tlx.async_task("default"):
                    tlx.named_barrier_wait(1, 64)
                with tlx.async_task(num_warps=8):
                    tlx.async_dot(a[0], tlx.local_trans(a[0]))
    """, {})  # fmt: skip
    assert "warpsPerCTA = [8, 1], instrShape = [16, 128, 16]}>" in text


def test_products_of_8_bit_floats_sum_exactly() -> None:
    body = (
        "a = tlx.local_alloc((64, 64), tl.float8e5, 1)\ntlx.async_dot(a[0], tlx.local_trans(a[0]))"
    )
    found = emitted(body)[-2]
    assert "maxNumImpreciseAcc = 1073741824 : i32" in found


TMEM = "t = tlx.local_alloc(({m}, {n}), tl.float32, 1, tlx.storage_kind.tmem)\nq = t[0]\n"


def test_blackwell() -> None:
    body = (
        _operands(128)
        + TMEM.format(m=128, n=128)
        + (
            "bar = tlx.alloc_barriers(1)\nw = bar[0]\n"
            "tlx.async_dot(a[0], b[0], q, use_acc=False, mBarriers=[w])"
        )
    )
    check(
        """
        %a = tlx.require_layout %u : M<128x64xf16, nv128, smem> -> M<128x64xf16, nv128, smem>
        %b = tlx.require_layout %v : M<64x128xf16, nv128, smem> -> M<64x128xf16, nv128, smem>
        %k = ttng.tc_gen5_mma %a, %b, %q[], %false, %true, %w[%true] {is_async} : M<128x64xf16, nv128, smem>, M<64x128xf16, nv128, smem>, M<128x128xf32, tm128x128, tmem>, M<1xi64, plain, smem>
        """,
        emitted(body, target=BLACKWELL),
    )


def test_blackwell_with_conditions() -> None:
    body = _operands(128) + TMEM.format(m=128, n=128) + "tlx.async_dot(a[0], b[0], q, c, c)"
    check(
        "%k = ttng.tc_gen5_mma %a, %b, %q[], %c, %c : M<128x64xf16, nv128, smem>, "
        "M<64x128xf16, nv128, smem>, M<128x128xf32, tm128x128, tmem>",
        emitted(body, target=BLACKWELL),
    )


def test_pair_with_64_rows() -> None:
    """The accumulator is halved along its columns, A in tensor memory doubled."""
    body = (
        "l = tlx.local_alloc((64, 64), tl.float16, 1, tlx.storage_kind.tmem)\n"
        "b = tlx.local_alloc((64, 128), tl.float16, 1)\n"
        + TMEM.format(m=64, n=256)
        + "tlx.async_dot(l[0], b[0], q, two_ctas=True)"
    )
    found = emitted(body, target=BLACKWELL)
    lhs = "#ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1, ctaMode = twocta_lhs>"
    rhs = "#ttng.tensor_memory_encoding<blockM = 64, blockN = 256, colStride = 1, ctaMode = twocta_rhs>"
    check(
        f"""
        %a = tlx.require_layout %u : M<64x64xf16, tm64x64, tmem> -> M<64x64xf16, {lhs}, tmem>
        %b = tlx.require_layout %v : M<64x128xf16, nv128, smem> -> M<64x128xf16, nv128, smem>
        %d = tlx.require_layout %q : M<64x256xf32, tm64x256, tmem> -> M<64x256xf32, {rhs}, tmem>
        %k = ttng.tc_gen5_mma %a, %b, %d[], %true, %true {{two_ctas}} : M<64x64xf16, {lhs}, tmem>, M<64x128xf16, nv128, smem>, M<64x256xf32, {rhs}, tmem>
        """,
        found,
    )


def test_scaled() -> None:
    body = (
        "a = tlx.local_alloc((128, 128), tl.float8e4nv, 1)\n"
        "s = tlx.local_alloc((128, 4), tl.uint8, 2, tlx.storage_kind.tmem)\n"
        + TMEM.format(m=128, n=128)
        + "tlx.async_dot_scaled(a[0], a[0], q, s[0], 'e4m3', s[1], 'e4m3', force_async=True)"
    )
    check(
        """
        %x = tlx.require_layout %u : M<128x4xi8, #tlx.dummy_tmem_layout, tmem> -> M<128x4xi8, #ttng.tensor_memory_scales_encoding<>, tmem>
        %y = tlx.require_layout %v : M<128x4xi8, #tlx.dummy_tmem_layout, tmem> -> M<128x4xi8, #ttng.tensor_memory_scales_encoding<>, tmem>
        %k = ttng.tc_gen5_mma_scaled %a, %b, %q[], %x, %y, %true, %true lhs = e4m3 rhs = e4m3 {is_async} : M<128x128xf8E4M3FN, nv128, smem>, M<128x128xf8E4M3FN, nv128, smem>, M<128x128xf32, tm128x128, tmem>, M<128x4xi8, #ttng.tensor_memory_scales_encoding<>, tmem>, M<128x4xi8, #ttng.tensor_memory_scales_encoding<>, tmem>
        """,
        emitted(body, target=BLACKWELL),
    )


def test_commit() -> None:
    body = "bar = tlx.alloc_barriers(1)\nw = bar[0]\ntlx.tcgen05_commit(w)\ntlx.tcgen05_commit(w, True)"
    check(
        """
        ttng.tc_gen5_commit %w, %true : M<1xi64, plain, smem>
        %r = nvg.cluster_id
        %m = arith.remui %r, %c2_i32 : i32
        %e = arith.cmpi eq, %m, %c0_i32 : i32
        ttng.tc_gen5_commit %w, %e : M<1xi64, plain, smem>
        """,
        emitted(body, target=BLACKWELL),
    )


def test_mxfp8_block() -> None:
    """A scale of each group of 32, and what is left of 128x128 elements in 8 bits."""
    body = (
        "o = tlx.local_alloc((128, 128), tl.float8e4nv, 1)\n"
        "s = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)\n"
        "tlx._to_mxfp8_block(tl.zeros((128, 128), tl.float32), o[0], s[0], 32, tl.float8e4nv)"
    )
    found = emitted(body, target=BLACKWELL)
    assert sum("ttg.local_store" in line for line in found) == 1
    assert sum("ttng.tmem_store" in line for line in found) == 1
    assert any(
        "tt.bitcast" in line and "tensor<128x4xf32> -> tensor<128x4xi32>" in line for line in found
    )

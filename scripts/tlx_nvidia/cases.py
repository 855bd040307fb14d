"""A small problem for each tutorial, by its own host code, and what the result has to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Array = Any
Pairs = Iterator[tuple[Array, Array]]
Run = Callable[[ModuleType, Any], Pairs]


@dataclass(frozen=True)
class Case:
    """A tutorial, and how to run it: pairs of a result and what it has to be."""

    name: str
    file: str
    run: Run
    target: str = "cuda:100"
    undefined: bool = False
    """Whether its kernels read accumulators that nothing was written to, on purpose."""


# -- GEMM ----------------------------------------------------------------------------------------


def gemm(m: int, n: int, k: int, name: str = "matmul", config: dict[str, Any] | None = None) -> Run:
    """``matmul(a, b, config=...)``, without `config` where there is none."""

    def run(module: ModuleType, torch: Any) -> Pairs:
        a = torch.randn((m, k), dtype=torch.float16, device="cuda")
        b = torch.randn((k, n), dtype=torch.float16, device="cuda")
        options = {} if config is None else {"config": config}
        yield getattr(module, name)(a, b, **options), a.float() @ b.float()

    return run


def _tiles(m: int, n: int, k: int, **more: Any) -> dict[str, Any]:
    return {"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8, **more}


_HOPPER_WS = {
    "BM": 128,
    "BN": 256,
    "BK": 64,
    "GROUP_SIZE_M": 8,
    "NUM_STAGES": 3,
    "NUM_MMA_WARPS": 8,
    "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": False,
    "NUM_CTAS": 1,
}
_RINGS = {"NUM_SMEM_BUFFERS": 2, "NUM_TMEM_BUFFERS": 2}
_WS = _tiles(
    128,
    256,
    64,
    **_RINGS,
    NUM_MMA_GROUPS=1,
    EPILOGUE_SUBTILE=1,
    NUM_CTAS=1,
    SPLIT_K=1,
    INTERLEAVE_EPILOGUE=0,
)
_WS_PAIR = _tiles(
    256,
    128,
    64,
    **_RINGS,
    NUM_MMA_GROUPS=2,
    EPILOGUE_SUBTILE=2,
    NUM_CTAS=2,
    SPLIT_K=1,
    INTERLEAVE_EPILOGUE=1,
    USE_WARP_BARRIER=False,
    num_warps=4,
    num_stages=1,
    ctas_per_cga=(2, 1, 1),
)


def grouped(module: ModuleType, torch: Any) -> Pairs:
    shapes = [(256, 256, 256), (128, 128, 128)]
    left = [torch.rand((m, k), device="cuda", dtype=torch.float16) for m, n, k in shapes]
    right = [torch.rand((k, n), device="cuda", dtype=torch.float16) for m, n, k in shapes]
    for found, a, b in zip(module.group_gemm_tlx_fn(left, right), left, right, strict=True):
        yield found, a.float() @ b.float()


def scaled(module: ModuleType, torch: Any) -> Pairs:
    m, n, k = 128, 256, 256
    a, b = (
        (torch.randn(shape, device="cuda") * 0.1).to(torch.float8_e4m3fn)
        for shape in ((m, k), (n, k))
    )
    wide_a, wide_b = a.float(), b.float()
    rows, columns = (torch.rand(size, device="cuda") for size in (m, n))
    found = module.blackwell_scaled_mm_ws(a, b, rows, columns, scale_mode="rowwise")
    yield found, wide_a @ wide_b.T * rows[:, None] * columns
    by_row = torch.rand(m, k // 128, device="cuda").t().contiguous().t()
    by_block = torch.rand(n // 128, k // 128, device="cuda")
    expected = torch.zeros(m, n)
    for group in range(k // 128):
        part = slice(group * 128, (group + 1) * 128)
        factor = by_row[:, group, None] * by_block[:, group].repeat_interleave(128)
        expected += wide_a[:, part] @ wide_b[:, part].T * factor
    yield module.blackwell_scaled_mm_ws(a, b, by_row, by_block, scale_mode="blockwise"), expected


def mxfp8(config: dict[str, Any] | None = None) -> Run:
    def run(module: ModuleType, torch: Any) -> Pairs:
        m, n, k = 256, 256, 256
        (a, a_scale, a_wide), (b, b_scale, b_wide) = (
            _mx_operand(torch, rows, k) for rows in (m, n)
        )
        yield module.matmul(a, b, a_scale, b_scale, config=config), a_wide @ b_wide.T

    return run


def _mx_operand(torch: Any, rows: int, k: int) -> tuple[Array, Array, Array]:
    """Values of e4m3, scales of e8m0 in blocks of 128 x 4 as cuBLAS wants them, and both as one."""
    values = torch.randn((rows, k), device="cuda").to(torch.float8_e4m3fn)
    exponents = torch.randint(125, 130, (rows, k // 32), dtype=torch.uint8, device="cuda")
    wide = values.float() * torch.exp2(exponents.float() - 127).repeat_interleave(32, 1)
    blocks = exponents.reshape(rows // 128, 4, 32, k // 128, 4).permute(0, 3, 2, 1, 4)
    return values, blocks.contiguous().view(torch.float8_e8m0fnu), wide


# -- attention -----------------------------------------------------------------------------------


def attention(*, causal: tuple[bool, ...] | None = None, context: int = 512, **config: Any) -> Run:
    """``attention(q, k, v, scale[, causal], config=...)``; without causal ones if None."""

    def run(module: ModuleType, torch: Any) -> Pairs:
        shape, scale = (1, 2, context, 128), 0.5
        q, k, v = (
            torch.empty(shape, device="cuda", dtype=torch.float16).normal_(std=0.5)
            for _ in range(3)
        )
        for masked in (False,) if causal is None else causal:
            flags = () if causal is None else (masked,)
            found = module.attention(q, k, v, scale, *flags, config=dict(config))
            yield found, _attention_of(torch, q, k, v, scale, masked)

    return run


def _attention_of(torch: Any, q: Array, k: Array, v: Array, scale: float, causal: bool) -> Array:
    scores = q.float() @ k.float().transpose(-1, -2) * scale
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
    return scores.softmax(-1) @ v.float()


def attention_backward(causal: bool, **config: Any) -> Run:
    """Both directions, as training has them."""

    def run(module: ModuleType, torch: Any) -> Pairs:
        shape, scale = (1, 1, 256, 128), 0.5
        inputs = [
            torch.empty(shape, device="cuda", dtype=torch.float16).normal_(std=0.5).requires_grad_()
            for _ in range(3)
        ]
        found = module.attention(*inputs, scale, causal, config=dict(config) or None)
        expected = _attention_of(torch, *inputs, scale, causal)
        yield found, expected
        given = torch.randn_like(found)
        gradients = [
            torch.autograd.grad(out, inputs, given.to(out.dtype)) for out in (found, expected)
        ]
        yield from zip(*gradients, strict=True)

    return run


_FA_HOPPER = {
    "BLOCK_M": 128,
    "BLOCK_N": 128,
    "NUM_BUFFERS": 2,
    "NUM_MMA_WARPS": 8,
    "NUM_MMA_GROUPS": 2,
}
_FA_RINGS = {"NUM_BUFFERS_KV": 3, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2}
_FA = {"BLOCK_M": 256, "BLOCK_N": 128, **_FA_RINGS}
_FA_PERSISTENT = {
    **_FA,
    "NUM_BUFFERS_Q": 1,
    "NUM_MMA_SLICES": 2,
    "GROUP_SIZE_N": 1,
    "RESCALE_OPT": True,
    "USE_WHERE": False,
}


# -- other ---------------------------------------------------------------------------------------


def add2(module: ModuleType, torch: Any) -> Pairs:
    x, y, a, b = (torch.rand(3000, device="cuda") for _ in range(4))
    for name in ("add2", "add2_warp_specialized"):
        first, second = getattr(module, name)(x, y, a, b)
        yield first, x + y
        yield second, a + b


def layer_norm(name: str, rows: int, columns: int) -> Run:
    def run(module: ModuleType, torch: Any) -> Pairs:
        x = torch.randn(rows, columns, device="cuda", dtype=torch.float16)
        weight, bias = (torch.randn(columns, device="cuda", dtype=torch.float16) for _ in range(2))
        found = getattr(module, name)(x, weight, bias, 1e-5)
        found = found[0] if isinstance(found, tuple) else found
        yield (
            found,
            torch.nn.functional.layer_norm(x.float(), (columns,), weight.float(), bias.float()),
        )

    return run


def own_test(name: str, *arguments: Any) -> Run:
    """A test function of the file, which compares by itself."""

    def run(module: ModuleType, torch: Any) -> Pairs:
        getattr(module, name)(*arguments)
        yield torch.zeros(1), torch.zeros(1)

    return run


def _jagged(torch: Any, lengths: list[int], heads: int) -> tuple[Array, Array]:
    """Rows of sequences of these lengths, and where each begins."""
    ends = torch.cumsum(torch.tensor([0, *lengths]), 0)
    rows = torch.empty((sum(lengths), heads, 128), dtype=torch.bfloat16).uniform_(-0.5, 0.5)
    return rows.to("cuda"), ends.to("cuda")


def _attended(
    q: tuple[Array, Array], k: tuple[Array, Array], v: Array, activation: Callable[[Array], Array]
) -> Iterator[Array]:
    """``activation(q @ k.T) @ v`` of every sequence: rows, heads, elements."""
    (queries, q_ends), (keys, k_ends) = q, k
    for index in range(len(q_ends) - 1):
        left = queries[q_ends[index] : q_ends[index + 1]].float().transpose(0, 1)
        right, value = (
            each[k_ends[index] : k_ends[index + 1]].float().transpose(0, 1) for each in (keys, v)
        )
        weights = activation(left @ right.transpose(1, 2)).bfloat16().float()
        yield (weights @ value).transpose(0, 1)


def gdpa(module: ModuleType, torch: Any) -> Pairs:
    """Attention with GELU in place of softmax, on sequences of several lengths."""
    q, q_ends = _jagged(torch, [256, 130], 2)
    k, k_ends = _jagged(torch, [200, 256], 2)
    v = _jagged(torch, [200, 256], 2)[0]
    ends = q_ends.to(torch.int32), k_ends.to(torch.int32)
    result = module.gdpa_forward_tlx(q, k, v, *ends, max_seq_len_q=256, max_seq_len_kv=256)

    def gelu(x: Array) -> Array:  # twice it, as the kernel has it
        return x * torch.tanh(x * (0.7978845608 + 0.0356774081 * x * x)) + x

    yield result, torch.cat(list(_attended((q, q_ends), (k, k_ends), v, gelu)))


def cross_attention(variant: str) -> Run:
    """Attention of a few targets to sequences of several lengths, with SiLU and a scale."""

    def run(module: ModuleType, torch: Any) -> Pairs:
        targets, lengths, longest = [40, 100], [200, 256], 256
        q, q_ends = _jagged(torch, targets, 2)
        k, k_ends = _jagged(torch, lengths, 2)
        v = _jagged(torch, lengths, 2)[0]
        alpha, scale = 128**-0.5, 1 / longest
        result = module.hstu_cross_mha(
            max_seq_len=longest,
            max_q_len=128,
            alpha=alpha,
            q=q,
            k=k,
            v=v,
            seq_offsets=k_ends,
            seq_offsets_q=q_ends,
            enable_tma=False,
            num_softmax_heads=0,
            attn_scale=torch.tensor(scale).to("cuda"),
            variant=variant,
            causal=False,
            num_targets=torch.tensor(targets).to("cuda"),
        )

        def silu(x: Array) -> Array:
            return alpha * x * torch.sigmoid(alpha * x)

        expected = torch.cat(list(_attended((q, q_ends), (k, k_ends), v, silu)))
        yield result / scale, expected

    return run


def imported(module: ModuleType, torch: Any) -> Pairs:
    """Only the import: the host code needs more than one GPU."""
    return iter(())


_CROSS = {name: cross_attention(name) for name in ("tlx_single_q", "triton_dyn_spec")}
_H = "cuda:90"
CASES = (
    Case("vector-add2", "vector-add2.py", add2, _H),
    Case(
        "hopper_gemm_pipelined",
        "hopper_gemm_pipelined.py",
        gemm(256, 256, 192, config=_tiles(128, 256, 64, NUM_STAGES=3)),
        _H,
    ),
    Case("hopper_gemm_ws", "hopper_gemm_ws.py", gemm(256, 512, 192, config=dict(_HOPPER_WS)), _H),
    Case(
        "hopper_gemm_ws/warp_barrier",
        "hopper_gemm_ws.py",
        gemm(256, 512, 192, config={**_HOPPER_WS, "USE_WARP_BARRIER": True}),
        _H,
    ),
    Case("hopper_gemm_ws/skinny", "hopper_gemm_ws.py", gemm(16, 256, 256), _H),
    Case(
        "hopper-persistent-gemm-ws-cooperative",
        "hopper-persistent-gemm-ws-cooperative.py",
        gemm(512, 512, 256, "matmul_tlx_ws_persistent"),
        _H,
    ),
    Case(
        "hopper-persistent-gemm-ws-pingpong",
        "hopper-persistent-gemm-ws-pingpong.py",
        gemm(512, 512, 256, "matmul_tlx_ws_persistent"),
        _H,
    ),
    *(
        Case(name, f"{name}.py", attention(**_FA_HOPPER), _H)
        for name in ("hopper_fa_ws", "hopper_fa_ws_pipelined", "hopper_fa_ws_pipelined_pingpong")
    ),
    Case(
        "hopper_fa_ws_pipelined_pingpong_persistent",
        "hopper_fa_ws_pipelined_pingpong_persistent.py",
        attention(
            BLOCK_M=128,
            BLOCK_N=128,
            NUM_BUFFERS_Q=1,
            NUM_BUFFERS_KV=2,
            NUM_MMA_WARPS=8,
            NUM_MMA_GROUPS=2,
        ),
        _H,
    ),
    Case(
        "testing/multi_cta_layer_norm",
        "testing/multi_cta_layer_norm.py",
        layer_norm("multi_cta_layernorm", 4, 2048),
        _H,
    ),
    Case(
        "testing/multi_cta_layer_norm/2d",
        "testing/multi_cta_layer_norm.py",
        layer_norm("multi_cta_layernorm_2d", 8, 2048),
        _H,
    ),
    Case(
        "blackwell_gemm_pipelined",
        "blackwell_gemm_pipelined.py",
        gemm(256, 256, 256, config=_tiles(128, 128, 64, NUM_STAGES=4)),
        undefined=True,
    ),
    Case(
        "blackwell_gemm_ws",
        "blackwell_gemm_ws.py",
        gemm(256, 512, 256, config=dict(_WS)),
        undefined=True,
    ),
    Case(
        "blackwell_gemm_ws/warp_barrier",
        "blackwell_gemm_ws.py",
        gemm(256, 512, 256, config={**_WS, "USE_WARP_BARRIER": True}),
        undefined=True,
    ),
    Case(
        "blackwell_gemm_ws/2cta_2group",
        "blackwell_gemm_ws.py",
        gemm(512, 256, 256, config=dict(_WS_PAIR)),
        undefined=True,
    ),
    Case(
        "blackwell_gemm_clc",
        "blackwell_gemm_clc.py",
        gemm(256, 512, 256, config=_tiles(128, 256, 64, **_RINGS, EPILOGUE_SUBTILE=True)),
        undefined=True,
    ),
    Case("blackwell_gemm_2cta", "blackwell_gemm_2cta.py", gemm(512, 256, 256), undefined=True),
    Case("blackwell_gemm_ws_mxfp8", "blackwell_gemm_ws_mxfp8.py", mxfp8(), undefined=True),
    Case("blackwell_scaled_mm_ws", "blackwell_scaled_mm_ws.py", scaled, undefined=True),
    Case("blackwell-grouped-gemm_test", "blackwell-grouped-gemm_test.py", grouped, undefined=True),
    *(
        Case(
            f"blackwell-triton-addmm-2cta_test/{name}",
            "blackwell-triton-addmm-2cta_test.py",
            gemm(256, 256, 256, name),
            undefined=True,
        )
        for name in (
            "matmul_2cta",
            "matmul_2cta_ws",
            "matmul_2cta_host_tma",
            "matmul_2cta_host_tma_ws",
        )
    ),
    Case("blackwell_fa_ws", "blackwell_fa_ws.py", attention(**_FA), undefined=True),
    Case(
        "blackwell_fa_ws_persistent",
        "blackwell_fa_ws_persistent.py",
        attention(causal=(False, True), NUM_BUFFERS_Q=1, **_FA),
        undefined=True,
    ),
    Case(
        "blackwell_fa_ws_pipelined",
        "blackwell_fa_ws_pipelined.py",
        attention(causal=(False, True), **_FA),
        undefined=True,
    ),
    Case(
        "blackwell_fa_ws_pipelined_persistent",
        "blackwell_fa_ws_pipelined_persistent.py",
        attention(causal=(False, True), USE_WARP_BARRIER=False, **_FA_PERSISTENT),
        undefined=True,
    ),
    Case(
        "blackwell_fa_ws_pipelined_persistent/2cta",
        "blackwell_fa_ws_pipelined_persistent.py",
        attention(
            causal=(False,),
            **{**_FA_PERSISTENT, "NUM_BUFFERS_KV": 5, "NUM_CTAS": 2, "USE_WARP_BARRIER": False},
        ),
        undefined=True,
    ),
    Case(
        "blackwell_fa_ws_pipelined_persistent/backward",
        "blackwell_fa_ws_pipelined_persistent.py",
        attention_backward(True),
        undefined=True,
    ),
    Case(
        "blackwell_fa_ws_pipelined_persistent_mxfp8",
        "blackwell_fa_ws_pipelined_persistent_mxfp8.py",
        imported,
        undefined=True,
    ),
    Case(
        "blackwell_fa_clc",
        "blackwell_fa_clc.py",
        attention(causal=(False, True), **_FA_PERSISTENT),
        undefined=True,
    ),
    Case(
        "blackwell-multi-cta-layernorm_test",
        "blackwell-multi-cta-layernorm_test.py",
        layer_norm("multi_cta_layernorm", 4, 32768),
    ),
    Case(
        "blackwell_multi_cta_layernorm_ws_test",
        "blackwell_multi_cta_layernorm_ws_test.py",
        layer_norm("multi_cta_layernorm_ws", 4, 16384),
    ),
    *(
        Case(
            f"blackwell-cross-attention/{variant}",
            "blackwell-cross-attention.py",
            run,
            undefined=True,
        )
        for variant, run in _CROSS.items()
    ),
    Case("blackwell-gdpa", "blackwell-gdpa.py", gdpa),
    Case("blackwell_dist_all_gather", "blackwell_dist_all_gather.py", imported),
)

"""Block-scaled GEMMs: bits of `tt.dot_scaled`, every format and packing, at every level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples.tl_examples import load
from tests.passes.gpu.tile_levels import by_threads, by_tiles, cubins
from tests.sampling import examples
from tests.targets.numpy.kernels import on_blocks, same_bits, tensor_type
from tests.targets.numpy.tile.tile_support import block
from tilewright.ir.diagnostics.engine import CompileError

FORMATS: dict[str, Any] = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m1": np.int8,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
}
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
IR_TYPES = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "e2m1": "i8", "bf16": "bf16", "fp16": "f16"}


@dataclass(frozen=True)
class Case:
    """One GEMM."""

    a: str = "e4m3"
    b: str = "e4m3"
    m: int = 64
    n: int = 32
    k: int = 64
    a_scaled: bool = True
    b_scaled: bool = True
    pack_m: bool = False
    pack_n: bool = False
    turned: str = ""
    clear: str = ""
    fast: bool = False
    space: str = "shared"
    bytes: bool = False
    """Whether 8-bit floats are bytes in the IR."""
    threads: int = 128

    def stored(self, which: str) -> tuple[int, int]:
        """The shape of an operand as it is in memory."""
        shape = [self.m, self.k] if which == "a" else [self.k, self.n]
        if getattr(self, which) == "e2m1":
            along_k = not (self.pack_m if which == "a" else self.pack_n)
            shape[(1 if along_k else 0) if which == "a" else (0 if along_k else 1)] //= 2
        return (shape[1], shape[0]) if which.upper() in self.turned else (shape[0], shape[1])

    def type(self, which: str) -> str:
        name = getattr(self, which)
        return "i8" if self.bytes and name in ("e4m3", "e5m2") else IR_TYPES[name]

    def text(self) -> str:
        def memory(shape: tuple[int, int], type: str, space: str) -> str:
            return f"memref<{shape[0]}x{shape[1]}x{type}, #{space}>"

        shapes = {
            "a": (self.stored("a"), self.type("a")),
            "b": (self.stored("b"), self.type("b")),
            "sa": ((self.m, self.k // 32), "i8"),
            "sb": ((self.n, self.k // 32), "i8"),
        }
        used = ["a", "b", *(["sa"] if self.a_scaled else []), *(["sb"] if self.b_scaled else [])]
        c = (self.m, self.n)
        arguments = [f"%{each.upper()}: {memory(*shapes[each], 'global')}" for each in used]
        arguments += [f"%C: {memory(c, 'f32', 'global')}", "%if: i1"]
        lines: list[str] = []
        for each in used:
            to = memory(*shapes[each], self.space)
            lines += [
                f'%{each} = tile.alloc "{each}" : {to}',
                f"tile.copy %{each.upper()} -> %{each} : {memory(*shapes[each], 'global')} -> {to}",
            ]
        out = memory(c, "f32", "fragment")
        a_scale = f" scale %sa : {memory(*shapes['sa'], self.space)}" if self.a_scaled else ""
        b_scale = f" scale %sb : {memory(*shapes['sb'], self.space)}" if self.b_scaled else ""
        marks = [f"transpose_{each.lower()}" for each in self.turned]
        marks += [name for name in ("pack_m", "pack_n") if getattr(self, name)]
        marks += ["clear"] if self.clear == "clear" else []
        marks += ["fast_math"] if self.fast else []
        given = f" {{{', '.join(marks)}}}" if marks else ""
        condition = " clear_if %if" if self.clear == "clear_if" else ""
        lines += [
            f'%c = tile.alloc "c" : {out}',
            f"tile.copy %C -> %c : {memory(c, 'f32', 'global')} -> {out}",
            f"tile.scaled_gemm %a as {self.a}{a_scale}, %b as {self.b}{b_scale} -> %c{condition}{given} : "
            f"{memory(*shapes['a'], self.space)}, {memory(*shapes['b'], self.space)} -> {out}",
            f"tile.copy %c -> %C : {out} -> {memory(c, 'f32', 'global')}",
        ]
        return block(", ".join(arguments), "\n".join(lines), threads=self.threads)


def packed(values: Any, axis: int) -> Any:
    """Codes of four bits, two in a byte along an axis."""
    codes = np.moveaxis(values, axis, -1).astype(np.uint8)
    both = codes[..., ::2] | codes[..., 1::2] << 4
    return np.moveaxis(both, -1, axis).copy().view(np.int8)


@dataclass(frozen=True)
class Data:
    """The arrays of a case, and the numbers that they are."""

    a: Any
    b: Any
    sa: Any
    sb: Any
    c: Any
    left: Any
    right: Any


def drawn(case: Case, seed: int = 0, spread: int = 2) -> Data:
    """Numbers whose GEMM is exact: few bits, and scales that are not far apart."""
    draw = np.random.default_rng(seed)
    operands: list[Any] = []
    decoded: list[Any] = []
    for which, shape in (("a", (case.m, case.k)), ("b", (case.k, case.n))):
        name = getattr(case, which)
        if name == "e2m1":
            codes = draw.integers(0, 16, shape)
            along_k = not (case.pack_m if which == "a" else case.pack_n)
            axis = (1 if along_k else 0) if which == "a" else (0 if along_k else 1)
            operands.append(packed(codes, axis))
            decoded.append(E2M1[codes])
        else:
            values = draw.integers(-6, 7, shape).astype(FORMATS[name])
            operands.append(values.view(np.int8) if case.type(which) == "i8" else values)
            decoded.append(values.astype(np.float64))
    sa = (127 + draw.integers(-spread, spread + 1, (case.m, case.k // 32))).astype(np.uint8)
    sb = (127 + draw.integers(-spread, spread + 1, (case.n, case.k // 32))).astype(np.uint8)
    left, right = decoded
    if case.a_scaled:
        left = left * np.repeat(2.0 ** (sa.astype(int) - 127), 32, axis=1)
    if case.b_scaled:
        right = right * np.repeat(2.0 ** (sb.astype(int) - 127), 32, axis=1).T
    c = draw.integers(-9, 10, (case.m, case.n)).astype(np.float32)
    a, b = operands
    return Data(a, b, sa.view(np.int8), sb.view(np.int8), c, left, right)


def arguments(case: Case, data: Data, clear: bool = False) -> list[Any]:
    a = data.a.T.copy() if "A" in case.turned else data.a
    b = data.b.T.copy() if "B" in case.turned else data.b
    scales = [*([data.sa] if case.a_scaled else []), *([data.sb] if case.b_scaled else [])]
    return [a, b, *scales, data.c, clear]


def result_of(found: list[Any]) -> Any:
    return found[-2]


@st.composite
def cases(draw: Any) -> Case:
    a, b = draw(st.sampled_from([*FORMATS])), draw(st.sampled_from([*FORMATS]))
    return Case(
        a,
        b,
        m=draw(st.sampled_from([12, 16, 32, 64])),
        n=draw(st.sampled_from([6, 8, 32])),
        k=draw(st.sampled_from([32, 64, 96])),
        a_scaled=draw(st.booleans()),
        b_scaled=draw(st.booleans()),
        pack_m=a == "e2m1" and draw(st.booleans()),
        pack_n=b == "e2m1" and draw(st.booleans()),
        turned=draw(st.sampled_from(["", "A", "B", "AB"])),
        clear=draw(st.sampled_from(["", "clear", "clear_if"])),
        fast=draw(st.booleans()),
        bytes=draw(st.booleans()),
        threads=draw(st.sampled_from([32, 128])),
    )


@settings(max_examples=examples(24), deadline=None)
@given(cases(), st.integers(0, 2**20), st.sampled_from(["cuda:sm_90a", "cuda:sm_80", "hip:gfx942"]))
def test_any_format_and_packing(case, seed, target):
    data = drawn(case, seed)
    before = 0 if case.clear == "clear" else data.c
    expected = data.left @ data.right + before
    given = arguments(case, data)
    np.testing.assert_array_equal(result_of(by_tiles(case.text(), *given)), expected)
    found = by_threads(case.text(), *given, target=target)
    np.testing.assert_array_equal(result_of(found), expected)
    if case.clear == "clear_if":
        found = by_threads(case.text(), *arguments(case, data, clear=True), target=target)
        np.testing.assert_array_equal(result_of(found), data.left @ data.right)


@pytest.mark.parametrize("a", FORMATS)
@pytest.mark.parametrize("b", FORMATS)
@pytest.mark.parametrize(("a_scaled", "b_scaled"), [(True, True), (True, False), (False, True)])
def test_tiles_have_the_bits_of_the_pointer_level(a, b, a_scaled, b_scaled):
    """Numbers of any size: how sums round can be seen."""
    case = Case(a, b, 16, 32, 64, a_scaled, b_scaled)
    data = drawn(case, 3, spread=9)
    draw = np.random.default_rng(4)
    for name in ("a", "b"):
        if getattr(case, name) != "e2m1":
            values = draw.standard_normal(getattr(data, name).shape)
            data = replace(data, **{name: values.astype(FORMATS[getattr(case, name)])})
    names = dict(zip("abcde", (data.a, data.b, data.c, data.sa, data.sb), strict=True))
    if not a_scaled:
        names["d"] = data.sb
    arrays = [names[each][None] for each in ("abcd" if not (a_scaled and b_scaled) else "abcde")]
    scale = f"{tensor_type(data.sa[None])}"
    first = " scale %d" if a_scaled else ""
    second = f" scale %{'e' if a_scaled else 'd'}" if b_scaled else ""
    a_type = tensor_type(arrays[0]) + (f", {scale}" if a_scaled else "")
    b_type = tensor_type(arrays[1]) + (f", {tensor_type(data.sb[None])}" if b_scaled else "")
    ops = (
        f"%r = tt.dot_scaled %a{first}, %b{second}, %c lhs = {a} rhs = {b} "
        f"{{fastMath = false}} : {a_type} * {b_type} -> {tensor_type(arrays[2])}"
    )
    expected = on_blocks(ops, arrays[2], *arrays)[0]
    found = result_of(by_tiles(case.text(), *arguments(case, data)))
    assert same_bits(found, expected)


def test_scales_of_all_exponents():
    """Also the subnormal one; NaN makes NaN of its block, but with fast_math."""
    case = Case("e4m3", "bf16", 256, 8, 32, b_scaled=False)
    data = drawn(case, 5)
    codes = np.arange(256, dtype=np.uint8).reshape(256, 1)
    data = replace(
        data,
        sa=codes.view(np.int8),
        a=np.ones((256, 32), FORMATS["e4m3"]),
        b=np.full((32, 8), 1 / 32).astype(FORMATS["bf16"]),
        c=np.zeros((256, 8), np.float32),
    )
    found = result_of(by_threads(case.text(), *arguments(case, data)))
    tiles = result_of(by_tiles(case.text(), *arguments(case, data)))
    with np.errstate(over="ignore"):
        expected = np.ldexp(np.float32(1), np.arange(255) - 127)
    for each in (found, tiles):
        np.testing.assert_array_equal(each[:255, 0], expected)
        assert np.isnan(each[255]).all()
    fast = result_of(by_threads(replace(case, fast=True).text(), *arguments(case, data)))
    np.testing.assert_array_equal(fast[:255, 0], expected)
    assert fast[255, 0] == np.inf


def test_all_codes_of_four_bits():
    case = Case("e2m1", "bf16", 16, 8, 32, a_scaled=False, b_scaled=False)
    codes = np.zeros((16, 32), int)
    codes[:, 0], codes[:, 1] = np.arange(16), np.arange(16)[::-1]
    data = replace(
        drawn(case),
        a=packed(codes, 1),
        b=np.eye(32, 8).astype(FORMATS["bf16"]),
        c=np.zeros((16, 8), np.float32),
    )
    for target in ("cuda:sm_90a", "hip:gfx942"):
        found = result_of(by_threads(case.text(), *arguments(case, data), target=target))
        np.testing.assert_array_equal(found[:, 0], E2M1)
        np.testing.assert_array_equal(found[:, 1], E2M1[::-1])


@pytest.mark.parametrize("a", ["e4m3", "e2m1", "fp16"])
def test_operands_in_registers(a):
    case = Case(a, "e5m2", 64, 32, 64, space="fragment", turned="B")
    data = drawn(case, 6)
    found = result_of(by_threads(case.text(), *arguments(case, data)))
    np.testing.assert_array_equal(found, data.left @ data.right + data.c)


def test_scales_that_are_floats():
    text = block(
        "%A: memref<16x16xi8, #global>, %S: memref<16x2xf8E4M3FN, #global>, "
        "%B: memref<32x8xbf16, #global>, %C: memref<16x8xf32, #global>",
        """
    %a = tile.alloc "a" : memref<16x16xi8, #shared>
    %s = tile.alloc "s" : memref<16x2xf8E4M3FN, #shared>
    %b = tile.alloc "b" : memref<32x8xbf16, #shared>
    %c = tile.alloc "c" : memref<16x8xf32, #fragment>
    tile.copy %A -> %a : memref<16x16xi8, #global> -> memref<16x16xi8, #shared>
    tile.copy %S -> %s : memref<16x2xf8E4M3FN, #global> -> memref<16x2xf8E4M3FN, #shared>
    tile.copy %B -> %b : memref<32x8xbf16, #global> -> memref<32x8xbf16, #shared>
    tile.scaled_gemm %a as e2m1 scale %s : memref<16x2xf8E4M3FN, #shared>, %b as bf16 -> %c {clear} : memref<16x16xi8, #shared>, memref<32x8xbf16, #shared> -> memref<16x8xf32, #fragment>
    tile.copy %c -> %C : memref<16x8xf32, #fragment> -> memref<16x8xf32, #global>
""",
        threads=32,
    )
    draw = np.random.default_rng(7)
    codes, scales = draw.integers(0, 16, (16, 32)), draw.integers(1, 13, (16, 2)) / 4
    b = draw.integers(-6, 7, (32, 8)).astype(FORMATS["bf16"])
    given = packed(codes, 1), scales.astype(FORMATS["e4m3"]), b, np.zeros((16, 8), np.float32)
    expected = (E2M1[codes] * np.repeat(scales, 16, axis=1)) @ b.astype(np.float64)
    for level in (by_tiles, by_threads):
        np.testing.assert_array_equal(level(text, *given)[3], expected)


@pytest.mark.parametrize(
    ("a", "b", "scaled", "type"),
    [
        ("e4m3", "e4m3", True, "__nv_bfloat16"),
        ("e2m1", "bf16", True, "__nv_bfloat16"),
        ("e5m2", "fp16", False, "__half"),
        ("e5m2", "fp16", True, "float"),
    ],
)
def test_device_code_compiles(a, b, scaled, type):
    """In the type that holds every element times its scale."""
    for source in cubins(Case(a, b, a_scaled=scaled, b_scaled=False, turned="B").text()):
        assert f"{type}* const a_wide" in source
        assert "mma" in source


def test_operands_are_widened_in_whole_accesses_without_branches():
    """Of 16 bytes, not of an element; and a scale is one choice between constants."""
    block_scaled_matmul = load("block_scaled_matmul")
    size, groups = 128, 128 // block_scaled_matmul.VECTOR
    values = np.zeros((size, size), FORMATS["e4m3"])
    scales, out = np.zeros((size, groups), np.uint8), np.zeros((size, size), np.float32)
    made = block_scaled_matmul.scaled_kernel.warmup(
        *(values, scales, values, scales, out, size, size, size),
        grid=(1, 1),
        target="cuda:sm_90a",
        **dict.fromkeys(("BLOCK_M", "BLOCK_N", "BLOCK_K"), 64),
        VEC=block_scaled_matmul.VECTOR,
    )
    source = made.raised.get_kernel_source()
    for name in ("a_wide", "b_wide"):
        assert f"*reinterpret_cast<uint4*>({name} + " in source
        assert f"      {name}[" not in source
    assert "__uint_as_float(0x7fc00000u)" not in source


def test_an_uninitialised_scale_is_reported():
    text = Case().text()
    start = text.index("tile.copy %SA")
    text = text[:start] + text[text.index("\n", start) :]
    data = drawn(Case())
    with pytest.raises(CompileError, match="sa is read before it is written"):
        by_threads(text, *arguments(Case(), data))


PIPELINED = block(
    "%A: memref<64x128xi8, #global>, %SA: memref<64x8xi8, #global>, "
    "%B: memref<64x256xf8E4M3FN, #global>, %SB: memref<64x8xi8, #global>, "
    "%C: memref<64x64xf32, #global>",
    """
    %zero = arith.constant 0.0 : f32
    %c64 = arith.constant 64 : index
    %c32 = arith.constant 32 : index
    %c2 = arith.constant 2 : index
    %a = tile.alloc "a" : memref<64x32xi8, #shared>
    %b = tile.alloc "b" : memref<64x64xf8E4M3FN, #shared>
    %sa = tile.alloc "sa" : memref<64x2xi8, #shared>
    %sb = tile.alloc "sb" : memref<64x2xi8, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.fill %c, %zero : memref<64x64xf32, #fragment>, f32
    tile.pipeline %k = 0 to 4 num_stages(2) {
      %x = arith.muli %k, %c32 : index
      %y = arith.muli %k, %c64 : index
      %z = arith.muli %k, %c2 : index
      %ra = tile.region %A[0, %x] [64, 32] : memref<64x128xi8, #global> to !tile.region<64x32xi8, #global>
      %rb = tile.region %B[0, %y] [64, 64] : memref<64x256xf8E4M3FN, #global> to !tile.region<64x64xf8E4M3FN, #global>
      %rsa = tile.region %SA[0, %z] [64, 2] : memref<64x8xi8, #global> to !tile.region<64x2xi8, #global>
      %rsb = tile.region %SB[0, %z] [64, 2] : memref<64x8xi8, #global> to !tile.region<64x2xi8, #global>
      tile.copy %ra -> %a : !tile.region<64x32xi8, #global> -> memref<64x32xi8, #shared>
      tile.copy %rb -> %b : !tile.region<64x64xf8E4M3FN, #global> -> memref<64x64xf8E4M3FN, #shared>
      tile.copy %rsa -> %sa : !tile.region<64x2xi8, #global> -> memref<64x2xi8, #shared>
      tile.copy %rsb -> %sb : !tile.region<64x2xi8, #global> -> memref<64x2xi8, #shared>
      tile.scaled_gemm %a as e2m1 scale %sa : memref<64x2xi8, #shared>, %b as e4m3 scale %sb : memref<64x2xi8, #shared> -> %c {transpose_b} : memref<64x32xi8, #shared>, memref<64x64xf8E4M3FN, #shared> -> memref<64x64xf32, #fragment>
    }
    tile.copy %c -> %C : memref<64x64xf32, #fragment> -> memref<64x64xf32, #global>
""",
)


@pytest.mark.parametrize("target", ["cuda:sm_90a", "cuda:sm_80", "hip:gfx942"])
def test_a_pipelined_loop(target):
    case = Case("e2m1", "e4m3", 64, 64, 256, turned="B")
    data = drawn(case, 8)
    a, b, sa, sb, *_ = arguments(case, data)
    given = a, sa, b, sb, np.zeros((64, 64), np.float32)
    expected = data.left @ data.right
    np.testing.assert_array_equal(by_tiles(PIPELINED, *given)[4], expected)
    for seed in range(2):
        found = by_threads(PIPELINED, *given, target=target, seed=seed)[4]
        np.testing.assert_array_equal(found, expected)

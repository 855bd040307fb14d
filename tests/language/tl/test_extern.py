"""Functions of device libraries: every name and every list of types calls the same symbol."""

import inspect

import pytest

pytest.importorskip(
    "triton", reason="the tables are compared with Triton's, which is not installed"
)

import triton.language.extra.cuda.libdevice as triton_cuda
import triton.language.extra.hip.libdevice as triton_hip
import triton.language.extra.libdevice as triton_libdevice

from tests.language.tl.against_triton import check, check_expression, kernel_of, our_module
from tilewright.ir.diagnostics import CompileError
from tilewright.language.tl.dtypes import dtype
from tilewright.language.tl.extra import libdevice
from tilewright.language.tl.extra.cuda.libdevice import ROWS as CUDA
from tilewright.language.tl.extra.hip.libdevice import ROWS as HIP
from tilewright.language.tl.extra.tables import Row, read

TARGETS = {"cuda": ("cuda", 90), "hip": ("hip", "gfx942")}
ROWS = {"cuda": CUDA, "hip": HIP}
PER_KERNEL = 24
SPELLED = {"int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64"}


def _calls(rows: dict[str, Row]) -> list[tuple[str, tuple[dtype, ...]]]:
    return [(name, types) for name, row in rows.items() for types in row.symbols]


def _chunks() -> list[tuple[str, int]]:
    return [
        (backend, start)
        for backend, rows in ROWS.items()
        for start in range(0, len(_calls(rows)), PER_KERNEL)
    ]


@pytest.mark.parametrize(("backend", "start"), _chunks())
def test_every_function_of_every_type(backend: str, start: int) -> None:
    calls = _calls(ROWS[backend])[start : start + PER_KERNEL]
    lines: list[str] = []
    signature: dict[str, str] = {}
    for name, types in calls:
        for type in types:
            spelled = SPELLED.get(type.name, type.name)
            signature[f"p_{type.name}"] = f"*{spelled}"
        arguments = ", ".join(f"tl.load(p_{type.name} + o)" for type in types)
        lines.append(f'tl.device_print("{name}", libdevice.{name}({arguments}))')
    body = "\n    ".join(lines)
    source = f"@jit\ndef kernel({', '.join(signature)}):\n    o = tl.arange(0, 8)\n    {body}\n"
    text = check(source, signature, target=TARGETS[backend])
    assert text.count("tt.extern_elementwise") == len(calls)


def test_all_names_are_there() -> None:
    for module, rows in ((triton_cuda, CUDA), (triton_hip, HIP)):
        names = {name for name, _ in inspect.getmembers(module, inspect.isfunction)}
        assert names == set(rows)
    names = {name for name, _ in inspect.getmembers(triton_libdevice, inspect.isfunction)}
    assert names <= set(libdevice.__all__)


@pytest.mark.parametrize(
    "call",
    [
        "libdevice.pow(x, 2.0)",
        "libdevice.pow(s, x)",
        "libdevice.atan2(x[:, None], x[None, :])",
        "libdevice.fma(s, 2.0, x)",
        "libdevice.tanh(s)",
        "tl.extra.libdevice.tanh(x)",
        "tl.extra.cuda.libdevice.tanh(x)",
        "libdevice.isnan(x)",
        "libdevice.ldexp(x, 3)",
    ],
)
def test_arguments_broadcast(call: str) -> None:
    check_expression(call, {"x": "fp32[32]", "s": "fp32"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "libdevice.tanh(h)",
            "Expect one of (fp32) or (fp64), got (fp16): convert the arguments with .to()",
        ),
        ("libdevice.tanh(h, h)", "tanh takes 1 arguments, got 2"),
        ("libdevice.byte_perm(h, h)", "byte_perm takes 3 arguments, got 2"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call: str, message: str) -> None:
    source, signature = kernel_of(call, {"h": "fp16[8]"})
    with pytest.raises(CompileError) as caught:
        our_module(source, signature, {})
    assert message in str(caught.value)


def test_a_function_that_the_target_lacks() -> None:
    source, signature = kernel_of("libdevice.byte_perm(x, x, x)", {"x": "i32[8]"})
    with pytest.raises(CompileError, match=r"libdevice\.byte_perm is not supported on hip:gfx942"):
        our_module(source, signature, {}, ("hip", "gfx942"))


def test_rows_of_a_table() -> None:
    rows = read("\nabs f32>f32:fabsf\n    f64>f64:fabs\nisinf as i1 f32>i32:isinff\n")
    assert [len(row.symbols) for row in rows.values()] == [2, 1]
    assert str(rows["isinf"].converted) == "int1"
    assert rows["abs"].converted is None

"""Kernels against the vendor's API: real headers (if there are any), arities, argument roles."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.oracles.tenstorrent_headers.call_roles import ROLES, check_calls
from tests.oracles.tenstorrent_headers.signatures import extract, functions, stored
from tests.oracles.tenstorrent_headers.vendor_headers import (
    VARIABLE,
    HeaderCheck,
    check_kernel,
    checkout,
)
from tests.targets.tenstorrent.own_programs import KERNELS, PROGRAMS
from tests.targets.tenstorrent.vendor_programs import FURTHER, REQUIRED
from tilewright.dialects.tensix.chips import BLACKHOLE, WORMHOLE, ChipSpec
from tilewright.targets.tenstorrent.allocation import allocate
from tilewright.targets.tenstorrent.program import KernelSource, Processor, Program, one_core

NOT_INLINE = {"TensorAccessor", "get_compile_time_arg_val", "noc_async_read_barrier"}


@pytest.fixture(scope="module")
def tree() -> Path:
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: kernels were NOT checked against the real headers")
    return checkout()


def rejected(program: Program, chip: ChipSpec, root: Path) -> list[HeaderCheck]:
    allocation = allocate(program)
    checks = (
        check_kernel(kernel, chip, allocation.compile_time_words(kernel.compile_args), root)
        for kernel in program.kernels
    )
    return [check for check in checks if not check.accepted]


@pytest.mark.parametrize("chip", [WORMHOLE, BLACKHOLE], ids=lambda chip: chip.name)
@pytest.mark.parametrize("name", PROGRAMS)
def test_our_kernels_parse_against_the_real_headers(name: str, chip: ChipSpec, tree: Path):
    assert rejected(PROGRAMS[name]().program, chip, tree) == []


@pytest.mark.parametrize("name", {**REQUIRED, **FURTHER})
def test_vendor_kernels_parse_with_the_stubs(name: str, tree: Path):
    assert rejected({**REQUIRED, **FURTHER}[name](tree).program, WORMHOLE, tree) == []


MATMUL = '#include "api/compute/matmul.h"\n'
COMPUTE_ERRORS = {
    "sixth argument of matmul_tiles": MATMUL
    + "void kernel_main() { matmul_tiles(0, 1, 0, 0, 0, 1); }",
    "mm_init": MATMUL + "void kernel_main() { mm_init(0, 1, 16); }",
    "exp_tile with a circular buffer": '#include "api/compute/eltwise_unary/exp.h"\n'
    "void kernel_main() { exp_tile(0, 0, 0, 0); }",
    "header not included": MATMUL + "void kernel_main() { exp_tile(0); }",
    "older entry": MATMUL + "namespace NAMESPACE { void MAIN { } }",
}
MOVEMENT_ERRORS = {
    "argument of 8 bytes": "void kernel_main() { get_arg_val<uint64_t>(0); }",
    "raw address for an accessor": "void kernel_main() { noc_async_read_page(0, 4096u, 0); }",
    "accessor past the arguments": "void kernel_main() { constexpr auto a = TensorAccessorArgs<7>(); "
    "const auto t = TensorAccessor(a, 0); noc_async_read_page(0, t, 0); }",
}


@pytest.mark.parametrize("fault", [*COMPUTE_ERRORS, *MOVEMENT_ERRORS])
def test_the_headers_reject_typical_errors(fault: str, tree: Path):
    text = {**COMPUTE_ERRORS, **MOVEMENT_ERRORS}[fault]
    processor = Processor.COMPUTE if fault in COMPUTE_ERRORS else Processor.RISCV_0
    kernel = KernelSource("wrong", processor, one_core(), text=text)
    assert not check_kernel(kernel, WORMHOLE, (2, 2048), tree).accepted


def test_the_stored_table_is_that_of_the_checkout(tree: Path):
    assert extract(tree) == stored()[1]


def test_every_call_that_we_emit_is_in_the_stored_table():
    source, table = stored()
    assert source == "e4f9f0bb8d 2026-08-22"
    assert {*ROLES} - {*table} == NOT_INLINE
    for name, roles in ROLES.items():
        if name not in NOT_INLINE:
            required = sum(not role.endswith("?") for role in roles)
            assert table[name].min_arguments <= required, name
            assert len(roles) <= table[name].max_arguments, name


def test_signatures_of_a_header():
    text = """
        // ALWI void comment(int a);
        template <bool fast = true, int n = 1>
        ALWI void one(uint32_t a, uint32_t b = f(1, 2), uint32_t call_line = __builtin_LINE()) {}
        [[deprecated("use one")]] inline void two(void) {}
    """
    found = dict(functions(text))
    assert (found["one"].min_arguments, found["one"].max_arguments) == (1, 2)
    assert found["one"].max_template_arguments == 2
    assert found["two"].deprecated
    assert "comment" not in found


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(KERNELS.glob("*.cpp")) if "faults" not in path.stem],
    ids=lambda path: path.stem,
)
def test_roles_of_our_kernels(path: Path):
    assert check_calls(path.read_text()) == ()


WRONG_ROLES = {
    "noc_async_write_page(i, tensor, pointer, 32);": "argument 4 is the size, but '32' is literal",
    "noc_async_write_page(pointer, tensor, i);": "argument 1 is the page, but 'pointer' is l1",
    "cb_push_back(1, out);": "argument 2 is the pages, but 'out' is cb",
    "cb_push_back(out, pointer);": "argument 2 is the pages, but 'pointer' is l1",
    "noc_async_write(pointer, pointer, get_tile_size(out));": "argument 2 is the noc",
    "noc_async_read(get_noc_addr(i, i, pointer), pointer, i);": "argument 3 is the size",
    "cb_pop_front(out);": "cb_pop_front: 1 arguments, expected 2",
    "noc_async_flush();": "'noc_async_flush' is not in the table of device calls",
}


@pytest.mark.parametrize("call", WRONG_ROLES)
def test_a_wrong_role_is_found(call: str):
    source = (KERNELS / "writer.cpp").read_text()
    changed = source.replace("noc_async_write_page(i, tensor, pointer);", call)
    errors = check_calls(changed)
    assert [error.line for error in errors] == [13]
    assert WRONG_ROLES[call] in errors[0].message

"""Every example becomes machine code at the sizes of a GPU, for Ampere, Hopper and Blackwell.

The default run compiles every other one for one of them, the next for another, so that each kind of
kernel is compiled for each GPU; `make fuzz` all for all.

Among them is a kernel of the shape of each of the entries 1 to 19 of the compatibility suite. A
kernel that is too large for a GPU ends in an error that says by how much, and what would fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from tests.examples.gpu_sizes import EXAMPLES, KERNELS, OTHER, GpuKernel
from tests.examples.tile_examples import NAMES
from tests.sampling import only
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_module

CASES = [(label, arch) for label, kernel in KERNELS.items() for arch in kernel.archs]
FITTING = [(label, arch) for label, arch in CASES if arch in KERNELS[label].fits]
TOO_LARGE = [case for case in CASES if case not in FITTING]
MOST_REGISTERS = 255


def _kinds(cases: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(KERNELS[label].kind, arch) for label, arch in cases}


def _is_first(case: tuple[str, str], cases: list[tuple[str, str]]) -> bool:
    """Whether no case before it is a kernel of the same kind for the same GPU."""
    return _kinds([case]).isdisjoint(_kinds(cases[: cases.index(case)]))


IN_TURN = [
    (label, kernel.fits[number % len(kernel.fits)] if len(kernel.archs) > 1 else kernel.archs[0])
    for number, (label, kernel) in enumerate(KERNELS.items())
]
"""Each kernel for one GPU."""
DEFAULT = {
    case for number, case in enumerate(IN_TURN) if number % 4 == 1 or _is_first(case, IN_TURN)
}


def compiled(kernel: GpuKernel, arch: str) -> Program:
    return compile_module(kernel.trace().module, arch)


def test_nothing_is_left_out() -> None:
    assert {each.entry for each in EXAMPLES} >= set(range(1, 20))
    assert {each.example for each in EXAMPLES} == set(NAMES)
    assert all(each.fits for each in KERNELS.values())
    assert set(FITTING) > DEFAULT
    assert {label for label, _ in IN_TURN} == KERNELS.keys()
    assert len(DEFAULT) >= len(KERNELS) // 4
    assert _kinds(DEFAULT) == _kinds(FITTING)


@pytest.mark.parametrize(("label", "arch"), only(DEFAULT, FITTING))
def test_machine_code(label: str, arch: str) -> None:
    kernel = KERNELS[label]
    program = compiled(kernel, arch)
    assert program.kernels
    for each in program.kernels.values():
        assert each.cubin[:4] == b"\x7fELF"
        assert 0 < each.metadata.registers <= MOST_REGISTERS
        assert each.metadata.spill_bytes == 0
    if kernel.kind != OTHER:  # products run on the tensor cores
        assert "mma" in program.source


@pytest.mark.parametrize(("label", "arch"), TOO_LARGE)
def test_what_is_too_large_is_told(label: str, arch: str) -> None:
    with pytest.raises(CompileError) as error:
        compiled(KERNELS[label], arch)
    text = str(error.value)
    found = re.search(r"error\[TW5001\]: shared memory exceeded: (\d+) B needed, (\d+) B", text)
    assert found is not None, text
    assert int(found[1]) > int(found[2])
    assert "help: " in text

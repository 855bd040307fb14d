"""Our IR of every `tl` example through the installed Triton, beside Triton's own.

Both start from the same Python text and the same facts about the arguments. Triton's clean-up of
TTIR and everything after it runs on both; without line information the machine code of most kernels
must then agree to the byte. The others are listed with the reason.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.sampling import every
from tilewright.runtime.pointer.jit import JITFunction

from .tl_examples import NAMES, load, load_for_triton

pytest.importorskip("triton", reason="compares with Triton, which is not installed")

from triton import knobs
from triton._C.libtriton import ir
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

from tests.dumps.case import TARGETS
from tests.dumps.consumer import build
from tests.dumps.generate import _no_device

DIFFERENT: dict[str, str] = {}
"""Kernels whose machine code differs, and why."""


@functools.cache
def _compiled(name):
    """The kernels an example launches, each with its first specialisation."""
    module = load(name)
    module.example(np.random.default_rng(0))
    kernels = [kernel for kernel in vars(module).values() if isinstance(kernel, JITFunction)]
    return [compiled for kernel in kernels for compiled in kernel.cache.values()]


def _triton_text(kernel, compiled, target):
    """What Triton's front end makes of the same function for the same arguments."""
    names = compiled.kernel.arg_names
    source = ASTSource(
        kernel,
        compiled.signature,
        {(names.index(name),): value for name, value in compiled.constants.items()},
        {(names.index(name),): [["tt.divisibility", 16]] for name in compiled.divisible},
    )
    gpu = TARGETS[target]
    backend = make_backend(gpu)
    options = backend.parse_options(source.parse_options())
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    with _no_device(gpu):
        module = source.make_ir(gpu, options, codegen, backend.get_module_map(), context)
        return str(module)


@pytest.fixture(autouse=True)
def _no_line_information():
    with knobs.compilation.scope():
        knobs.compilation.disable_line_info = True
        yield


@pytest.mark.parametrize("name", every(2, NAMES))
def test_triton_makes_the_same_machine_code_of_our_ir(name, tmp_path):
    theirs = load_for_triton(name, tmp_path)
    for compiled in _compiled(name):
        ours = build(compiled.text("ttir", locations=True), "source.ttir", "sm90")
        assert ours[:4] == b"\x7fELF"
        text = _triton_text(getattr(theirs, compiled.name), compiled, "sm90")
        same = ours == build(text, "source.ttir", "sm90")
        assert same == (compiled.name not in DIFFERENT), DIFFERENT.get(compiled.name)

"""Random `tl` kernels: our front end says what Triton's says, and both compile.

The IR of both is compared after Triton's clean-up, as `tests/dumps` does for kernels written by
hand. Kernels with block pointers, which Triton 3.9 has dropped, are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="compares with Triton, which is not installed")

from triton._C.libtriton import ir
from triton.backends.compiler import Language
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

import tilewright as tw
from tests.dumps.case import TARGETS
from tests.dumps.generate import _no_device
from tests.dumps.test_frontend import _pointer_ranges, _settled
from tests.fuzz.tl.device import kernel_of
from tests.fuzz.tl.generator import FAMILIES, Case, generate
from tests.fuzz.tl.running import described, kernel

WHOLE, BATCH = 1_000, 50
GPU = TARGETS["sm90"]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def compiled(case: Case) -> Any:
    given = described(case, case.arrays(), tw.TensorDescriptor)
    return kernel(case).warmup(
        *given, *case.scalars.values(), **case.constants, grid=case.grid,
        num_warps=case.num_warps, num_stages=case.num_stages, target="cuda:90",
    )  # fmt: skip


def cleaned(ours: Any, theirs: Any, text: str | None, folder: Path) -> str:
    """TTIR after Triton's clean-up, of `text` or of what Triton's front end makes."""
    backend, context = make_backend(GPU), ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    names = ours.kernel.arg_names
    constants = {(names.index(name),): value for name, value in ours.constants.items()}
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in ours.divisible}
    source = ASTSource(theirs, ours.signature, constants, aligned)
    chosen = {name: ours.metadata[name] for name in ("num_warps", "num_stages")}
    options = backend.parse_options({**chosen, **source.parse_options()})
    with _no_device(GPU):
        if text is None:
            codegen = backend.get_codegen_implementation(options)
            module = source.make_ir(GPU, options, codegen, backend.get_module_map(), context)
        else:
            path = folder / "kernel.mlir"
            path.write_text(text)
            module = ir.parse_mlir_module(str(path), context)
            module.context = context
        stages: dict[str, Any] = {}
        backend.add_stages(stages, options, Language.TRITON)
        module = stages["ttir"](module, {"target": GPU, **options.__dict__})
    plain = re.sub(r"kernel_triton_\d+\.|generated\.", "", module.str_nodebug())
    return _settled(_pointer_ranges(plain))


def differs(seed: int, family: str, folder: Path) -> bool:
    case = generate(seed, family)
    if case.uses_block_pointers:
        return False
    ours = compiled(case)
    theirs = kernel_of(case, "triton", folder)
    text = ours.text("ttir", locations=False)
    return cleaned(ours, theirs, text, folder) != cleaned(ours, theirs, None, folder)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3, WHOLE, 180))
def test_sample(seed: int, family: str, tmp_path: Path) -> None:
    assert not differs(seed, family, tmp_path), generate(seed, family).source


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("first", range(0, WHOLE, BATCH))
def test_all(first: int, family: str, tmp_path: Path) -> None:
    seeds = range(first, first + BATCH)
    assert [seed for seed in seeds if differs(seed, family, tmp_path)] == []

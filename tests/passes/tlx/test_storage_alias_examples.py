"""The examples: what each is said to take, and that generated files are up to date."""

import importlib.util
import sys
from pathlib import Path

import pytest

from tests.passes.pass_support import parse
from tests.passes.tlx.storage_alias_support import lower, views
from tilewright.dialects.ttg.checks import memdesc
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.tlx.storage_alias.evidence import verify_module
from tilewright.passes.tlx.storage_alias.record import read_record

FOLDER = Path(__file__).parents[3] / "examples" / "storage_alias"
FILES = sorted(path.stem for path in FOLDER.glob("*.mlir"))

FA = {
    # slices, P: first column of alpha. P takes 2 x width columns of 32 bits, alpha comes behind.
    (2, "bf16"): 64,
    (4, "bf16"): 64,
    (2, "fp8"): 32,
    (4, "fp8"): 32,
}


def module_of(name: str):
    return parse((FOLDER / f"{name}.mlir").read_text())


def records(module):
    found = [read_record(view) for view in views(module)]
    return {record.buffer: record for record in found if record is not None}


def allocations(module) -> list[tuple[int, ...]]:
    """The shapes behind regions."""
    backings = {view.src: None for view in views(module)}
    return [memdesc(value.type).shape for value in backings]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("placement", ["reindex", "explicit"])
def test_example_is_lowered_and_proved(name: str, placement: str):
    module = module_of(name)
    engine = lower(module, placement=placement)
    assert engine.diagnostics == []
    assert verify(module, engine)
    result = verify_module(module)
    assert (result.faults, result.unknown) == ((), ())
    assert result.views == len(records(module)) > 0
    assert not any(op.name.startswith("tlx.storage") for op in walk(module))


@pytest.mark.parametrize(("slices", "dtype"), FA)
@pytest.mark.parametrize("dim", [64, 128])
def test_flash_attention_forward(slices: int, dtype: str, dim: int):
    module = module_of(f"fa_forward_{slices}slices_{dtype}_d{dim}")
    lower(module)
    found = records(module)
    alpha = FA[slices, dtype]
    assert found["p"].count == 2 * slices
    assert [found[name].offset for name in ("qk", "p", "alpha", "l", "m")] == [
        0,
        0,
        alpha,
        alpha + 1,
        alpha + 2,
    ]
    per_slice = alpha // slices
    first = [slice * per_slice for slice in range(slices)]
    assert [found["p"].address(index) for index in range(2 * slices)] == [
        *first,
        *(start + 128 for start in first),
    ]
    keys = 2 * 128 * dim * (2 if dtype == "bf16" else 1)
    assert allocations(module) == [(max(keys, 128 * dim * 4),), (128, 256)]


def test_gemm_ring():
    module = module_of("hopper_gemm_ring")
    lower(module)
    assert allocations(module) == [(131072,)]
    found = records(module)
    assert [found["a"].address(stage) for stage in range(4)] == [0, 32768, 65536, 98304]
    assert [found["b"].address(stage) for stage in range(4)] == [16384, 49152, 81920, 114688]
    assert found["c"].address(0) == 0


def test_backward_pair():
    module = module_of("fa_backward_2cta")
    lower(module)
    assert allocations(module) == [(128, 128)]
    assert {name: record.offset for name, record in records(module).items()} == {
        "qk": 0,
        "p": 0,
        "dq": 64,
        "dq_view": 64,
    }


def test_mxfp8_map():
    module = module_of("mxfp8_map")
    lower(module)
    assert allocations(module) == [(128, 512)]
    found = {name: record.offset for name, record in records(module).items()}
    assert [found[f"late{n}"] for n in range(6)] == [32, 36, 40, 44, 48, 52]
    assert [found[f"ds_scale{n}"] for n in range(4)] == [288, 292, 296, 300]
    assert [found[f"early{n}"] for n in range(6)] == [384, 388, 392, 396, 400, 404]
    assert (found["dv"], found["dp"], found["dq"], found["ds"], found["dk"]) == (
        128,
        256,
        256,
        256,
        384,
    )


def test_generated_files_are_up_to_date():
    path = FOLDER / "fa_forward.py"
    spec = importlib.util.spec_from_file_location("fa_forward", path)
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = generator
    try:
        spec.loader.exec_module(generator)
    finally:
        del sys.modules[spec.name]
    names = {variant.name for variant in generator.VARIANTS}
    assert names == {name for name in FILES if name.startswith("fa_forward")}
    for variant in generator.VARIANTS:
        assert (FOLDER / f"{variant.name}.mlir").read_text() == generator.Kernel(variant).text()

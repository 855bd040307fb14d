"""Random `T` kernels of the wide family give what plain NumPy says, as tiles and thread by thread.

GEMMs of all types, TMA at aligned and odd starts, persistent loops, scans, atomics, gathers, roles
by hand, clusters, several launches in a function. A kernel that a path refuses with an error counts
as answered; more than nine of ten have to run.
"""

from __future__ import annotations

import pytest

from tests.fuzz.test_gpu_kernels import FAULT_OF_OURS, PATHS
from tests.fuzz.tile.generator import Case, generate
from tests.fuzz.tile.running import check, differences, expected, traced
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.verify import verify
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

WHOLE, BATCH = 3_000, 50
TILES = tuple(range(0, WHOLE, 375))
THREADS = (*range(7, WHOLE, 400), 1632)


def thread_problems(case: Case, path: int) -> list[str] | None:
    """What is wrong with a kernel that one of the paths compiles; None if it is refused."""
    if case.only_hopper and PATHS[path].target != PATHS[0].target:
        path = 0
    module, engine = traced(case).module.clone(), DiagnosticEngine()
    PATHS[path].run(module, engine)
    if not engine.error_count:
        verify(module, engine)
    errors = [each for each in engine.diagnostics if each.severity is Severity.ERROR]
    if errors:
        own = [each.message for each in errors if (each.code or "").startswith(FAULT_OF_OURS)]
        return own or None
    arrays = case.arrays()
    arguments = [Buffer(name, array) for name, array in arrays.items()]
    compile_simt(module).launch(arguments, SimtOptions(seed=case.seed % 7))
    return differences(arrays, expected(case), bitwise=False)


def tile_problems(case: Case) -> list[str]:
    return [] if case.only_threads else check(case)


@pytest.mark.parametrize("seed", TILES)
def test_sample_of_tiles(seed: int) -> None:
    case = generate(seed, "wide")
    assert tile_problems(case) == [], case.source


@pytest.mark.parametrize("seed", THREADS)
def test_sample_of_threads(seed: int) -> None:
    case = generate(seed, "wide")
    assert not thread_problems(case, seed % len(PATHS)), case.source


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, BATCH))
def test_all(first: int) -> None:
    found: dict[int, object] = {}
    refused = 0
    for seed in range(first, first + BATCH):
        case = generate(seed, "wide")
        try:
            wrong: list[str] | None = tile_problems(case)
            for path in range(len(PATHS)):
                more = thread_problems(case, path)
                refused += more is None
                wrong = [*(wrong or []), *(more or [])]
        except Exception as error:  # a seed that fails must not hide the others of its batch
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            found[seed] = wrong
    assert found == {}
    assert refused * 10 < BATCH * len(PATHS)


def test_a_kernel_comes_from_its_seed_alone() -> None:
    assert generate(5, "wide") == generate(5, "wide")
    sources = {generate(seed, "wide").source for seed in range(40)}
    assert len(sources) == 40
    assert generate(5, "wide").source != generate(5).source


FEATURES = (
    "T.gemm(", "transpose_A=True", "transpose_B=True", "'float8_e4m3fn'", "'bfloat16'", "'int8'",
    "T.Pipelined(", "T.Persistent(", "while ", "T.alloc_var(", "T.atomic_add(", "T.atomic_max(",
    "T.atomic_addx", "return_prev=True", "use_tma=True", "T.cumsum(", "T.cummax(", "T.reduce_",
    "T.ws(", "T.tma_copy(", "T.ClusterKernel(", "cluster_mask=", "T.annotate_layout(", "@T.macro",
    "T.dynamic(", "T.const(", "T.if_then_else(", "T.use_swizzle(", "clear_accum=",
)  # fmt: skip


def test_the_family_has_what_it_is_for() -> None:
    sources = [generate(seed, "wide").source for seed in range(400)]
    missing = [each for each in FEATURES if not any(each in source for source in sources)]
    assert missing == []
    assert sum(source.count("Kernel(") > 1 for source in sources) > 100

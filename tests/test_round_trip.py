"""Text that Triton printed comes back byte for byte, and Triton builds the same binary from ours.

Two levels. The committed corpus needs nothing but this repository. The dumps are made here with
the installed Triton, for three NVIDIA targets and one AMD target; Triton then compiles both its
own text and ours, and the binaries, line information included, must be equal.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.verify import verify

CORPUS = sorted((Path(__file__).parent / "corpus").rglob("*.tt*ir"))


def through(text: str, name: str, *, locations: bool = True) -> str:
    """`text` parsed, verified and printed."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, name, engine)
    engine.raise_if_errors()
    verify(source.module, engine)
    engine.raise_if_errors()
    return print_module(source.module, locations=locations, resources=source.resources)


PRINTED = [file for file in CORPUS if not file.read_text().startswith("//")]
WRITTEN = [file for file in CORPUS if file.read_text().startswith("//")]


@pytest.mark.parametrize("file", PRINTED, ids=lambda file: file.name)
def test_corpus(file):
    text = file.read_text()
    assert through(text, file.name) == text


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.name)
def test_corpus_written_by_hand(file):
    """Without locations in the text: what is printed is the text less its comments."""
    code = "".join(line for line in file.open() if not line.startswith("//")).lstrip("\n")
    assert through(file.read_text(), file.name, locations=False) == code


def test_corpus_is_there():
    assert len(CORPUS) >= 11
    assert Counter(file.suffix for file in CORPUS)[".ttir"] >= 11


# -- dumps made with the installed Triton ------------------------------------------------------

triton = pytest.importorskip("triton", reason="dumps are made with Triton, which is not installed")

from tests.dumps.case import COMMON  # noqa: E402
from tests.dumps.consumer import build  # noqa: E402
from tests.dumps.generate import cases, dump  # noqa: E402

CASES = cases()
BUILT_PER_TARGET = 2


def pairs() -> list[tuple[str, str]]:
    """Every case on every target that compiles it."""
    return [(case.name, target) for case in CASES for target in case.available_targets]


def one_target_each() -> list[tuple[str, str]]:
    """Every case once, the targets taking turns."""
    return [
        (case.name, case.available_targets[number % len(case.available_targets)])
        for number, case in enumerate(CASES)
    ]


OP = re.compile(r"\b(?:ttng|ttg|tt|amdg|rocdl|arith|math|scf|cf|llvm)\.[a-z_0-9.]+")
MORE_OPS = {
    "assumptions", "atomic_cas_block_i64", "atomic_plain_access", "atomic_wait",
    "call_multiple_returns", "call_noinline", "dependent_launch", "descriptor_copy_u8",
    "descriptor_reduce_i32", "descriptor_rows", "float_arithmetic_f32", "gathers",
    "gluon_amd_buffers", "gluon_amd_pipeline", "gluon_amd_slice", "gluon_amd_tensor_mover",
    "gluon_cache_policies", "gluon_cluster", "gluon_launch_control", "gluon_row_gather",
    "gluon_shared_gather", "gluon_shared_reinterpret", "gluon_tensor_memory_copy",
    "gluon_tensor_memory_extrema", "grid_shape", "histograms", "integer_arithmetic_checked",
    "join_and_split", "libdevice_functions", "math_functions", "pointer_arithmetic",
    "prints_and_asserts", "rmsnorm", "rounded_functions", "scaled_dot_e2m1",
    "scaled_dot_e5m2_e2m1_fast", "scaled_dot_fp16_e4m3", "scaled_dot_loop_e2m1",
    "scaled_dot_packed_rows", "scan_kinds", "standard_casts", "unrolled_loop", "vector_add_maxnreg",
    "while_condition_hint",
}  # fmt: skip
"""With each eighth case these have every op and attribute of all of them."""


def by_default() -> list[tuple[str, str]]:
    pairs = one_target_each()
    return [pair for pair in pairs if pair in pairs[::8] or pair[0] in MORE_OPS]


def is_built(case, target: str) -> bool:
    """Whether Triton can finish the case, and does so in the same way every time."""
    excluded = (*case.text_only, *case.unsteady)
    return target in case.available_targets and target not in excluded


def to_build() -> list[tuple[str, str]]:
    """The dumps whose binaries are compared in the default suite: the same number per target."""
    chosen: list[tuple[str, str]] = []
    for target in COMMON:
        able = [case.name for case in CASES if is_built(case, target)]
        step = max(len(able) // BUILT_PER_TARGET, 1)
        chosen += [(name, target) for name in able[::step][:BUILT_PER_TARGET]]
    return chosen


def case_named(name: str):
    return next(case for case in CASES if case.name == name)


def check_texts(name: str, target: str) -> None:
    for kind, text in dump(case_named(name), target).items():
        assert through(text, f"{name}.{target}.{kind}") == text, kind


def check_binary(name: str, target: str) -> None:
    case = case_named(name)
    texts = dump(case, target)
    # Every other case from TTGIR, the rest from the stage before it.
    kind = list(texts)[-1 if CASES.index(case) % 2 else -2]
    ours = through(texts[kind], f"{name}.{target}.{kind}")
    expected = build(texts[kind], kind, target, case.options)
    assert build(ours, kind, target, case.options) == expected
    assert len(expected) > 1000


@pytest.mark.parametrize(("name", "target"), by_default())
def test_dump(name, target):
    check_texts(name, target)


@pytest.mark.parametrize(("name", "target"), to_build())
def test_same_binary(name, target):
    check_binary(name, target)


def test_enough_dumps_for_enough_targets():
    assert len(to_build()) == 4 * BUILT_PER_TARGET
    assert {target for _, target in to_build()} == {"sm80", "sm90", "sm100", "gfx942"}


def test_binary_shows_a_changed_line_number():
    """The comparison above is about line information as well: move one line and it differs."""
    case = case_named("vector_add")
    text = dump(case, "sm90")["ttir"]
    assert 'elementwise.py":' in text
    moved = text.replace('elementwise.py":', 'elementwise.py":1')
    assert build(moved, "ttir", "sm90", case.options) != build(text, "ttir", "sm90", case.options)


def test_no_op_of_the_dumps_needs_the_generic_form():
    """Ops print in quoted form exactly where Triton itself does."""
    quoted = {"tt.reduce", "tt.scan", "tt.map_elementwise"}
    for name in ("reduce_kinds", "scan_kinds", "mapped_scalars"):
        text = through(dump(case_named(name), "sm90")["ttir"], name)
        found = {line.split('"')[1] for line in text.splitlines() if ' = "' in line}
        assert found <= quoted


@pytest.mark.slow
def test_the_default_run_has_every_op():
    def ops(pairs: list[tuple[str, str]]) -> set[str]:
        texts = (text for name, target in pairs for text in dump(case_named(name), target).values())
        return {op for text in texts for op in OP.findall(text)}

    assert {case.name for case in CASES} >= MORE_OPS
    assert ops(one_target_each()) - ops(by_default()) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target"), pairs())
def test_every_dump(name, target):
    check_texts(name, target)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "target"), [pair for pair in pairs() if is_built(case_named(pair[0]), pair[1])]
)
def test_every_binary(name, target):
    check_binary(name, target)

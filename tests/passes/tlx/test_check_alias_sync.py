"""`tlx-check-alias-sync`: silent on kernels that are right, and to the point on those that are not."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tlx_examples import FOLDER, NAMES
from tests.examples.tlx_mutants import Example, Mutant, run
from tests.passes.tlx.alias_sync_support import (
    check,
    kernel_text,
    module_of,
    mutants,
    mutated,
    told,
    traced,
    warnings,
)
from tests.sampling import every
from tests.targets.numpy.tasks import blackwell_kernels, hopper_kernels
from tilewright.analysis.alias_sync import machine
from tilewright.ir.diagnostics import Severity, resolve
from tilewright.passes.tlx.alias_sync import report
from tilewright.passes.tlx.alias_sync.rules import RULES
from tilewright.passes.tlx.check_alias_sync import CheckAliasSync

SAMPLE = (
    "blackwell_attention_ws",
    "blackwell_gemm_2cta",
    "hopper_gemm_pipelined",
    "hopper_gemm_ws",
)


PASSED_OVER = "tlx.barrier_wait(full_k[slot], phase)"
NEVER = {
    "hopper_attention_persistent": PASSED_OVER,
    "hopper_attention_pipelined": PASSED_OVER,
}
"""The first line of what one task never comes to, whatever the arguments are: the last consumer
passes over no block, as its last row sees them all."""
CHOSEN = {"hopper_attention_pipelined": ("context=512", "shift=0")}


@pytest.mark.parametrize("name", every(2, NAMES))
def test_examples_are_ordered(name: str) -> None:
    lines = (FOLDER / f"{name}.py").read_text().splitlines()
    unreached: list[str] = []
    for module in traced(name):
        before = str(module)
        *others, last = check(module, CheckAliasSync(report=True))
        assert "events of 9 runs" in last.message
        assert str(module) == before
        assert all(" not reached by task 1 with " in each.message for each in others)
        assert all(each.code == "TW4069" for each in others)
        places = [resolve(each.location).primary for each in others]
        unreached += [lines[place.line - 1].strip() for place in places if place is not None]
    assert unreached == ([NEVER[name]] if name in NEVER else [])


@pytest.mark.parametrize("name", CHOSEN)
def test_arguments_can_be_told(name: str) -> None:
    module = traced(name)[0]
    found = check(module, CheckAliasSync(arguments=CHOSEN[name], report=True))
    assert all(each.severity is Severity.REMARK for each in found)
    assert found[-1].message != check(module, CheckAliasSync(report=True))[-1].message
    (error,) = check(module, CheckAliasSync(arguments=("contxt=4",)))
    assert error.severity is Severity.ERROR
    assert error.message.startswith("arguments: expected NAME=INTEGER, got 'contxt=4'; names: ")
    assert "context" in error.message


def test_loops_over_tiles_and_blocks_do_not_multiply() -> None:
    """Neither the number of tiles nor of blocks can be solved for term by term."""
    module = traced("hopper_attention_persistent")[0]
    last = check(module, CheckAliasSync(report=True))[-1]
    events = int(last.message.partition(" accesses in ")[2].split()[0])
    assert 1_000 < events < 10_000


def test_a_run_that_is_cut_short_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (machine, report):
        monkeypatch.setattr(each, "STEP_LIMIT", 30)
    found = told(traced("hopper_gemm_ws")[0], CheckAliasSync(trip_counts=(9,), report=True))
    assert found[0] == (
        "TW4069 synchronisation not analysed: more than 30 steps with a trip count of 9"
    )
    assert found[1].endswith("; partly not analysed")


def test_what_trip_counts_do_not_change_is_followed_once() -> None:
    (told_once,) = told(module_of(kernel_text("ordered")), CheckAliasSync(report=True))
    assert " of 3 runs" in told_once, "one for each schedule"


def _mutant(name: str, kind: str, op: str, number: int = 0) -> Mutant:
    return next(
        each for each in mutants(name) if (each.kind, each.op, each.number) == (kind, op, number)
    )


@pytest.mark.parametrize(
    ("example", "kind", "op", "code", "text"),
    [
        (
            "hopper_gemm_ws",
            "without",
            "ttng.wait_barrier",
            "TW4062",
            "data race: read of 'a'[0] in task 0 may run before write of 'a'[0] in task 2 completes; "
            "no barrier orders them",
        ),
        (
            "hopper_gemm_ws",
            "other phase of",
            "ttng.wait_barrier",
            "TW4065",
            "data race: read of 'a'[0] in task 0 may run before write of 'a'[0] in task 2 completes; "
            "no barrier orders them",
        ),
        (
            "hopper_gemm_ws",
            "one fewer at",
            "ttng.init_barrier",
            "TW4064",
            "data race: write of 'a'[1] in task 2 may run before read of 'a'[1] in task 1 completes; "
            "no barrier orders them",
        ),
        (
            "hopper_gemm_ws",
            "one more at",
            "ttng.arrive_barrier",
            "TW4064",
            "wrong arrive count: 3 arrivals on empty[0] in phase 0, one of them here",
        ),
        (
            "hopper_gemm_ws",
            "without",
            "ttng.barrier_expect",
            "TW4066",
            "deadlock: task 0 waits for parity 0 of full[0] forever",
        ),
        (
            "hopper_gemm_ws",
            "neighbour of",
            "ttg.memdesc_index",
            "TW4067",
            "barrier used before its initialisation: task 2 uses empty[0]",
        ),
        (
            "hopper_gemm_pingpong",
            "without",
            "ttng.fence_async_shared",
            "TW4063",
            "data race: read of 'c'[0] in task 0 may run before write of 'c'[0] in task 0 completes; "
            "no proxy fence orders them",
        ),
        (
            "blackwell_attention_ws",
            "without",
            "ttng.arrive_barrier",
            "TW4068",
            "deadlock: task 2 waits for parity 0 of scaled[0] forever",
        ),
    ],
)
def test_what_is_said(example: str, kind: str, op: str, code: str, text: str) -> None:
    found = warnings(mutated(_mutant(example, kind, op)))
    assert (found[0].code, found[0].message) == (code, text)
    notes = [note.message for note in found[0].notes]
    assert any(note.startswith("missing: ") for note in notes)
    assert any(note.startswith("smallest fix: ") for note in notes)
    assert any(note.startswith("found with a trip count of ") for note in notes)


def test_a_race_between_aliases_names_both_lines_and_the_bytes() -> None:
    mutant = _mutant("blackwell_attention_ws", "without", "ttng.wait_barrier", 4)
    message = (
        "data race: write of 'qk'[0] in task 2 may run before read of 'alpha'[0] in task 0 completes; "
        "no barrier orders them"
    )
    (found,) = [each for each in warnings(mutated(mutant)) if each.message == message]
    lines = (FOLDER / "blackwell_attention_ws.py").read_text().splitlines()
    places = [resolve(each.location).primary for each in (found, found.notes[0])]
    shown = [lines[place.line - 1].strip() for place in places if place is not None]
    assert shown == ["tlx.async_dot(", "factor = tlx.local_load(alpha[0])"]
    notes = [note.message for note in found.notes]
    assert notes[0] == "the other access, iteration 0: read of 'alpha'[0] in task 0"
    assert notes[1].endswith("the accesses overlap in 512 bytes")
    assert notes[2] == "alpha[0] and qk[0] are different buffers that overlap"
    assert notes[3].startswith("missing: ")


def test_a_value_that_an_alias_overwrote() -> None:
    mutant = _mutant("blackwell_attention_ws", "shared", "tlx.reuse_group")
    found = {each.message: each.code for each in warnings(mutated(mutant))}
    text = (
        "overwritten: read of 'alpha'[0] in task 0 observes the data of write of 'p'[0] in task 1"
    )
    assert found[text] == "TW4061"


def test_a_result_of_a_matrix_unit_is_waited_for() -> None:
    mutant = _mutant("hopper_gemm_ws", "without", "ttng.warp_group_dot_wait", 1)
    (found,) = warnings(mutated(mutant))
    assert found.code == "TW4062"
    assert found.message == (
        "missing wait: the result of the wgmma with a[0] @ b[0] is used before it is available"
    )


def test_engines_are_done_before_the_end() -> None:
    mutant = _mutant("hopper_gemm_pingpong", "without", "ttng.async_tma_store_wait", 1)
    found = warnings(mutated(mutant))
    assert [each.message for each in found] == [
        "missing wait: the CTA may exit while the TMA store of c[0] still reads c[0]"
    ]


def test_a_copy_that_nobody_reads() -> None:
    mutant = _mutant("hopper_gemm_ws", "neighbour of", "ttg.memdesc_index", 7)
    (found,) = warnings(mutated(mutant))
    assert (found.code, found.message) == (
        "TW4071",
        "buffer never read: no task reads the data of the TMA load into a[0] (issued by "
        "task 2, iteration 0)",
    )


def test_trip_counts_are_an_option() -> None:
    text = kernel_text("late")
    assert told(module_of(text))
    once = CheckAliasSync(trip_counts=(1,))
    assert not check(module_of(text), once), "the second iteration is wrong"


def test_a_cluster_is_as_large_as_told() -> None:
    module = traced("blackwell_gemm_2cta")[0]
    four = CheckAliasSync(cluster_size=4, report=True)
    (remark,) = check(module, four)
    (smaller,) = check(module, CheckAliasSync(report=True))
    assert remark.message != smaller.message
    (error,) = check(module, CheckAliasSync(cluster_size=17))
    assert error.severity is Severity.ERROR
    assert error.message == "cluster-size must be 1 to 16, got 17"


def test_aliases_that_cannot_be_placed_are_not_analysed() -> None:
    text = kernel_text("ordered").replace("storage = smem :", "storage = smem, size = 8 :")
    (remark,) = check(module_of(text))
    assert remark.severity is Severity.REMARK
    assert remark.message.startswith("synchronisation not analysed: ")
    assert remark.code == "TW4069"


def test_a_module_without_buffers_is_left_alone() -> None:
    assert not check(module_of("module {\n  tt.func public @f() {\n    tt.return\n  }\n}\n"))


def test_an_op_that_is_not_known_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = {name: rule for name, rule in RULES.items() if name != "ttg.local_load"}
    monkeypatch.setattr(report, "RULES", fewer)
    assert told(module_of(kernel_text("ordered"))) == [
        "TW4069 synchronisation not analysed: 'ttg.local_load' is not modelled"
    ]


def test_a_loop_for_as_long_as_there_is_work_is_followed() -> None:
    numbers = np.zeros(7, np.int32)
    with tw.running(target="cuda:100"):
        compiled = blackwell_kernels.dynamic_tiles.warmup(numbers, numbers, grid=(7,))
    found = check(compiled.module, CheckAliasSync(trip_counts=(1, 4), report=True))
    assert [each.severity for each in found] == [Severity.REMARK]
    assert found[0].message.endswith("events of 6 runs")


def test_elements_that_data_picks_are_listed() -> None:
    x = np.zeros((32, 32), np.float32)
    compiled = hopper_kernels.by_index.warmup(x, x.astype(np.int32), x, 32, grid=(1,))
    text = "TW4069 synchronisation not analysed: the accessed elements of 'tile' are data-dependent"
    assert told(compiled.module) == [text, text]


def test_sampled_mistakes_are_noticed() -> None:
    chosen = [each for name in SAMPLE for each in mutants(name)[::11]]
    silent = [str(each) for each in chosen if not warnings(mutated(each))]
    assert len(chosen) > 12
    assert not silent


@pytest.mark.slow
def test_mistakes_are_noticed_as_by_a_run() -> None:
    """Of what a checked run reports among the silent mutants, hardly anything is new.

    Mutants of which neither says anything are mostly ops that others make superfluous.
    """
    noticed = 0
    silent: list[Mutant] = []
    missed: list[str] = []
    for name in NAMES:
        quiet = [each for each in mutants(name) if not warnings(mutated(each))]
        noticed += len(mutants(name)) - len(quiet)
        silent += quiet
        example = Example.of(name)
        outcomes = {each: run(each, example, schedules=4).outcome for each in quiet}
        missed += [str(each) for each, outcome in outcomes.items() if outcome == "reported"]
    print(
        f"{noticed} noticed, {len(silent)} silent, of which a run reports {len(missed)}: {missed}"
    )
    assert noticed + len(silent) >= 300
    assert noticed >= 0.98 * (noticed + len(missed)), missed
    assert len(silent) <= 0.1 * (noticed + len(silent))

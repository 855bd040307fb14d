"""Every TLX example becomes machine code, with the instructions and the memory it is written for."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tlx_examples import NAMES, load
from tilewright.memory.targets import Memory, target_named
from tilewright.runtime.compile_only import compiling_only
from tilewright.runtime.pointer.compiled import CompiledKernel
from tilewright.targets.triton import installation
from tilewright.targets.triton.artefact import Artefact

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")

HOPPER = [name for name in NAMES if not name.startswith("blackwell")]
BLACKWELL = [name for name in NAMES if name.startswith("blackwell")]


# Only its inline assembly can name the address of a buffer in another CTA.
REMOTE = pytest.mark.skipif(
    installation.release()[0].version < (3, 9), reason="pairs of CTAs need Triton 3.9"
)
MARKS = {
    "blackwell_gemm_2cta": REMOTE,
    # The default run has the attention with tasks, of which Triton takes less long.
    "hopper_attention_persistent": pytest.mark.slow,
    "hopper_attention_pipelined": pytest.mark.slow,
}
EACH = [pytest.param(name, marks=MARKS.get(name, ())) for name in NAMES]


def only(names: list[str]) -> list[object]:
    return [each for each in EACH if each.values[0] in names]


@functools.cache
def artefacts(name: str, **sizes: object) -> tuple[Artefact, ...]:
    """What the example launches, in the sizes it runs with in the interpreter unless told."""
    found: list[CompiledKernel] = []
    chip = 100 if name in BLACKWELL else 90
    with tw.running(target=f"triton:sm_{chip}"), compiling_only(found.append):
        load(name).example(np.random.default_rng(0), **sizes)
    unique = {each.artefact.key: each.artefact for each in found if each.artefact is not None}
    assert len(found) >= len(unique) > 0
    return tuple(unique.values())


@pytest.mark.parametrize("name", EACH)
def test_it_becomes_machine_code(name: str):
    check(name, artefacts(name))


TUNED = [name for name in NAMES if "config" in inspect.signature(load(name).example).parameters]


@pytest.mark.slow
@pytest.mark.parametrize("name", only(TUNED))
def test_it_becomes_machine_code_in_the_sizes_for_a_gpu(name: str):
    check(name, artefacts(name, config=None))


def check(name: str, made: tuple[Artefact, ...]) -> None:
    for artefact in made:
        chip = 100 if name in BLACKWELL else 90
        facts = artefact.metadata
        assert artefact.cubin.startswith(b"\x7fELF")
        assert f".target sm_{chip}a" in artefact.text("ptx")
        # Copies of sizes that are no multiple of a few elements go through registers, with a remark.
        narrow = any("goes through registers" in each.message for each in artefact.remarks)
        assert facts.spill_bytes == 0 or narrow
        assert 0 < facts.registers <= 255
        shared = target_named(f"sm_{chip}").capacity(Memory.SMEM)
        assert 0 < facts.shared <= shared
        # What was authored is what runs: nothing of TLX is left, and all of its copies are there.
        assert "tlx." not in artefact.text("ttgir")


@pytest.mark.parametrize("name", only(HOPPER))
def test_hopper_examples_use_the_tensor_cores_asynchronously(name: str):
    for artefact in artefacts(name):
        ptx = artefact.text("ptx")
        assert "wgmma.mma_async.sync.aligned" in ptx
        assert "mma.sync" not in ptx.replace("wgmma.mma_async.sync", "")


@pytest.mark.parametrize("name", only(BLACKWELL))
def test_blackwell_examples_use_tensor_memory(name: str):
    for artefact in artefacts(name):
        ptx = artefact.text("ptx")
        assert "tcgen05.mma" in ptx
        assert f", {artefact.metadata.tmem};" in next(
            line for line in ptx.splitlines() if "tcgen05.alloc" in line
        )


@pytest.mark.parametrize(
    "name", only([name for name in NAMES if "_ws" in name or "persistent" in name])
)
def test_tasks_have_their_own_warps(name: str):
    for artefact in artefacts(name):
        assert artefact.metadata.num_warps > 4
        assert f".reqntid {artefact.metadata.threads}" in artefact.text("ptx")
        assert "setmaxnreg" in artefact.text("ptx") or "registers" not in artefact.text("ttgir")

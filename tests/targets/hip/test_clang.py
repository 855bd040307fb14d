"""clang as the compiler of HIP sources: where it is found, what it makes, what it objects to."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.targets.hip.support import CHIPS, REVERSE, SCALE, needs_clang, spilling
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.targets.errors import HipCompilerError, HipCompilerMissing
from tilewright.targets.hip import clang
from tilewright.targets.hip.clang import assemble, assembly, clang_for, compile_source
from tilewright.targets.hip.metadata import occupancy
from tilewright.targets.hip.notes import architecture, kernel_notes

SCRIPT = Path(__file__).parents[3] / "scripts" / "install_clang.sh"


@needs_clang
@pytest.mark.parametrize("chip", CHIPS)
def test_a_kernel_becomes_a_code_object_for_each_chip(chip: str) -> None:
    done = compile_source(SCALE, chip)
    assert architecture(done.code_object) == chip
    assert f'"amdgcn-amd-amdhsa--{chip}"' in done.isa
    kernel = kernel_notes(done.code_object)["scale"]
    assert (kernel.wave, kernel.max_threads) == (chip_named(chip).wave, 256)
    assert [each[:2] for each in kernel.visible_arguments] == [(0, 8), (8, 8), (16, 4), (20, 4)]
    assert (kernel.scratch_bytes, kernel.vgpr_spills, kernel.lds_bytes) == (0, 0, 0)


@needs_clang
def test_a_code_object_does_not_depend_on_where_it_is_compiled() -> None:
    first, second = (compile_source(SCALE, "gfx942") for _ in range(2))
    assert first == second


@needs_clang
@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_what_the_note_says_is_what_the_assembly_says(chip: str) -> None:
    done = compile_source(REVERSE, chip)
    kernel = kernel_notes(done.code_object)["reverse"]
    stated = dict(re.findall(r"^\s+\.(\w+):\s+(\d+)$", done.isa, re.M))
    assert kernel.vgprs == int(stated["vgpr_count"])
    assert kernel.sgprs == int(stated["sgpr_count"])
    assert kernel.lds_bytes == int(stated["group_segment_fixed_size"]) == 4096
    assert kernel.kernarg_bytes == int(stated["kernarg_segment_size"])


@needs_clang
def test_spills_are_in_the_note() -> None:
    chip = "gfx1201"  # gfx90a has AGPRs to spill to: those are no memory
    kernel = kernel_notes(compile_source(spilling(64), chip).code_object)["spill"]
    assert kernel.vgpr_spills > 0
    assert (
        kernel.scratch_bytes > 0
    )  # not 4 a register: values of disjoint live ranges have one slot
    assert kernel_notes(compile_source(spilling(8), chip).code_object)["spill"].vgpr_spills == 0


@needs_clang
@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_occupancy_is_what_clang_computes_from_registers(chip: str) -> None:
    # 100 values of a lane take more than 100 registers, and fewer waves fit.
    for source in (SCALE, spilling(100).replace("__attribute__((amdgpu_num_vgpr(32)))", "")):
        done = compile_source(source, chip)
        (kernel,) = kernel_notes(done.code_object).values()
        stated = re.search(r"; Occupancy: (\d+)", done.isa)
        assert stated is not None
        assert occupancy(chip_named(chip), kernel.vgprs, 0, 64) == int(stated[1])


def test_occupancy_is_limited_by_lds() -> None:
    chip = chip_named("gfx942")
    assert occupancy(chip, 64, 0, 256) == 8
    # Two blocks of four waves on four SIMDs.
    assert occupancy(chip, 64, 32768, 256) == 2
    assert occupancy(chip, 64, 65536, 256) == 1
    assert occupancy(chip, 256, 16384, 256) == 2


@needs_clang
def test_loops_are_unrolled_only_where_the_source_says_so() -> None:
    plain = SCALE.replace(
        "y[i] = a * x[i];", "for (int k = 0; k < 6; ++k) y[k * n + i] = a * x[k * n + i];"
    )
    unrolled = plain.replace("for (int k", '_Pragma("unroll") for (int k')
    counts = [assembly(each, "gfx942").count("global_load_dword ") for each in (plain, unrolled)]
    assert counts == [1, 6]


@needs_clang
def test_an_error_in_the_source_has_its_line() -> None:
    with pytest.raises(
        HipCompilerError, match=r"clang \d+.*for gfx942\nbad.hip:\d+:\d+: error"
    ) as error:
        compile_source(SCALE.replace("a * x[i]", "b * x[i]"), "gfx942", name="bad.hip")
    assert "Stack dump" not in error.value.log
    assert error.value.source.count("b * x[i]") == 1


@needs_clang
def test_an_instruction_that_the_chip_lacks_is_an_error_of_the_compiler() -> None:
    # gfx90a's int8 shapes are not gfx942's: clang's front end takes them, its back end does not.
    kernel = """
typedef int v16 __attribute__((ext_vector_type(16)));
extern "C" __attribute__((global)) void k(v16* c, int a) {
  *c = __builtin_amdgcn_mfma_i32_32x32x8i8(a, a, *c, 0, 0, 0);
}
"""
    assert "v_mfma_i32_32x32x8i8" in assembly(kernel, "gfx90a")
    with pytest.raises(HipCompilerError):
        assembly(kernel, "gfx942")


@needs_clang
def test_assembly_that_is_none_is_an_error() -> None:
    with pytest.raises(HipCompilerError, match="failed to assemble"):
        assemble("  v_no_such_instruction v0\n", "gfx942")


# -- where clang is found --------------------------------------------------------------------------


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is the whole path of the system."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.delenv(clang.VARIABLE, raising=False)
    clang.installed.cache_clear()
    clang.clang_for.cache_clear()
    yield tmp_path
    clang.installed.cache_clear()
    clang.clang_for.cache_clear()


def _stand_in(path: Path, version: str, linker: str = "/bin/sh") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        f'case "$1" in --version) echo "Debian clang version {version} (3)";; '
        f"*) echo {linker};; esac\n"
    )
    path.chmod(0o755)


def test_without_clang_the_error_says_what_to_install(only: Path) -> None:
    with pytest.raises(
        HipCompilerMissing, match=r"no hiprtc .* apt install clang-19 lld-19"
    ) as error:
        clang_for("gfx942")
    assert clang.VARIABLE in str(error.value)


def test_clang_without_its_linker_does_not_count(only: Path) -> None:
    _stand_in(only / "clang-19", "19.1.7", linker="ld.lld")
    assert clang.installed() == ()


def test_an_old_clang_does_not_count(only: Path) -> None:
    _stand_in(only / "clang", "14.0.6")
    with pytest.raises(HipCompilerMissing):
        clang_for("gfx942")


def test_gfx950_needs_clang_20(only: Path) -> None:
    _stand_in(only / "clang-19", "19.1.7")
    assert clang_for("gfx942").version == "19.1.7"
    with pytest.raises(HipCompilerMissing, match=r"clang 19.1.7 does not support gfx950.*clang-20"):
        clang_for("gfx950")
    clang.installed.cache_clear()
    _stand_in(only / "clang-20", "20.1.2")
    assert clang_for("gfx950").version == "20.1.2"
    assert clang_for("gfx942").version == "19.1.7"


def test_rocms_clang_is_found(only: Path) -> None:
    _stand_in(only / "rocm" / "llvm" / "bin" / "clang", "20.0.0")
    assert clang_for("gfx942").path.endswith("rocm/llvm/bin/clang")


def test_a_clang_that_is_named_is_the_only_one(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in(only / "clang-19", "19.1.7")
    _stand_in(only / "own" / "clang", "21.0.0")
    monkeypatch.setenv(clang.VARIABLE, str(only / "own" / "clang"))
    assert [each.version for each in clang.installed()] == ["21.0.0"]
    monkeypatch.setenv(clang.VARIABLE, "/nowhere/clang")
    clang.installed.cache_clear()
    with pytest.raises(HipCompilerMissing, match=r"/nowhere/clang is not clang 19"):
        clang_for("gfx942")


def _installation(directory: Path, apt: str | None, *, user: int = 0) -> tuple[str, list[str]]:
    """What the script prints where `apt` is what installs packages, and what that was called with."""
    calls = directory / "calls"
    for name in ("timeout", "id"):
        (directory / name).unlink(missing_ok=True)
    (directory / "timeout").write_text('#!/bin/sh\nshift; exec "$@"\n')
    (directory / "id").write_text(f"#!/bin/sh\necho {user}\n")
    if apt is not None:
        (directory / "apt-get").write_text(f'#!/bin/sh\necho "$@" >> {calls}\n{apt}\n')
    for each in directory.iterdir():
        each.chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", str(SCRIPT)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": str(directory)},
    )
    return done.stdout + done.stderr, calls.read_text().splitlines() if calls.exists() else []


INSTALL = "install -qq -y --no-install-recommends clang-19 lld-19"


def test_the_script_installs_clang_and_its_linker(tmp_path: Path) -> None:
    output, calls = _installation(tmp_path, "exit 0")
    assert (output, calls) == ("installing clang-19 and lld-19\n", [INSTALL])


def test_the_script_updates_an_old_list_of_packages_once(tmp_path: Path) -> None:
    _, calls = _installation(tmp_path, 'case "$1" in update) exit 0;; *) exit 100;; esac')
    assert calls == [INSTALL, "update -qq", INSTALL]


@pytest.mark.parametrize(("apt", "user"), [(None, 0), ("exit 0", 1000)])
def test_the_script_says_where_it_cannot_install(
    tmp_path: Path, apt: str | None, user: int
) -> None:
    output, calls = _installation(tmp_path, apt, user=user)
    assert "tests of HIP code objects will be skipped" in output
    assert calls == []

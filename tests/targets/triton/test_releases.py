"""The table of Triton's releases: which row is taken, and that what it names exists."""

import pytest

from tilewright.ir.text import print_module
from tilewright.targets.triton import installation
from tilewright.targets.triton.releases import RELEASES, release_for

from .support import parse


@pytest.mark.parametrize("row", RELEASES, ids=lambda row: row.name)
def test_a_known_release_has_its_own_row(row):
    assert release_for(f"{row.name}.2") == (row, True)
    assert row.flavour.version == row.version


@pytest.mark.parametrize(
    ("version", "nearest"),
    [
        ("3.5.1", "3.6"),
        ("3.10.0", "3.9"),
        ("3.11.0+git1234", "3.9"),
        ("4.0", "3.9"),
        ("2.3", "3.6"),
    ],
)
def test_another_release_is_taken_for_the_nearest(version, nearest):
    row, is_exact = release_for(version)
    assert (row.name, is_exact) == (nearest, False)


@pytest.mark.parametrize("row", RELEASES, ids=lambda row: row.name)
def test_nothing_moves_what_an_author_placed(row):
    names = {call.name for call in row.finish_ttgir}
    assert names.isdisjoint(
        {
            "add_pipeline",
            "add_schedule_loops",
            "add_warp_specialize",
            "add_hopper_warpspec",
            "add_prefetch",
            "add_reorder_instructions",
            "add_interleave_tmem",
        }
    )


def test_the_installed_release_has_every_pass_of_its_row():
    triton = pytest.importorskip("triton", reason="looks into Triton, which is not installed")
    from triton._C import libtriton

    row, is_exact = installation.release()
    assert installation.installed() == triton.__version__
    assert is_exact
    for call in row.finish_ttgir:
        place = libtriton
        for part in call.module.split("."):
            place = getattr(place, part)
        assert callable(getattr(place, call.name)), call


def test_without_triton_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(installation.PathFinder, "find_spec", lambda *_: None)
    known = (installation.directory, installation.installed)
    for each in known:
        each.cache_clear()
    try:
        with pytest.raises(installation.TritonMissing, match=r"pip install 'tilewright\[triton\]'"):
            installation.installed()
    finally:
        for each in known:
            each.cache_clear()


def test_barriers_as_each_release_spells_them(monkeypatch):
    module = parse("tt.func @kernel() {\n ttg.barrier all\n ttg.barrier local\n tt.return\n}")

    def spelt(version):
        monkeypatch.setattr(installation, "installed", lambda: version)
        return installation.spelling_of(print_module, module)

    assert "gpu.barrier" in spelt("3.6.0") and "ttg.local_barrier" in spelt("3.6.0")
    assert "ttg.barrier" not in spelt("3.6.0")
    assert "ttg.barrier all" in spelt("3.9.0") and "ttg.barrier local" in spelt("3.9.0")

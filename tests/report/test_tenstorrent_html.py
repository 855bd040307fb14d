"""The page of a Tenstorrent program: cores, L1, timeline, traffic, with the numbers of a run."""

import xml.etree.ElementTree as ElementTree

import ml_dtypes
import numpy as np

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tilewright.report.tenstorrent_html import core_map_svg, program_html
from tilewright.targets.tenstorrent.allocation import allocate
from tilewright.targets.tenstorrent.artefact import artefact_of
from tilewright.targets.tenstorrent.execution import RunOptions
from tilewright.targets.tenstorrent.memory_map import l1_map
from tilewright.targets.tenstorrent.timeline import timeline_of


def _run():
    module, plan = compiled(gemm(96, 96, 64), cores="4x1")
    artefact = artefact_of(module)
    ones = {"A": np.ones((96, 64), ml_dtypes.bfloat16), "B": np.ones((64, 96), ml_dtypes.bfloat16)}
    run = artefact.run(ones, RunOptions(trace=True))
    assert (run.arrays["C"] == 64).all()
    program = artefact.program()
    timeline = timeline_of(run.result, program, (1, 0))
    return plan, l1_map(allocate(program)), run.result.traffic, timeline


def test_a_traced_core_shows_kernels_transfers_and_fill():
    *_, timeline = _run()
    lanes = {(lane.kind, lane.name): lane for lane in timeline.lanes}
    assert set(lanes) == {
        ("task", "reader"),
        ("task", "compute"),
        ("task", "writer"),
        ("engine", "NoC of reader"),
        ("engine", "NoC of writer"),
        ("buffer", "c_0"),
        ("buffer", "c_1"),
        ("buffer", "c_16"),
    }
    # Core (1,0) computes two blocks of two steps in K.
    assert len(lanes["engine", "NoC of reader"].spans) == 8
    assert len(lanes["engine", "NoC of writer"].spans) == 2
    assert len(lanes["buffer", "c_16"].spans) == 2
    waits = [span.label for span in lanes["task", "compute"].spans]
    assert any("waits for 1 pushed pages of c_0" in label for label in waits)


def test_the_map_of_l1_has_a_row_for_each_circular_buffer():
    _, memory, *_ = _run()
    (region,) = memory.regions
    assert [(row.name, len(row.cells)) for row in region.rows] == [
        ("c_0", 2),
        ("c_1", 2),
        ("c_16", 2),
    ]
    assert str(memory).startswith("@gemm: 12288 bytes of L1, sim has 1368064")


def test_the_core_map_names_the_blocks_of_every_core():
    plan, *_ = _run()
    root = ElementTree.fromstring(core_map_svg(plan))
    titles = [each.text for each in root.iter() if each.tag.endswith("title")]
    assert titles == [
        "core (0,0): 3 blocks from 0 on",
        "core (1,0): 2 blocks from 3 on",
        "core (2,0): 2 blocks from 5 on",
        "core (3,0): 2 blocks from 7 on",
    ]


def test_the_page_compares_predicted_and_counted_traffic():
    plan, memory, counted, timeline = _run()
    page = program_html(plan, memory, counted, timeline)
    row = '<tr><td>DRAM page reads</td><td class="count">36</td><td class="count">36</td></tr>'
    assert row in page
    assert "<p>bytes: 73728 read from DRAM, 18432 written, 0 between cores</p>" in page
    assert "Timeline: gemm, core (1,0)" in page
    assert "not run" in program_html(plan, memory)

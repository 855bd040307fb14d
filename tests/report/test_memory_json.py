"""The map for programs."""

import json

import pytest

from tests.report.samples import SAMPLES, gemm_ring
from tilewright.report import memory_json


@pytest.mark.parametrize("name", SAMPLES)
def test_round_trip(name):
    maps = SAMPLES[name]()
    assert memory_json.read(memory_json.render(maps)) == maps


def test_schema():
    data = json.loads(memory_json.render(gemm_ring()))
    assert list(data) == ["schema", "memories"]
    assert data["schema"] == "tilewright.memory/1"
    (memory,) = data["memories"]
    assert list(memory) == [
        "memory", "kernel", "unit", "target", "capacity", "used", "free", "regions",
    ]  # fmt: skip
    assert (memory["memory"], memory["unit"], memory["free"]) == ("smem", "bytes", 101312)
    ring = memory["regions"][0]
    assert list(ring) == [
        "name", "source", "extent", "used", "strides", "alignment", "residue", "dead", "padding",
        "buffers",
    ]  # fmt: skip
    b = ring["buffers"][1]
    assert list(b) == ["name", "source", "path", "unit", "phases", "cells"]
    assert b["path"] == "shared > shared*4 > distinct > B"
    assert b["cells"][1] == {"index": 1, "logical": 0, "start": 49152, "end": 65536}


def test_another_schema_is_refused():
    with pytest.raises(ValueError, match=r"expected the schema tilewright\.memory/1, got other/2"):
        memory_json.read('{"schema": "other/2", "memories": []}')

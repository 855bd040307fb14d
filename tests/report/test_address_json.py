"""The JSON report: every field of the schema, with the values that the corpus expects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.report.test_address_text import CORPUS, DESIGN, corpus, document
from tilewright.analysis.pid_address import AccessProperties
from tilewright.report import address_json
from tilewright.report.address_document import Document

KERNELS = sorted(path.name.removesuffix(".expected.json") for path in CORPUS.glob("*.json"))
ACCESS_KEYS = [
    "index",
    "op",
    "kind",
    "result",
    "call",
    "loc",
    "base",
    "elem_bytes",
    "shape",
    "offset",
    "pattern",
    "reason",
    "pid_axes",
    "guard_axes",
    "pid_strides",
    "lane_strides",
    "loop_strides",
    "block_size",
    "coalesced",
    "order",
    "align_bytes",
    "vector_bits",
    "masked",
    "mask",
    "guard",
    "virtual",
    "assumptions",
]


def parsed(*documents: Document) -> Any:
    return json.loads(address_json.render(documents))


def test_keys_and_their_order():
    data = parsed(corpus("vector_add", AccessProperties((4,)), ("bounds", "race")))
    assert list(data) == (
        [
            "schema",
            "kernel",
            "launch",
            "params",
            "grid",
            "accesses",
            "assumptions",
            "notes",
            "not_analysed",
            "findings",
        ]
    )
    assert data["schema"] == "tilewright.address/1"
    assert data["grid"] == [4, 1, 1]
    assert data["params"][3] == {"name": "n_elements", "type": "i32", "divisibility": 16}
    assert all(list(access) == ACCESS_KEYS for access in data["accesses"])
    assert data["assumptions"] == []
    assert list(data["findings"][0]) == (
        ["check", "verdict", "accesses", "witness", "method", "message", "condition", "hint"]
    )


def test_an_access_as_it_is():
    data = parsed(document(DESIGN))
    assert data["assumptions"][0] == {
        "kind": "no_overflow",
        "value": "%block_start",
        "type": "i32",
        "loc": "kernel.ttir:4:20",
    }
    (access,) = data["accesses"]
    assert access == {
        "index": 0,
        "op": "tt.load",
        "kind": "load",
        "result": "%a",
        "call": [],
        "loc": "kernel.ttir:10:10",
        "base": "%arg0",
        "elem_bytes": 4,
        "shape": [128],
        "offset": "4*lane0 + 512*pid0",
        "pattern": "PID_AFFINE",
        "reason": None,
        "pid_axes": [0],
        "guard_axes": [],
        "pid_strides": {"0": "512"},
        "lane_strides": ["4"],
        "loop_strides": [],
        "block_size": 128,
        "coalesced": True,
        "order": [0],
        "align_bytes": 4,
        "vector_bits": 32,
        "masked": False,
        "mask": None,
        "guard": None,
        "virtual": None,
        "assumptions": [0, 1],
    }


@pytest.mark.parametrize("name", KERNELS)
def test_the_corpus_field_by_field(name):
    expected = json.loads((CORPUS / f"{name}.expected.json").read_text())["accesses"]
    found = parsed(corpus(name))["accesses"]
    assert len(found) == len(expected)
    for access, wanted in zip(found, expected, strict=True):
        accepted = wanted.get("accept", {})
        for field, value in wanted.items():
            if field in access:
                assert access[field] == value or access[field] in accepted.get(field, ()), field


def test_a_witness_is_plain_numbers():
    facts = AccessProperties((5,), {"n_elements": 4992}, {"x_ptr": 19964})
    data = parsed(corpus("vector_add", facts, ("bounds",)))
    (refuted,) = [each for each in data["findings"] if each["verdict"] == "refuted"]
    assert refuted["accesses"] == [0]
    assert refuted["witness"]["address"] == 19964
    (point,) = refuted["witness"]["points"]
    assert point == {"access": 0, "program": [4, 0, 0], "counters": {}, "lanes": [895]}


def test_prefetch_hints():
    data = parsed(corpus("matmul_grouped", None, ("prefetch",)))
    hints = [finding["hint"] for finding in data["findings"] if finding["hint"]]
    assert [hint["loop"] for hint in hints] == ["%k", "%k"]
    assert hints[0]["stride"] == "128"


def test_several_kernels_are_a_list():
    one = document(DESIGN)
    data = parsed(one, Document(one.report, (), "again[1, 1, 1]()"))
    assert data["schema"] == "tilewright.address/1"
    assert [kernel["launch"] for kernel in data["kernels"]] == [None, "again[1, 1, 1]()"]

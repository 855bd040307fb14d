"""Pipelines as text: what is read, what is refused, what runs in which order."""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Literal

import pytest
from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import (
    Pass,
    PassSpec,
    Pipeline,
    PipelineError,
    build_pass,
    option_help,
    parse_options,
    parse_pipeline,
)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


RAN: list[str] = []


@dataclass(frozen=True)
class Paint(Pass):
    """Paint the module."""

    name: ClassVar[str] = "paint"
    num_warps: int = 4
    target: str = "cuda:90"
    placement: Literal["reindex", "explicit"] = "reindex"
    colour: Colour = Colour.RED
    report: bool = False
    sizes: tuple[int, ...] = ()
    limit: int | None = None

    def run(self, module, engine):
        RAN.append(str(self.num_warps))


@dataclass(frozen=True)
class Fail(Pass):
    name: ClassVar[str] = "fail"

    def run(self, module, engine):
        engine.error(module, "no")


REGISTRY = {"paint": lambda: Paint, "fail": lambda: Fail}


def spec(text):
    return parse_pipeline(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", [("a", {})]),
        ("a,b", [("a", {}), ("b", {})]),
        ("builtin.module(a,b)", [("a", {}), ("b", {})]),
        ("builtin.module(tt.func(a),b)", [("a", {}), ("b", {})]),
        ("any(a{x=1 y=2})", [("a", {"x": "1", "y": "2"})]),
        ("a{x=cuda:90 flag}", [("a", {"x": "cuda:90", "flag": "true"})]),
        ('a{x="two words"}', [("a", {"x": "two words"})]),
        (" a , b ", [("a", {}), ("b", {})]),
        ("", []),
    ],
)
def test_parse(text, expected):
    assert [(each.name, dict(each.options)) for each in spec(text)] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "builtin.module(a",
            r"expected '\)' or ',' in pass pipeline\n  builtin.module\(a\n {18}\^",
        ),
        ("a)", r"expected ',' or the end in pass pipeline\n  a\)\n   \^"),
        ("a{x=1", "missing '}'"),
        ("a;b", "expected ',' or the end"),
        ("a b", "expected ',' or the end"),
        ("a,,b", "expected the name of a pass"),
        ("builtin.module()", "expected the name of a pass"),
    ],
)
def test_malformed(text, message):
    with pytest.raises(PipelineError, match=message):
        spec(text)


def test_options_are_converted():
    text = "num-warps=8 target=x placement=explicit colour=blue report sizes=1,2 limit=3"
    built = build_pass(PassSpec("paint", parse_options(text)), REGISTRY)
    assert built == Paint(8, "x", "explicit", Colour.BLUE, True, (1, 2), 3)


def test_a_pass_prints_as_it_is_written():
    built = Paint(num_warps=8)
    again = build_pass(spec(str(built))[0], REGISTRY) if "None" not in str(built) else built
    assert str(again).startswith("paint{num-warps=8 target=cuda:90 placement=reindex colour=red")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pain", "'pain' is not a pass; did you mean 'paint'"),
        ("xyz", "'xyz' is not a pass; --list-passes lists"),
        ("paint{warps=1}", "pass 'paint' has no option 'warps'; it has: num-warps, target"),
        ("paint{num-warps=many}", "paint: num-warps: 'many' is not a valid int"),
        ("paint{placement=x}", "'x' is not one of reindex, explicit"),
        ("paint{colour=green}", "'green' is not one of red, blue"),
        ("paint{report=maybe}", "'maybe' is not one of true, 1, false, 0"),
    ],
)
def test_refused(text, message):
    with pytest.raises(PipelineError, match=message):
        build_pass(spec(text)[0], REGISTRY)


def test_help_names_types_and_defaults():
    assert list(option_help(Paint))[:3] == [
        "num-warps=INT (default 4)",
        "target=STRING (default cuda:90)",
        "placement=reindex|explicit (default reindex)",
    ]


def test_passes_run_in_order_and_stop_at_an_error():
    RAN.clear()
    engine = DiagnosticEngine()
    pipeline = Pipeline.build(spec("paint{num-warps=1},paint{num-warps=2},fail,paint"), REGISTRY)
    seen = []
    done = pipeline.run(
        ModuleOp([]), engine, lambda each, number: not seen.append((number, each.name))
    )
    assert not done
    assert RAN == ["1", "2"]
    assert seen == [(1, "paint"), (2, "paint")]


def test_a_failed_check_stops_the_pipeline():
    RAN.clear()
    pipeline = Pipeline.build(spec("paint,paint"), REGISTRY)
    assert not pipeline.run(ModuleOp([]), DiagnosticEngine(), lambda each, number: False)
    assert len(RAN) == 1

"""Target strings, and what a launch makes of them."""

import pytest

import tilewright as tw
from tilewright.language.tl.options import Target
from tilewright.runtime import choice
from tilewright.runtime.choice import AUTO, Spec, TargetChoice, choose, spec_named
from tilewright.runtime.options import target_for

SM_90, SM_100 = Target("cuda", 90), Target("cuda", 100)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("auto", AUTO),
        ("numpy", Spec("numpy")),
        ("triton", Spec("triton")),
        ("triton:sm_90", Spec("triton", SM_90)),
        ("triton:sm_100a", Spec("triton", SM_100)),
        ("triton:90", Spec("triton", SM_90)),
        ("cuda:90", Spec(None, SM_90)),
        ("cuda", Spec("raised", None, "cuda")),
        ("cuda:sm_100a", Spec("raised", SM_100, "cuda:sm_100a")),
        ("hip:gfx942", Spec("raised", Target("hip", "gfx942"), "hip:gfx942")),
        ("tenstorrent:wormhole", Spec("raised", None, "tenstorrent:wormhole")),
    ],
)
def test_what_a_string_says(text, spec):
    assert spec_named(text) == spec


@pytest.mark.parametrize("text", ["", "triton:", "triton:hopper", "cuda:x", "nvidia:90", "hip:"])
def test_other_strings_are_refused_with_examples(text):
    with pytest.raises(
        ValueError, match="expected for example triton:sm_90, triton, numpy, auto, cuda:sm_90a"
    ):
        spec_named(text)


def test_arrays_of_the_host_run_on_the_host():
    assert choose(AUTO, None) == TargetChoice("numpy", Target())
    assert choose(spec_named("cuda:100"), None) == TargetChoice("numpy", SM_100)
    assert choose(spec_named("triton:sm_90"), None) == TargetChoice("triton", SM_90)


def test_arrays_of_a_gpu_run_there(monkeypatch):
    monkeypatch.setattr(choice, "_capability", lambda device: 90 + 10 * device)
    monkeypatch.setattr(choice, "_has_triton", lambda: True)
    decide = choose.__wrapped__
    assert decide(AUTO, 0) == TargetChoice("triton", SM_90)
    assert decide(AUTO, 1) == TargetChoice("triton", SM_100)
    assert decide(spec_named("cuda:100"), 0) == TargetChoice("triton", SM_100)
    assert decide(spec_named("numpy"), 0) == TargetChoice("numpy", Target())
    monkeypatch.setattr(choice, "_has_triton", lambda: False)
    assert decide(AUTO, 0) == TargetChoice("numpy", SM_90)
    assert decide(spec_named("triton"), 0) == TargetChoice("triton", SM_90)


def test_our_own_code_is_for_arrays_of_its_gpu(monkeypatch):
    monkeypatch.setattr(choice, "_capability", lambda device: 90)
    decide = choose.__wrapped__
    hopper, cdna3 = spec_named("cuda:sm_90a"), spec_named("hip:gfx942")
    assert decide(hopper, None) == TargetChoice("numpy", SM_90, "cuda:sm_90a")
    assert decide(hopper, 0) == TargetChoice("raised", SM_90, "cuda:sm_90a")
    assert decide(spec_named("cuda"), 0) == TargetChoice("raised", SM_90, "cuda")
    monkeypatch.setattr(choice, "_has_hip", lambda: False)
    assert not decide(cdna3, 0).is_raised
    monkeypatch.setattr(choice, "_has_hip", lambda: True)
    assert decide(cdna3, 0).is_raised
    # The model of the hardware has no arrays of its own.
    assert decide(spec_named("tenstorrent:wormhole"), None).is_simulated


def test_the_nearest_word_counts():
    assert target_for() == TargetChoice("numpy", Target())
    with tw.running(target="triton:sm_90"):
        assert target_for() == TargetChoice("triton", SM_90)
        assert target_for("numpy") == TargetChoice("numpy", Target())
        with tw.running(target="cuda:100"):
            # A machine alone leaves the question who runs it as it was.
            assert target_for() == TargetChoice("triton", SM_100)
        with tw.running(target="auto"):
            assert target_for() == TargetChoice("numpy", Target())
    assert str(target_for("triton:sm_100")) == "triton:sm_100"


def test_no_gpu_to_ask(monkeypatch):
    from tilewright.runtime.cuda import context
    from tilewright.runtime.cuda.driver import CudaUnavailable

    def missing(device=None):
        raise CudaUnavailable("no driver")

    monkeypatch.setattr(context, "device_properties", missing)
    with pytest.raises(
        ValueError, match=r"none is usable .*no driver.*: name the architecture, for example"
    ):
        choose.__wrapped__(spec_named("triton"), None)

"""The short way of a launch does what the ordinary way does, and leaves to it what it cannot do."""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
from tests.runtime.cuda.fake_driver import SIZES, Facts, MapFacts
from tests.runtime.cuda.fake_torch import Parameter, Tensor, fake_torch
from tilewright import tl
from tilewright.runtime.cuda import errors
from tilewright.runtime.cuda.errors import CudaError
from tilewright.runtime.cuda.launcher import Launcher
from tilewright.runtime.cuda.module import load
from tilewright.runtime.pointer import compiled as compiled_module
from tilewright.runtime.pointer.gpu import flatten
from tilewright.runtime.specialise import CONSTEXPR

pytest.importorskip("triton", reason="launches on a GPU need Triton, which is not installed")

KINDS = {"fp32": "f32", "u1": "i1", "i32": "i32", "i64": "i64", "u64": "u64"}


@dataclass
class Compiled:
    """Stands for a compiled kernel: packs what a real one would, and counts ordinary launches."""

    keys: tuple
    captured: tuple = ()
    reads: object = None
    launcher: Launcher | None = None
    ordinary: int = 0
    current: bool = True

    def is_current(self):
        return self.current

    def launch(self, grid, values, stream=None):
        self.ordinary += 1
        if self.launcher is None:
            kinds = [kind for key in self.keys for kind in _kinds(key)]
            maps = tuple(MapFacts(box=(8, 64)) for kind in kinds if kind == "tensormap")
            facts = Facts((*kinds, "scratch", "profile"), tensor_maps=maps)
            self.launcher = Launcher(load(b"cubin", "kernel"), facts)
        self.launcher(grid, flatten(self.keys, values), stream)


def _kinds(key):
    if key[0] == CONSTEXPR:
        return ()
    if key[0] == "tuple":
        return tuple(kind for inner in key[2:] for kind in _kinds(inner))
    if key[0] == "tensordesc":
        return ("tensormap", *["i32"] * len(key[2]), *["i64"] * len(key[2]))
    return ("ptr" if key[0].startswith("*") else KINDS.get(key[0], key[0]),)


@dataclass
class Scene:
    """A driver and a torch that are not there, and what was compiled."""

    cuda: object
    torch: object
    compiled: list[Compiled] = field(default_factory=list)
    captured: tuple = ()

    def tensor(self, address=0x1000, dtype="float16", shape=(64, 64), device=0, kind=Tensor):
        return kind(address, shape, getattr(self.torch, dtype), device)

    def ordinary(self):
        return sum(each.ordinary for each in self.compiled)

    def parameters(self, compiled):
        """What the last launch got, by kind."""
        kinds = [kind for key in compiled.keys for kind in _kinds(key)]
        return list(zip(kinds, self.cuda.launches[-1].parameters, strict=False))


@pytest.fixture
def scene(cuda, monkeypatch):
    torch = fake_torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    found = Scene(cuda, torch)

    def compile_kernel(kernel, keys, settings, metadata, *, choice, device):
        assert choice.is_gpu
        compiled = Compiled(tuple(keys), found.captured)
        found.compiled.append(compiled)
        kinds = [kind for key in keys for kind in _kinds(key)]
        cuda.sizes = [SIZES[kind] for kind in (*kinds, "scratch", "profile")]
        return compiled

    monkeypatch.setattr(compiled_module, "compile_kernel", compile_kernel)
    return found


def make(**options):
    @tw.jit(**options)
    def kernel(x, n, scale=2.0, BLOCK: tl.constexpr = 16):
        tl.store(x, n * scale)

    return kernel


def warm(kernel, *args, **kwargs):
    """Launch until it goes the short way."""
    for _ in range(3):
        compiled = kernel[(1,)](*args, **kwargs)
    return compiled


def test_the_third_launch_is_short_and_says_the_same_to_the_driver(scene):
    kernel, x = make(), scene.tensor()
    results = [kernel[(4, 2)](x, 33, 0.5, BLOCK=32) for _ in range(4)]
    assert all(each is results[0] for each in results)
    assert results[0].ordinary == 2
    first, *others = scene.cuda.launches
    assert len(others) == 3
    for each in others:
        assert (each.grid, each.block, each.stream) == ((4, 2, 1), (128, 1, 1), 0x55)
        assert each.parameters == first.parameters
    assert first.parameters[:3] == [
        struct.pack("<Q", 0x1000),
        struct.pack("<i", 33),
        struct.pack("<f", 0.5),
    ]


def test_a_short_launch_is_one_call_of_the_driver(scene):
    kernel, x = make(), scene.tensor()
    warm(kernel, x, 33)
    scene.cuda.calls.clear()
    kernel[(1,)](x, 33)
    assert scene.cuda.names() == ["cuLaunchKernelEx"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"n": 33}, {"n": 1}),
        ({"n": 33}, {"n": 32}),
        ({"n": 33}, {"n": 2**40 + 1}),
        ({"n": 2**40 + 1}, {"n": 2**40}),
        ({"n": 2**40}, {"n": 2**63 + 16}),
        ({"n": 33}, {"n": True}),
        ({"n": 1}, {"n": True}),
        ({"n": 33}, {"n": 33.0}),
        ({"n": 33}, {"n": None}),
        ({"BLOCK": 1}, {"BLOCK": True}),
        ({"BLOCK": 1}, {"BLOCK": 1.0}),
        ({"scale": 2.0}, {"scale": 3}),
        ({"num_warps": 4}, {"num_warps": 8}),
        ({"x": {"address": 0x1000}}, {"x": {"address": 0x1008}}),
        ({"x": {"dtype": "float16"}}, {"x": {"dtype": "float32"}}),
    ],
)
def test_what_the_code_depends_on_is_told_apart(scene, one, other):
    """Each pair needs two kernels, whichever comes first and whatever was quick before."""
    kernel = make()

    def launch(changes):
        given = {"x": {}, "n": 33, "scale": 2.0, "BLOCK": 16, **changes}
        x = given.pop("x")
        return kernel[(1,)](scene.tensor(**x), **given)

    for changes in (one, one, one, other, other, other):
        launch(changes)
    quick = scene.ordinary()
    assert launch(one) is not launch(other)
    assert launch(one) is launch(one)
    assert scene.ordinary() == quick
    assert len(scene.compiled) == 2


@pytest.mark.parametrize("values", [(33, 35), (-7, 2**31 - 1), (0, 48), (-(2**31), 16)])
def test_values_that_share_a_kernel_share_it_on_the_short_way(scene, values):
    kernel, x = make(), scene.tensor()
    warm(kernel, x, values[0])
    ordinary = scene.ordinary()
    compiled = kernel[(1,)](x, values[1])
    assert scene.ordinary() == ordinary
    assert scene.parameters(compiled)[1] == ("i32", struct.pack("<i", values[1]))


def test_integers_that_are_not_specialised_are_passed_as_they_are(scene):
    kernel, x = make(do_not_specialize=["n"]), scene.tensor()
    warm(kernel, x, 33)
    ordinary = scene.ordinary()
    for value in (1, 16, 17, 0):
        compiled = kernel[(1,)](x, value)
        assert scene.parameters(compiled)[1] == ("i32", struct.pack("<i", value))
    assert (scene.ordinary(), len(scene.compiled)) == (ordinary, 1)


def test_other_kinds_than_the_first_time_still_go_the_short_way(scene):
    kernel, x = make(), scene.tensor()
    warm(kernel, x, 33)
    for value, expected in ((np.int32(34), struct.pack("<i", 34)), (2**33 + 1, None)):
        warm(kernel, scene.tensor(kind=Parameter), value)
        ordinary = scene.ordinary()
        compiled = kernel[(1,)](scene.tensor(kind=Parameter), value)
        assert scene.ordinary() == ordinary
        assert expected in (None, scene.parameters(compiled)[1][1])


def test_defaults_names_and_positions_mean_the_same(scene):
    kernel, x = make(), scene.tensor()
    first = warm(kernel, x, 33)
    ordinary = scene.ordinary()
    assert kernel[(1,)](n=33, x=x) is first
    assert kernel[(1,)](x, 33, 2.0, 16) is first
    assert kernel[1,](x, 33, BLOCK=16) is first
    assert scene.ordinary() == ordinary


def test_a_callable_grid_sees_all_arguments(scene):
    kernel, x = make(), scene.tensor()
    seen = []

    def grid(arguments):
        seen.append(dict(arguments))
        return (arguments["n"] // arguments["BLOCK"], 1, arguments["BLOCK"])

    for _ in range(3):
        kernel[grid](x, 160)
    assert seen[-1] == seen[0] == {"x": x, "n": 160, "scale": 2.0, "BLOCK": 16}
    assert scene.cuda.launches[-1].grid == (10, 1, 16)


def test_grids_that_are_no_tuples_take_the_ordinary_way(scene):
    kernel, x = make(), scene.tensor()
    warm(kernel, x, 33)
    kernel[7](x, 33)
    kernel[[3, 2]](x, 33)
    kernel[(np.int64(5),)](x, 33)
    assert [each.grid for each in scene.cuda.launches[-3:]] == [(7, 1, 1), (3, 2, 1), (5, 1, 1)]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ((1, 2, 3, 4), "has 4 axes"),
        ((1.5,), "axis 0 of the grid of kernel is 1.5"),
        ((-1,), "axis 0 of the grid of kernel is -1"),
        ((1, 65536), "axis 1 of the grid of kernel is 65536"),
        ((2**31,), "axis 0 of the grid of kernel is 2147483648"),
        ("4", "the grid of kernel is '4'"),
    ],
)
def test_wrong_grids_get_the_same_message_on_both_ways(scene, grid, message):
    kernel, x = make(), scene.tensor()
    with pytest.raises((TypeError, ValueError), match=message) as first:
        kernel[grid](x, 33)
    warm(kernel, x, 33)
    count = len(scene.cuda.launches)
    with pytest.raises((TypeError, ValueError)) as later:
        kernel[grid](x, 33)
    assert len(scene.cuda.launches) == count
    assert type(later.value) is type(first.value)
    assert _without_place(later) == _without_place(first)


def _without_place(caught):
    return [line.partition("error[")[2] for line in str(caught.value).splitlines()][:1]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {"n": 33}, "kernel is missing a value for x"),
        ((1, 2, 3, 4, 5), {}, "takes 4 arguments, got 5"),
        ((), {"BLOK": 3}, "'BLOK' is neither a parameter of kernel nor a launch option"),
        (("x",), {"x": 3, "n": 3}, "two values for parameter 'x'"),
        ((), {"x": 3j, "n": 3}, "argument 'x': a kernel cannot take a complex"),
        ((), {"x": None, "n": 2**64}, "argument 'n': the integer .* does not fit into 64 bits"),
        ((), {"x": None, "n": 3, "BLOCK": {}}, "argument 'BLOCK': a constexpr .* hashable"),
    ],
)
def test_wrong_arguments_get_the_message_of_the_ordinary_way(scene, args, kwargs, message):
    kernel = make()
    warm(kernel, scene.tensor(), 33)
    count = len(scene.cuda.launches)
    with pytest.raises((TypeError, OverflowError), match=message):
        kernel[(1,)](*args, **kwargs)
    assert len(scene.cuda.launches) == count


class _HostTensor(Tensor):
    """A tensor of torch on the CPU."""

    def __init__(self, like):
        super().__init__(like.address, like.shape, like.dtype, -1)
        self.device = SimpleNamespace(type="cpu")

    def detach(self):
        return self

    def numpy(self):
        return np.zeros(self.shape, np.float16)


_HostTensor.__module__ = "torch"


def test_host_memory_among_arguments_on_a_gpu_is_refused(scene):
    @tw.jit
    def kernel(x, y):
        tl.store(x, tl.load(y))

    x = scene.tensor()
    warm(kernel, x, x)
    count = len(scene.cuda.launches)
    for other in (_HostTensor(scene.tensor(device=-1)), np.zeros(3, np.float32)):
        with pytest.raises(
            ValueError, match=r"argument 'y': .* is in host memory: move it to GPU 0"
        ):
            kernel[(1,)](x, other)
    assert len(scene.cuda.launches) == count


def test_arrays_on_two_gpus_are_refused(scene):
    @tw.jit
    def kernel(x, y):
        tl.store(x, tl.load(y))

    x = scene.tensor()
    warm(kernel, x, x)
    with pytest.raises(
        ValueError, match=r"argument 'y': .* is on GPU 1, but other arguments are on GPU 0"
    ):
        kernel[(1,)](x, scene.tensor(device=1))


def test_arrays_on_another_gpu_than_the_current_one_are_refused(scene):
    kernel = make()
    message = "the arrays are on GPU 1, but the current GPU is 0: launch inside `with torch"
    with pytest.raises(ValueError, match=message):
        kernel[(1,)](scene.tensor(device=1), 33)
    warm(kernel, scene.tensor(), 33)
    with pytest.raises(ValueError, match=message):
        kernel[(1,)](scene.tensor(device=1), 33)
    scene.cuda.device = scene.torch.state.device = 1
    warm(kernel, scene.tensor(device=1), 33)
    devices = {each.launcher.function.device for each in scene.compiled if each.launcher}
    assert devices == {0, 1}


def test_the_stream_is_torchs_current_one_or_the_one_that_is_named(scene):
    kernel, x = make(), scene.tensor()
    warm(kernel, x, 33)
    scene.torch.state.stream = 0x99
    kernel[(1,)](x, 33)
    kernel[(1,)](x, 33, stream=0x123)
    assert [each.stream for each in scene.cuda.launches[-2:]] == [0x99, 0x123]


def test_the_first_launches_take_the_named_stream_too(scene):
    make()[(1,)](scene.tensor(), 33, stream=0x123)
    assert scene.cuda.launches[-1].stream == 0x123


def test_a_parameter_called_stream_is_a_parameter(scene):
    @tw.jit
    def kernel(x, stream):
        tl.store(x, stream)

    compiled = warm(kernel, scene.tensor(), 5)
    kernel[(1,)](scene.tensor(), stream=7)
    assert scene.parameters(compiled)[1] == ("i32", struct.pack("<i", 7))
    assert scene.cuda.launches[-1].stream == 0x55


def test_descriptors_become_their_tensor_map_shape_and_strides(scene):
    @tw.jit
    def kernel(d, n):
        tl.store(d, n)

    def descriptor(address=0x4000, rows=64):
        base = scene.tensor(address=address, shape=(rows, 64))
        return tw.TensorDescriptor.from_tensor(base, [8, 64])

    compiled = warm(kernel, descriptor(), 5)
    ordinary = scene.ordinary()
    kernel[(1,)](descriptor(), 5)
    kernel[(1,)](descriptor(0x8000, rows=72), 5)
    last, parameters = scene.cuda.launches[-1], scene.parameters(compiled)
    assert scene.ordinary() == ordinary
    assert parameters[:2] == [
        ("tensormap", bytes([len(scene.cuda.maps)]) * 128),
        ("i32", struct.pack("<i", 72)),
    ]
    assert [value for _, value in parameters[2:5]] == [
        struct.pack("<i", 64),
        struct.pack("<q", 64),
        struct.pack("<q", 1),
    ]
    assert last.addresses[0] % 64 == 0
    assert [each["address"] for each in scene.cuda.maps] == [0x4000, 0x8000]
    assert scene.cuda.maps[-1]["shape"] == [64, 72]


def test_a_descriptor_that_was_changed_is_seen(scene):
    @tw.jit
    def kernel(d):
        tl.store(d, 1)

    descriptor = tw.TensorDescriptor.from_tensor(scene.tensor(address=0x4000), [8, 64])
    first = warm(kernel, descriptor)
    descriptor.shape = [32, 64]
    assert kernel[(1,)](descriptor) is first
    assert scene.cuda.maps[-1]["shape"] == [64, 32]
    descriptor.block_shape = [16, 64]
    assert kernel[(1,)](descriptor) is not first


def test_a_descriptor_whose_base_moved_off_its_alignment_is_refused(scene):
    @tw.jit
    def kernel(d):
        tl.store(d, 1)

    descriptor = tw.TensorDescriptor.from_tensor(scene.tensor(address=0x4000), [8, 64])
    warm(kernel, descriptor)
    descriptor.base = scene.tensor(address=0x4008)
    with pytest.raises(
        ValueError, match="the address 0x4008 of a tensor map must be a multiple of 16"
    ):
        kernel[(1,)](descriptor)


def test_tuples_take_the_ordinary_way(scene):
    @tw.jit
    def kernel(pair, n):
        tl.store(pair[0], n)

    for count in range(1, 5):
        compiled = kernel[(1,)]((scene.tensor(), 3), 5)
        assert compiled.ordinary == count
    assert scene.parameters(compiled)[:3] == [
        ("ptr", struct.pack("<Q", 0x1000)),
        ("i32", struct.pack("<i", 3)),
        ("i32", struct.pack("<i", 5)),
    ]


def test_other_options_around_a_launch_are_noticed(scene):
    kernel, x = make(), scene.tensor()
    first = warm(kernel, x, 33)
    with tw.running(debug=True):
        assert kernel[(1,)](x, 33) is not first
    assert kernel[(1,)](x, 33) is first
    with tw.running(target="triton:sm_80"):
        assert kernel[(1,)](x, 33) is not first
    assert kernel[(1,)](x, 33) is first


def test_a_kernel_that_is_out_of_date_is_compiled_again(scene):
    from tilewright.frontend.captures import capture_of

    def function():
        return FACTOR

    global FACTOR
    FACTOR = 3
    scene.captured = (capture_of(function, "FACTOR", 3),)
    kernel, x = make(), scene.tensor()
    first = warm(kernel, x, 33)
    ordinary = scene.ordinary()
    assert kernel[(1,)](x, 33) is first
    assert scene.ordinary() == ordinary
    FACTOR = 4
    first.current = False
    assert kernel[(1,)](x, 33) is not first


def test_a_fault_is_reported_once_with_the_line_of_the_launch(scene):
    kernel, x = make(), scene.tensor()
    warm(kernel, x, 33)
    errors.recent.clear()
    scene.cuda.fail["cuLaunchKernelEx"] = 700
    count = len(scene.cuda.launches)
    with pytest.raises(CudaError) as caught:
        kernel[(1,)](x, 33)
    code = test_a_fault_is_reported_once_with_the_line_of_the_launch.__code__
    assert f"    kernel, launched at {__file__}:{code.co_firstlineno + 7}" in str(caught.value)
    assert len(scene.cuda.launches) == count


def test_the_generated_source_can_be_read(scene):
    kernel, x = make(), scene.tensor()
    warm(kernel, x, 33)
    source = kernel._fast.source
    assert source.startswith(
        "def launch(tw_grid, x, n, scale=tw_default2, BLOCK=tw_default3, stream=None, **tw_options):\n"
        "    tw_device = tw_current_device()\n"
        "    if type(x) is tw_type0:\n"
        "        if x.get_device() != tw_device:\n"
        "            return None\n"
        "        tw_value0 = x.data_ptr()\n"
    )

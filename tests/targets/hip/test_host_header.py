"""What the device functions compute: run on the host, with the machine of each chip below them."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.hip.host_run import LAUNCH, HostFault, host_text, library, prelude
from tests.targets.hip.support import needs_clang
from tilewright.dialects.amd.ops import matrix_core
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.amd_chips import CHIPS, Chip, MatrixInstruction
from tilewright.targets.hip.header import definitions
from tilewright.targets.hip.header.functions import functions_of
from tilewright.targets.hip.header.mathematics import MATHEMATICS
from tilewright.targets.hip.header.matrix import matrix_function

pytestmark = needs_clang
_ALWAYS = ("gfx942", "gfx1100")
CHIP_PARAMETERS = [
    pytest.param(chip, id=chip.name, marks=() if chip.name in _ALWAYS else pytest.mark.slow)
    for chip in CHIPS.values()
]
FP8 = {
    "fp8_e4m3": ml_dtypes.float8_e4m3fn,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}
LARGEST = {"fp8_e4m3": 448.0, "fp8_e5m2": 57344.0, "fp8_e4m3fnuz": 240.0, "fp8_e5m2fnuz": 57344.0}
TYPES = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "xf32": np.dtype(np.float32),
    "i8": np.dtype(np.int8),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
}

PROBE = """
template <int mask> void xors(int* out, double* wide) {
  if constexpr (mask < WAVE) {
    out[mask * WAVE + tw::lane()] = tw::shuffle_xor_by<mask>(tw::lane());
    if constexpr ((mask & mask - 1) == 0)
      wide[mask * WAVE + tw::lane()] = tw::shuffle_xor_by<mask>(tw::lane() + 0.25);
    xors<mask + 1>(out, wide);
  }
}
extern "C" void probe(int what, void* out, void* in, void* in2, void* out2) {
  const int lane = tw::lane(), thread = tw::thread_x();
  int* const ints = (int*)out;
  if (what == 0) xors<1>(ints, (double*)out2);
  if (what == 1)  // widths 1 ... WAVE, four modes
    for (int width = 1, row = 0; width <= WAVE; width *= 2)
      for (int by = 0; by < 3; ++by) {
        ints[row++ * WAVE + lane] = tw::shuffle_xor(lane, by, width);
        ints[row++ * WAVE + lane] = tw::shuffle_up(lane, by, width);
        ints[row++ * WAVE + lane] = tw::shuffle_down(lane, by, width);
        ints[row++ * WAVE + lane] = tw::shuffle_from(lane, by, width);
      }
  if (what == 2) {
    int row = 0;
    const int value = ((int*)in)[thread];
    ints[row++ * WAVE + lane] = tw::warp_sum(value);
    ints[row++ * WAVE + lane] = tw::warp_max(value);
    ints[row++ * WAVE + lane] = tw::warp_min(value);
    ints[row++ * WAVE + lane] = tw::warp_bitand(value);
    ints[row++ * WAVE + lane] = tw::warp_bitor(value);
    ints[row++ * WAVE + lane] = tw::warp_bitxor(value);
    ints[row++ * WAVE + lane] = tw::vote_any(value == 7) + 2 * tw::vote_all(value > -1000);
    ints[row++ * WAVE + lane] = tw::first(lane + 5) + tw::at<WAVE - 1>(lane);
    ints[row++ * WAVE + lane] = tw::elect();
    ((unsigned long long*)out2)[lane] = tw::ballot(value % 2 == 0);
  }
  if (what == 3)  // fp8: values of all codes, then codes of values
    for (int i = thread; i < 256; i += WAVE) {
      FP8
    }
  if (what == 4) {
    float* const sums = (float*)out;
    tw::atomic_add(sums, float(lane));
    tw::atomic_max(sums + 1, float(lane * 7 % 13));
    tw::atomic_min(sums + 2, -float(lane));
    tw::atomic_add((_Float16*)(sums + 3), _Float16(1));
    tw::atomic_add((__bf16*)(sums + 4) + 1, __bf16(2));
    tw::atomic_max((unsigned*)(sums + 5), unsigned(lane));
    tw::atomic_min((int*)(sums + 6), -lane);
    tw::atomic_xor((int*)(sums + 7), 1 << lane % 31);
    tw::atomic_add((double*)(sums + 8), 0.5);
    tw::atomic_exch((short*)(sums + 10), short(12));
    tw::atomic_cas((int*)(sums + 11), lane, lane + 1);
    tw::atomic_store(sums + 12, tw::atomic_load(sums + 13));
    tw::atomic_and((long long*)(sums + 14), ~(1ll << lane));
    PAIRS
  }
  if (what == 5) {
    const tw::Rsrc buffer = tw::rsrc(in, 40);
    unsigned* const held = (unsigned*)out + lane * 4;
    tw::buffer_load<4>(held, buffer, lane * 4);
    tw::buffer_load<8>(held + 1, buffer, lane ? int(0x80000000u) : 8);
    const tw::Rsrc target = tw::rsrc(out2, 64);
    tw::buffer_store<4>(target, lane * 4, &lane);
  }
  if (what == 6) {
    int* const shared = (int*)out2;
    COPY
    tw::sync_local();
    ints[thread] = shared[thread ^ 1];
    tw::sync();
    tw::wave_sync();
  }
  if (what == 7) {
    ints[lane] = tw::floor_divide(lane - 20, 7) * 1000 + tw::ceil_divide(lane - 20, 7);
    ints[WAVE + lane] = tw::integer_power(3, lane % 5) * 100 + tw::popc(lane) + tw::clz(lane);
    ints[2 * WAVE + lane] = tw::dp4a(lane * 0x01fe0203, 0x7f80ff01, lane);
    ints[3 * WAVE + lane] = tw::max(lane, 9) * 100 + tw::min(lane, 9) + tw::abs(lane - 9);
    ints[4 * WAVE + lane] = tw::clzll(lane) + tw::popcll(-1ll - lane) * 100;
    float* const floats = (float*)out2;
    const float bad = tw::float_from_bits(0x7fc00000u), big = tw::float_from_bits(0x7f800000u);
    floats[lane] = lane % 2 ? tw::max_or_nan(float(lane), bad) : tw::min_or_nan(float(lane), 4.0f);
    ints[5 * WAVE + lane] = tw::is_nan(bad) + 2 * tw::is_inf(big) + 4 * tw::is_finite(big)
        + 8 * tw::is_finite(1.0f) + 16 * tw::is_nan(big) + 32 * tw::is_inf(bad);
  }
  if (what == 8) {
    const int at = tw::block_x() * tw::block_dim_x() + tw::thread_x();
    ints[at] = tw::wave() * 10000 + tw::grid_dim_x() * 1000 + tw::block_x() * 100 + lane;
  }
  if (what == 9 && lane < 5) ints[lane] = tw::shuffle_from(lane + 1, 9) + tw::ballot(true);
  if (what == 10 && lane == 3) tw::trap();
  if (what == 11 && thread == 0) tw::sync();
  if (what == 12) {
    INTERLEAVE
  }
  int next = 100;
  MATRICES
}
"""


class Machine:
    """The device functions of a chip, on the host."""

    def __init__(self, chip: Chip, directory: Path) -> None:
        self.chip = chip
        functions = functions_of(chip)
        generated: dict[str, str] = {}
        calls: list[str] = []
        self.instructions: list[tuple[MatrixInstruction, tuple[bool, bool]]] = []
        for each in chip.instructions:
            signs = [(False, False), (True, False)] if "iu8" in each.builtin else [(False, False)]
            for unsigned in signs:
                name, text = matrix_function(each, chip, unsigned)
                generated[name] = text
                self.instructions.append((each, unsigned))
                count = each.accumulators(chip.wave)
                bytes = each.width * TYPES[each.a].itemsize
                calls.append(
                    f"if (what == next++) tw::{name}((int*)out + thread * {count},"
                    f" (char*)in + thread * {bytes}, (char*)in2 + thread * {bytes});"
                )
        fp8 = "\n".join(
            f"((float*)out)[{row} * 256 + i] = float(((tw::{name}*)in)[i]);\n"
            f"((tw::{name}*)out2)[{row} * 256 + i] = tw::{name}(((float*)in2)[i]);\n"
            f"if (i % 2 == 0) tw::convert_to_{name[4:]}x2((tw::{name}*)out2 + {row + 4} * 256 + i,"
            " (float*)in2 + i);"
            for row, name in enumerate(FP8)
        )
        pairs = "\n".join(
            f"tw::atomic_add_{each}x2(sums + {16 + index}, {pair});"
            for index, (each, pair) in enumerate((("f16", "0x3c004000u"), ("bf16", "0x3f804000u")))
            if each in chip.packed_atomics
        )
        interleave = "\n".join(
            f"tw::interleave<8>(({type}*)out2 + 512 * {row} + lane * 16, "
            f"({type}*)in + 256 * {row} + lane * 8);"
            for row, type in ((0, "signed char"), (1, "short"), (3, "float"))
            if "interleave" in functions
        )
        copy = "shared[thread] = thread * 3;"
        if chip.direct_copy_bytes:
            copy = "tw::load_lds<4>(shared + tw::wave() * WAVE, tw::rsrc(in, 1024), thread * 4);"
        probe = PROBE.replace("FP8", fp8).replace("PAIRS", pairs).replace("COPY", copy)
        probe = probe.replace("INTERLEAVE", interleave).replace("MATRICES", "\n  ".join(calls))
        names = [name for name in functions if name not in MATHEMATICS]
        text = host_text(definitions(names, generated, chip), chip) + probe
        launch = LAUNCH.replace("KERNEL", "probe").replace(
            "ARGUMENTS", "*(int*)given[0], given[1], given[2], given[3], given[4]"
        )
        loaded = library("\n".join((prelude(chip), text, launch)), directory, level="-O0")
        self.launch = loaded.host_launch
        self.launch.restype = ctypes.c_char_p

    def run(
        self, what: int, *arrays: np.ndarray | None, threads: int | None = None, blocks: int = 1
    ) -> None:
        index = np.array(what, np.int32)
        given = [each.ctypes.data if each is not None else 0 for each in (index, *arrays)]
        pointers = (ctypes.c_void_p * 5)(*given)
        grid = (ctypes.c_int * 3)(blocks, 1, 1)
        fault = self.launch(pointers, grid, threads or self.chip.wave, ctypes.c_ulonglong(3))
        if fault is not None:
            raise HostFault(fault.decode())


@pytest.fixture(scope="module", params=CHIP_PARAMETERS)
def machine(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(request.param, tmp_path_factory.mktemp(request.param.name))


def test_exchange_by_constant_masks(machine: Machine) -> None:
    wave = machine.chip.wave
    out, wide = np.zeros((wave, wave), np.int32), np.zeros((wave, wave))
    machine.run(0, out, None, None, wide)
    lanes, masks = np.arange(wave), np.arange(wave)[:, None]
    np.testing.assert_array_equal(out[1:], (lanes ^ masks)[1:])
    for mask in (1, 2, 4, 8, 16, wave // 2):
        np.testing.assert_array_equal(wide[mask], (lanes ^ mask) + 0.25)


def test_lanes_interleave_registers(machine: Machine) -> None:
    if machine.chip.wave != 32:
        assert "interleave" not in functions_of(machine.chip)
        return
    given = np.random.default_rng(4).integers(0, 256, 4096).astype(np.uint8)
    out = np.zeros(8192, np.uint8)
    machine.run(12, None, given, None, out)
    for row, dtype in ((0, np.uint8), (1, np.uint16), (3, np.uint32)):
        held = given.view(dtype)[256 * row :][:256].reshape(2, 16, 8)
        found = out.view(dtype)[512 * row :][:512].reshape(2, 16, 16)
        np.testing.assert_array_equal(
            found[0], np.stack([held[0], held[1]], axis=-1).reshape(16, 16)
        )
        np.testing.assert_array_equal(found[1], found[0])


def test_shuffles_of_all_widths(machine: Machine) -> None:
    wave = machine.chip.wave
    lanes = np.arange(wave)
    out = np.zeros((100, wave), np.int32)
    machine.run(1, out)
    row, width = 0, 1
    while width <= wave:
        first = lanes // width * width
        for by in range(3):
            other = [lanes ^ by, lanes - by, lanes + by]
            for candidate in other:
                inside = (candidate >= first) & (candidate < first + width)
                np.testing.assert_array_equal(out[row], np.where(inside, candidate, lanes))
                row += 1
            np.testing.assert_array_equal(out[row], first + by % width)
            row += 1
        width *= 2


def test_reductions_and_votes(machine: Machine) -> None:
    wave = machine.chip.wave
    values = np.random.default_rng(5).integers(-99, 99, wave).astype(np.int32)
    values[3] = 7
    out, ballot = np.zeros((9, wave), np.int32), np.zeros(wave, np.uint64)
    machine.run(2, out, values, None, ballot)
    reductions = [np.add, np.maximum, np.minimum]
    reductions += [np.bitwise_and, np.bitwise_or, np.bitwise_xor]
    for row, function in enumerate(reductions):  # of 32 threads on every GPU
        groups = function.reduce(values.reshape(-1, 32), axis=1)
        np.testing.assert_array_equal(out[row], np.repeat(groups, 32))
    assert (out[6] == 3).all() and (out[7] == 5 + wave - 1).all()
    assert out[8].tolist() == [1] + [0] * (wave - 1)
    assert (ballot == sum(1 << int(n) for n in np.nonzero(values % 2 == 0)[0])).all()


def test_fp8_of_all_codes(machine: Machine) -> None:
    codes = np.arange(256, dtype=np.uint8)
    rng = np.random.default_rng(6)
    for case in range(8):
        # Values of the formats, between them, halfway between them, and far outside.
        values = (rng.standard_normal(256) * 10.0 ** rng.integers(-6, 6, 256)).astype(np.float32)
        format = list(FP8.values())[case % 4]
        exact = codes.view(format).astype(np.float32)
        halfway = np.append((exact[:-1] + exact[1:]) / 2, np.float32(0))
        with np.errstate(all="ignore"):
            values = [values, exact, halfway, -halfway][case // 2].astype(np.float32)
        values[:4] = np.inf, -np.inf, np.nan, -0.0
        decoded, encoded = np.zeros((4, 256), np.float32), np.zeros((8, 256), np.uint8)
        machine.run(3, decoded, codes, values, encoded)
        for row, (name, dtype) in enumerate(FP8.items()):
            np.testing.assert_array_equal(decoded[row], codes.view(dtype).astype(np.float32))
            limited = np.clip(values, -LARGEST[name], LARGEST[name])
            expected = limited.astype(dtype)
            for got in (encoded[row], encoded[row + 4]):
                finite = ~np.isnan(values)
                np.testing.assert_array_equal(got[finite], expected.view(np.uint8)[finite])
                assert np.isnan(got.view(dtype)[~finite].astype(np.float32)).all()


def test_atomics(machine: Machine) -> None:
    wave = machine.chip.wave
    out = np.zeros(20, np.float32)
    out[13] = 2.5
    out[14:16].view(np.int64)[:] = -1
    machine.run(4, out)
    lanes = range(wave)
    assert out[0] == sum(lanes) and out[1] == 12 and out[2] == 1 - wave
    assert out[3:4].view(np.float16)[0] == wave
    assert out[4:5].view(ml_dtypes.bfloat16).astype(float).tolist() == [0, 2 * wave]
    assert out[5:6].view(np.uint32)[0] == wave - 1 and out[6:7].view(np.int32)[0] == 1 - wave
    bits = 0
    for lane in lanes:
        bits ^= 1 << lane % 31
    assert out[7:8].view(np.int32)[0] == bits
    assert out[8:10].view(np.float64)[0] == wave / 2
    assert out[10:11].view(np.int16)[0] == 12
    # Lanes start anywhere in the order: each finds the number of those before it, or another one.
    assert 0 < out[11:12].view(np.int32)[0] <= wave
    assert out[12] == 2.5
    assert out[14:16].view(np.uint64)[0] == (2**64 - 1) ^ (2**wave - 1)
    packed = machine.chip.packed_atomics
    expected = [2.0 * wave, 1.0 * wave]
    assert out[16:17].view(np.float16).tolist() == (expected if "f16" in packed else [0, 0])
    added = out[17:18].view(ml_dtypes.bfloat16).astype(float).tolist()
    assert added == (expected if "bf16" in packed else [0, 0])


def test_buffer_accesses_outside(machine: Machine) -> None:
    wave = machine.chip.wave
    out, target = np.full((wave, 4), 9, np.int32), np.full(wave, -1, np.int32)
    given = np.arange(1, 11, dtype=np.int32)
    machine.run(5, out, given, None, target)
    np.testing.assert_array_equal(out[:10, 0], given)
    assert (out[10:, 0] == 0).all()
    assert out[0, 1:3].tolist() == [3, 4] and (out[1:, 1:3] == 0).all() and (out[:, 3] == 9).all()
    assert target.tolist() == [*range(16), *[-1] * (wave - 16)]


def test_barriers_and_copies_to_lds(machine: Machine) -> None:
    threads = 2 * machine.chip.wave
    out, shared = np.zeros(threads, np.int32), np.zeros(threads, np.int32)
    machine.run(6, out, np.arange(256, dtype=np.int32) * 3, None, shared, threads=threads)
    np.testing.assert_array_equal(out, (np.arange(threads) ^ 1) * 3)


def test_integers_and_questions(machine: Machine) -> None:
    wave = machine.chip.wave
    out, floats = np.zeros((6, wave), np.int32), np.zeros(wave, np.float32)
    machine.run(7, out, None, None, floats)
    lanes = list(range(wave))
    assert out[0].tolist() == [(n - 20) // 7 * 1000 - (20 - n) // 7 for n in lanes]
    counts = [n.bit_count() + 32 - n.bit_length() for n in lanes]
    assert out[1].tolist() == [3 ** (n % 5) * 100 + c for n, c in zip(lanes, counts, strict=True)]
    held = [np.array([n * 0x01FE0203], np.int32).view(np.int8).astype(int) for n in lanes]
    other = np.array([0x7F80FF01], np.int64).astype(np.int32).view(np.int8).astype(int)
    assert out[2].tolist() == [int(w @ other) + n for n, w in zip(lanes, held, strict=True)]
    assert out[3].tolist() == [max(n, 9) * 100 + min(n, 9) + abs(n - 9) for n in lanes]
    both = [64 - n.bit_length() + (64 - n.bit_count()) * 100 for n in lanes]
    assert out[4].tolist() == both
    assert np.isnan(floats[1::2]).all() and floats[::2].tolist() == [min(n, 4) for n in lanes[::2]]
    assert (out[5] == 1 + 2 + 8).all()


def test_indices(machine: Machine) -> None:
    wave = machine.chip.wave
    out = np.zeros((3, 2 * wave), np.int32)
    machine.run(8, out, threads=2 * wave, blocks=3)
    block, thread = np.arange(3)[:, None], np.arange(2 * wave)
    expected = thread // wave * 10000 + 3000 + block * 100 + thread % wave
    np.testing.assert_array_equal(out, expected)


def test_nothing_comes_from_inactive_lanes(machine: Machine) -> None:
    out = np.zeros(8, np.int32)
    machine.run(9, out)
    assert out.tolist() == [31] * 5 + [0] * 3


def test_faults(machine: Machine) -> None:
    with pytest.raises(HostFault, match="trap"):
        machine.run(10, np.zeros(8, np.int32))
    with pytest.raises(HostFault, match="some threads end before a barrier"):
        machine.run(11)


def _dealt(fragment: Fragment, tile: np.ndarray, wave: int) -> np.ndarray:
    """The registers of all lanes that hold a tile."""
    registers = np.zeros((wave, fragment.num_registers), tile.dtype)
    for point in fragment.points():
        for replica in range(fragment.replicas):
            thread = fragment.thread_of(*point, replica=replica)
            registers[thread, fragment.register_of(*point)] = tile[point]
    return registers


def test_matrix_instructions(machine: Machine) -> None:
    """The layouts are those that Triton's are compared with; the machine has its own formulas."""
    rng, wave = np.random.default_rng(7), machine.chip.wave
    for position, (instruction, unsigned) in enumerate(machine.instructions):
        core = matrix_core(instruction)
        shapes = (instruction.m, instruction.k), (instruction.k, instruction.n)
        tiles: list[np.ndarray] = []
        for shape, element, is_unsigned in zip(
            shapes, (instruction.a, instruction.b), unsigned, strict=True
        ):
            tile = rng.integers(-8, 8, shape).astype(TYPES[element])
            tiles.append(tile.view(np.uint8) if is_unsigned else tile)
        wide = np.int32 if instruction.c == "i32" else np.float32
        c = rng.integers(-8, 8, (instruction.m, instruction.n)).astype(wide)
        registers = _dealt(core.c(), c, wave)
        operands = [_dealt(f, t, wave) for f, t in zip((core.a(), core.b()), tiles, strict=True)]
        machine.run(100 + position, registers, *operands)
        a, b = (each.astype(np.float64) for each in tiles)
        np.testing.assert_array_equal(registers, _dealt(core.c(), (a @ b + c).astype(wide), wave))

"""``tilewright memory`` on modules that were lowered, that hold several kernels, or that are odd."""

import json
from pathlib import Path

import pytest

from tests.cli.test_memory import HEAD, SPEC, TILE, WIDE, as_data, module, spec
from tilewright.cli import memory, opt

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "storage_alias"

BYTES = "!ttg.memdesc<147456xi8, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #smem, mutable>"
ONE = "!ttg.memdesc<64x64xf16, #flat, #smem, mutable>"


@pytest.fixture
def show(tmp_path, monkeypatch, capsys):
    """Runs the command over a text and gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *arguments: str) -> tuple[int, str, str]:
        Path("kernel.mlir").write_text(text, encoding="utf-8", errors="surrogateescape")
        code = memory.run(["kernel.mlir", *arguments], "tilewright memory")
        out, err = capsys.readouterr()
        return code, out, err

    return run


def kernels(*bodies: list[str], target: str = "cuda:90") -> str:
    functions = [
        f"tt.func public @k{number}() {{\n" + "\n".join(body) + "\ntt.return\n}"
        for number, body in enumerate(bodies)
    ]
    text = "\n".join(functions)
    return f'{HEAD}module attributes {{ttg.target = "{target}"}} {{\n{text}\n}}\n'


# -- lowered modules -----------------------------------------------------------------------------


def pictured(path: Path, capsys) -> list[dict]:
    assert memory.run([str(path), "--format=json"], "tilewright memory") == 0
    memories = json.loads(capsys.readouterr().out)["memories"]
    for each in memories:
        for region in each["regions"]:
            del region["source"]
            for buffer in region["buffers"]:
                del buffer["source"]
    return memories


@pytest.mark.parametrize("placement", ["reindex", "explicit"])
@pytest.mark.parametrize(
    "name", ["hopper_gemm_ring", "fa_forward_2slices_bf16_d128", "fa_backward_2cta", "mxfp8_map"]
)
def test_a_lowered_module_shows_its_buffers(name, placement, tmp_path, capsys):
    """The picture is the same before and after, source lines apart."""
    lowered = tmp_path / "lowered.mlir"
    flag = f"--tlx-storage-alias-lowering=placement={placement}"
    path = EXAMPLES / f"{name}.mlir"
    assert opt.run(["-keep-names", flag, str(path), "-o", str(lowered)], "opt") == 0
    assert "storage_alias_spec" not in lowered.read_text()
    before = pictured(path, capsys)
    assert pictured(lowered, capsys) == before
    assert any(len(region["buffers"]) > 1 for each in before for region in each["regions"])


RECORD = (
    '{{tlx.placement = {{buffer = "{name}", count = 2 : i64, offset = {offset} : i64, '
    'paths = ["distinct[{child}]"], radices = array<i64>, strides = array<i64: {stride}>, '
    "window = {stride} : i64}}}}"
)


def lowered_pair(offset: int, stride: int) -> str:
    """Two buffers, the second at `offset`, as lowering would record them."""
    flat = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
    backing = f"!ttg.memdesc<{2 * stride}xi8, {flat}, #smem, mutable>"
    last = (stride + offset) // 8192 + 1
    views = [("a", 0, 0, stride // 8192 + 1), ("b", offset, 1, last)]
    return module(
        f"%m = ttg.local_alloc : () -> {backing}",
        *(
            f"%{name} = tlx.local_alias %m "
            f"{RECORD.format(name=name, offset=at, child=child, stride=stride)} : {backing} -> "
            f"!ttg.memdesc<{count}x64x64xf16, #flat, #smem, mutable>"
            for name, at, child, count in views
        ),
    )


def test_addresses_that_no_plan_has_are_drawn_as_recorded(show):
    """16384 bytes between the two: nobody can tell whether alignment is the reason."""
    code, out, _ = show(lowered_pair(24576, 32768), "--format=json")
    (region,) = as_data(out)["regions"]
    assert code == 0
    starts = {b["name"]: [c["start"] for c in b["cells"]] for b in region["buffers"]}
    assert starts == {"a": [0, 32768], "b": [24576, 57344]}
    assert (region["dead"], region["padding"]) == ([[8192, 24576], [40960, 57344]], [])


def test_a_lowered_module_that_breaks_its_promises_is_not_drawn(show):
    code, out, err = show(lowered_pair(0, 32768))
    assert (code, out) == (1, "")
    assert "distinct buffers overlap: 'a'[0] (bytes 0..8192) and 'b'[0] (bytes 0..8192)" in err


def test_an_extent_that_is_no_power_of_two(show):
    code, out, err = show(module(f"%m = ttg.local_alloc : () -> {BYTES}"))
    assert (code, err) == (0, "")
    assert "m 147456  1 x 147456 bytes; line 5" in out


# -- several kernels -----------------------------------------------------------------------------


def test_each_kernel_has_its_own_map(show):
    """Two kernels never run in the same thread block, so nothing is added up."""
    large = "!ttg.memdesc<2x128x256xf16, #flat, #smem, mutable>"
    first, second = (spec("shared", (name, large)) for name in "ab")
    code, out, err = show(kernels(first, second), "--format=json")
    assert (code, err) == (0, "")
    found = json.loads(out)["memories"]
    assert [(m["kernel"], m["used"]) for m in found] == [("k0", 131072), ("k1", 131072)]


def test_the_kernel_that_needs_too_much_is_named(show):
    large = "!ttg.memdesc<2x256x256xf16, #flat, #smem, mutable>"
    code, out, err = show(kernels(spec("shared", ("a", TILE)), spec("shared", ("b", large))))
    assert code == 1
    assert "shared memory of @k0 on sm_90: 16384 of 232448 bytes" in out
    assert "error[TW5037]: shared memory of @k1: 262144 bytes needed, 232448 available" in err
    assert "@k0" not in err


# -- plain allocations ---------------------------------------------------------------------------


def test_a_first_dimension_counts_only_where_it_is_indexed(show):
    """The layout has the only dimension, so nothing but an index tells what it is."""
    flat = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
    whole, one = (f"!ttg.memdesc<{n}xi64, {flat}, #smem, mutable>" for n in (4, 1))
    text = module(
        "%c0 = arith.constant 0 : i32",
        f"%tile = ttg.local_alloc : () -> {whole}",
        f"%bars = ttg.local_alloc : () -> {whole}",
        f"%x = ttg.memdesc_index %bars[%c0] : {whole} -> {one}",
    )
    code, out, err = show(text)
    assert (code, err) == (0, "")
    assert "tile 32  1 x 32 bytes" in out
    assert "bars 32  4 x 8 bytes" in out


def test_an_allocation_without_a_size_is_named(show):
    dummy = "!ttg.memdesc<128xf32, #tlx.dummy_tmem_layout<>, #ttng.tensor_memory, mutable>"
    text = module(
        f"%odd = ttng.tmem_alloc : () -> {dummy}", f"%even = ttg.local_alloc : () -> {TILE}"
    )
    code, out, err = show(text)
    assert code == 0
    assert "even 16384" in out
    assert "odd" not in out
    assert "kernel.mlir:5:10: warning[TW5064]: allocation not counted: " in err
    assert "TMEM allocations must be at least 2D, got rank 1" in err


def test_an_alias_larger_than_its_owner_is_drawn(show):
    text = module(
        f"%a = ttg.local_alloc : () -> {TILE}",
        f"%b = tlx.local_alias %a : {TILE} -> {WIDE}",
        f"%c = tlx.local_alias %b : {WIDE} -> {TILE}",
    )
    code, out, _ = show(text, "--format=json")
    (region,) = as_data(out)["regions"]
    assert (code, region["extent"]) == (0, 32768)
    assert [(b["name"], b["unit"]) for b in region["buffers"]] == [
        ("a", 8192), ("b", 16384), ("c", 8192),
    ]  # fmt: skip


# -- mistakes ------------------------------------------------------------------------------------


def test_a_forgotten_overlap_definition_is_warned_about(show):
    *lines, _ = spec("distinct", ("a", TILE), ("b", TILE))
    code, out, err = show(module(*lines))
    assert code == 0
    assert "1 a: 2 x 8192 bytes at 0 8192" in out
    assert "warning[TW5056]: storage_alias_spec has no overlap definition" in err
    assert "kernel.mlir:8:11: note: this reuse_group is not used" in err
    code, out, err = show(module(*lines), "--infer-overlap")
    assert (code, err) == (0, "")
    assert "2 b: 2 x 8192 bytes at 8192 24576" in out


def test_a_constant_index_out_of_bounds_is_an_error(show):
    text = module(
        *spec("shared", ("a", TILE)),
        "%c2 = arith.constant 2 : i32",
        f"%x = ttg.memdesc_index %a[%c2] : {TILE} -> {ONE}",
    )
    code, out, err = show(text)
    assert (code, out) == (1, "")
    assert "error[TW5042]: index 2 is outside of 'a', which has 2 buffers" in err


def test_a_spec_whose_op_and_type_name_different_memories(show):
    tmem = "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>"
    tile = f"!ttg.memdesc<1x128x64xf32, {tmem}, #ttng.tensor_memory, mutable>"
    kind = SPEC.replace("smem", "tmem")
    text = module(
        f"%s = tlx.storage_alias_spec storage = smem : {kind}",
        *(f"%{n} = tlx.storage_alias_local_alloc %s : {kind} -> {tile}" for n in "ab"),
    )
    code, out, err = show(text)
    assert (code, out) == (1, "")
    assert err.count("error") == 1
    assert "storage = smem contradicts the type of the spec, which is used for tensor memory" in err


@pytest.mark.parametrize("placement", ["explicit", "auto"])
def test_ways_out_are_those_of_the_placement(show, placement):
    """By index this tree has no plan at all, whatever the number of stages."""
    big, small = (
        f"!ttg.memdesc<6x{rows}x{columns}xf16, #flat, #smem, mutable>"
        for rows, columns in ((128, 128), (64, 64))
    )
    text = module(*spec("distinct", ("a", small), ("b", big)), target="cuda:90")
    code, _, err = show(text, f"--placement={placement}")
    assert code == 1
    assert "245760 bytes needed, 232448 available on sm_90" in err
    assert "fits with 5 instead of 6 buffers of 'a' and 'b' (204800 bytes)" in err


# -- files ---------------------------------------------------------------------------------------

ODD_NAME = module('%0 = ttg.local_alloc : () -> TYPE loc("a\\01\\FF"("f.py":3:4))').replace(
    "TYPE", TILE
)


@pytest.mark.parametrize("format", ["text", "svg", "html", "json"])
def test_names_that_cannot_be_written_are_replaced(show, format):
    code, _, err = show(ODD_NAME, f"--format={format}", "-o", "picture")
    assert (code, err) == (0, "")
    text = Path("picture").read_text(encoding="utf-8")
    assert "a\ufffd\ufffd" in text or "a\\u0001\ufffd" in text


def test_the_input_is_not_overwritten(show):
    text = module(f"%a = ttg.local_alloc : () -> {TILE}")
    code, _, err = show(text, "-o", "./kernel.mlir")
    assert code == 2
    assert err == "tilewright memory: the output would overwrite its input 'kernel.mlir'\n"
    assert Path("kernel.mlir").read_text() == text


def test_a_picture_that_cannot_be_written_leaves_the_old_one(show, monkeypatch):
    Path("picture").write_text("old")

    def full(self: Path, data: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    text = module(f"%a = ttg.local_alloc : () -> {TILE}")
    Path("kernel.mlir").write_text(text)
    monkeypatch.setattr(Path, "write_bytes", full)
    assert memory.run(["kernel.mlir", "-o", "picture"], "tilewright memory") == 2
    assert Path("picture").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["kernel.mlir", "picture"]

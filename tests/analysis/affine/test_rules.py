"""Each rule S1 to S8 (docs/design/address-analysis.md#rewrite-rules): where it fires and must not."""

import pytest

from tilewright.analysis.affine import Context, Interval, Poly, Space, SymbolKind


class Kernel:
    """The symbols a kernel has."""

    def __init__(self) -> None:
        self.space = Space()
        symbol = self.space.symbol
        self.pid = symbol("pid", Interval(0, 2**31 - 2))
        self.lane = symbol("lane", Interval(0, 511))
        self.l0 = symbol("l0", Interval(0, 31))
        self.l1 = symbol("l1", Interval(0, 63))
        self.x = symbol("x")
        self.y = symbol("y")
        self.n = symbol("n", Interval(0, 2**31 - 1), divisor=16)
        self.H = symbol("H", Interval(1, 64))
        self.stride = symbol("stride")
        self.any_divisor = symbol("d")
        self.ctx: Context = self.space.root


@pytest.fixture
def k() -> Kernel:
    return Kernel()


def kinds(poly: Poly) -> set[SymbolKind]:
    return {atom.kind for atom in poly.view().atoms_within()}


def test_s1_takes_multiples_out_of_a_quotient(k: Kernel):
    assert k.ctx.fdiv(8 * k.x + k.y, 8) == k.x + k.ctx.fdiv(k.y, 8)
    assert k.ctx.fdiv(9 * k.x + 20, 8) == k.x + 2 + k.ctx.fdiv(k.x + 4, 8)
    assert k.ctx.fdiv(-9 * k.x, 8) == -k.x + k.ctx.fdiv(-k.x, 8)
    assert k.ctx.fdiv(k.x * k.H + k.y, k.H) == k.x + k.ctx.fdiv(k.y, k.H)
    assert k.ctx.fdiv(k.x, -3) == k.ctx.fdiv(-k.x, 3)


def test_s1_quotients_of_small_values_are_constant(k: Kernel):
    assert k.ctx.fdiv(k.lane, 512) == 0
    assert k.ctx.fdiv(k.lane + 512, 512) == 1
    assert k.ctx.fdiv(k.lane - 512, 512) == -1
    assert k.ctx.fdiv(k.pid * 512 + k.lane, 512) == k.pid
    assert k.ctx.fdiv(k.lane, 511).constant is None
    assert k.ctx.fdiv(k.lane - 1, 512).constant is None


def test_s1_drops_a_low_part_that_cannot_carry(k: Kernel):
    assert k.ctx.fdiv(64 * k.l0 + k.l1, 128) == k.ctx.fdiv(k.l0, 2)
    assert k.ctx.fdiv(64 * k.l0 + k.l1 + 64, 128) == k.ctx.fdiv(k.l0 + 1, 2)
    assert k.ctx.fdiv(32 * k.l0 + k.l1, 128) != k.ctx.fdiv(k.l0, 4)
    assert k.ctx.fdiv(64 * k.x + k.l1, 64 * k.H) == k.ctx.fdiv(k.x, k.H)
    divisor = 64 * k.any_divisor  # may be negative: the low part would round the other way
    assert k.ctx.fdiv(64 * k.x + k.l1, divisor) != k.ctx.fdiv(k.x, k.any_divisor)


def test_quotients_are_reduced(k: Kernel):
    assert k.ctx.fdiv(4 * k.x + 2, 8) == k.ctx.fdiv(2 * k.x + 1, 4)
    assert k.ctx.fdiv(4 * k.x + 3, 8) == k.ctx.fdiv(k.x, 2)
    assert k.ctx.fdiv(k.x * k.stride, k.y * k.stride) == k.ctx.fdiv(k.x, k.y)


def test_s2_takes_multiples_out_of_a_remainder(k: Kernel):
    assert k.ctx.mod(8 * k.x + k.y, 8) == k.ctx.mod(k.y, 8)
    assert k.ctx.mod(k.pid * 512 + k.lane, 512) == k.lane
    assert k.ctx.mod(k.n * 3 + 5, 16) == 5
    assert k.ctx.mod(k.x * k.H + k.y, k.H) == k.ctx.mod(k.y, k.H)
    assert k.ctx.mod(k.lane, 256) != k.lane
    assert str(k.ctx.mod(k.lane, 256)) == "mod(lane, 256)"


def test_s3_collapses_quotient_and_remainder(k: Kernel):
    z, h = k.ctx.fdiv(k.pid, k.H), k.ctx.mod(k.pid, k.H)
    assert z * k.H * k.stride + h * k.stride == k.pid * k.stride
    assert 8 * k.ctx.fdiv(k.x, 8) + k.ctx.mod(k.x, 8) == k.x
    twice = 16 * k.ctx.fdiv(k.x, 8) + k.ctx.mod(k.x, 8)
    assert twice != k.x
    assert str(twice) == "x + 8*fdiv(x, 8)"


def test_s4_joins_quotients_of_quotients(k: Kernel):
    assert k.ctx.fdiv(k.ctx.fdiv(k.x, 4), 8) == k.ctx.fdiv(k.x, 32)
    assert k.ctx.fdiv(k.ctx.fdiv(k.x, 4) + 3, 8) == k.ctx.fdiv(k.x + 12, 32)
    assert k.ctx.fdiv(k.ctx.fdiv(k.x, k.H), 8) == k.ctx.fdiv(k.x, 8 * k.H)
    inner = k.ctx.fdiv(k.x, k.any_divisor)
    assert k.ctx.fdiv(inner, 8) != k.ctx.fdiv(k.x, 8 * k.any_divisor)


def test_s5_joins_remainders_of_remainders(k: Kernel):
    assert k.ctx.mod(k.ctx.mod(k.x, 24), 8) == k.ctx.mod(k.x, 8)
    assert k.ctx.mod(k.ctx.mod(k.x, 8 * k.H), k.H) == k.ctx.mod(k.x, k.H)
    assert k.ctx.mod(k.ctx.mod(k.x, 12), 8) != k.ctx.mod(k.x, 8)
    assert k.ctx.fdiv(k.ctx.mod(k.x, 24), 8) == k.ctx.mod(k.ctx.fdiv(k.x, 8), 3)


def test_s6_decides_min_and_max(k: Kernel):
    assert k.ctx.minimum(k.lane, 511) == k.lane
    assert k.ctx.minimum(k.lane, -1) == -1
    assert k.ctx.minimum(k.x + 1, k.x) == k.x
    assert k.ctx.maximum(k.x + k.lane, k.x, k.x - 3) == k.x + k.lane
    assert k.ctx.minimum(k.lane, 510).atom.kind is SymbolKind.MIN
    nested = k.ctx.minimum(k.x, k.ctx.minimum(k.y, k.stride))
    assert nested == k.ctx.minimum(k.ctx.minimum(k.x, k.y), k.stride)
    assert k.ctx.maximum(k.x, k.x) == k.x


def test_s6_decides_selections(k: Kernel):
    less = k.ctx.compare("<", k.x, k.y)
    assert k.ctx.select(k.space.true, k.x, k.y) == k.x
    assert k.ctx.select(k.ctx.compare(">=", k.lane, 0), k.x, k.y) == k.x
    assert k.ctx.select(k.ctx.compare("=", k.lane, 512), k.x, k.y) == k.y
    assert k.ctx.select(less, k.x, k.x) == k.x
    assert k.ctx.select(less, k.x + 5, k.x) - k.x == 5 * k.ctx.indicator(less)
    assert k.ctx.select(~less, k.x, k.y) == k.ctx.select(less, k.y, k.x)
    assert 4 * k.ctx.select(less, k.x, k.y) == k.ctx.select(less, 4 * k.x, 4 * k.y)
    indicator = k.ctx.indicator(less)
    assert indicator * indicator == indicator
    assert indicator + k.ctx.indicator(~less) == 1


def test_s7_truncation_is_floor_where_signs_are_known(k: Kernel):
    assert k.ctx.tdiv(k.pid, 8) == k.ctx.fdiv(k.pid, 8)
    assert k.ctx.trem(k.pid, k.H) == k.ctx.mod(k.pid, k.H)
    assert k.ctx.tdiv(-k.pid, 8) == -k.ctx.fdiv(k.pid, 8)
    assert k.ctx.tdiv(k.x, -8) == -k.ctx.tdiv(k.x, 8)
    assert k.ctx.tdiv(-k.x, 8) == -k.ctx.tdiv(k.x, 8)
    assert kinds(k.ctx.tdiv(k.x, 8)) == {SymbolKind.SYMBOL, SymbolKind.TDIV}
    assert kinds(k.ctx.trem(k.pid, k.any_divisor)) == {SymbolKind.SYMBOL, SymbolKind.TREM}
    assert k.ctx.tdiv(8 * k.x, 8) == k.x
    assert k.ctx.tdiv(k.x * k.y, k.y) == k.x
    assert k.ctx.tdiv(k.lane - 200, 512) == 0
    assert k.ctx.tdiv(k.x, 1) == k.x


def test_s8_shifts(k: Kernel):
    assert k.ctx.shl(k.x, 5) == 32 * k.x
    assert k.ctx.shr(k.x, 5) == k.ctx.fdiv(k.x, 32)
    assert k.ctx.shr(k.x, k.y).atom.kind is SymbolKind.SHR
    assert k.ctx.shl(0, k.y) == 0


def test_s8_masks(k: Kernel):
    assert k.ctx.bit_and(k.x, 63) == k.ctx.mod(k.x, 64)
    assert k.ctx.bit_and(k.x, ~63) == k.x - k.ctx.mod(k.x, 64)
    assert k.ctx.bit_and(k.x, 0x70) == 16 * k.ctx.mod(k.ctx.fdiv(k.x, 16), 8)
    assert k.ctx.bit_and(k.lane, 0x1FF) == k.lane
    assert k.ctx.bit_and(k.lane, 0xA1FF) == k.lane
    assert k.ctx.bit_and(k.x, 0b101).atom.kind is SymbolKind.AND
    assert k.ctx.bit_and(k.x, -1) == k.x
    assert k.ctx.bit_and(k.x, k.x) == k.x


def test_s8_disjoint_bits_add_up(k: Kernel):
    assert k.ctx.bit_or(k.pid * 512, k.lane) == k.pid * 512 + k.lane
    assert k.ctx.bit_xor(64 * k.l0, k.l1) == 64 * k.l0 + k.l1
    assert k.ctx.bit_and(64 * k.l0, k.l1) == 0
    assert k.ctx.bit_or(64 * k.l0 + 1, k.l1) != 64 * k.l0 + 1 + k.l1
    assert k.ctx.bit_or(k.pid * 256, k.lane).atom.kind is SymbolKind.OR
    assert k.ctx.bit_or(k.x * 512, k.lane) == k.x * 512 + k.lane


def test_s8_xor_changes_only_the_low_part(k: Kernel):
    changed = k.ctx.bit_xor(512 * k.pid + k.lane, 4)
    assert changed == 512 * k.pid + k.ctx.bit_xor(k.lane, 4)
    assert str(changed) == "512*pid + xor(4, lane)"
    assert k.ctx.bit_xor(256 * k.pid + k.lane, 4).atom.kind is SymbolKind.XOR
    assert k.ctx.bit_or(512 * k.pid + k.lane, 4) == 512 * k.pid + k.ctx.bit_or(k.lane, 4)
    assert k.ctx.bit_and(512 * k.pid + k.lane, k.l1) == k.ctx.bit_and(k.lane, k.l1)
    assert k.ctx.bit_xor(k.ctx.bit_xor(k.x, 5), 3) == k.ctx.bit_xor(k.x, 6)
    assert k.ctx.bit_xor(k.ctx.bit_xor(k.x, 5), 5) == k.x
    assert k.ctx.bit_xor(k.x, -1) == -k.x - 1
    assert k.ctx.bit_xor(k.x, k.x) == 0


def test_tables(k: Kernel):
    assert k.ctx.table((3, 5, 7, 9), k.x) == 2 * k.x + 3
    assert k.ctx.table((4, 4, 4), k.x) == 4
    assert k.ctx.table((1, 5, 2), 1) == 5
    entry = k.ctx.table((8, 24, 16, 0), k.x)
    assert entry.atom.kind is SymbolKind.TABLE
    assert k.ctx.range(entry) == Interval(0, 24)
    assert k.ctx.is_multiple(entry, 8)
    with pytest.raises(ValueError, match="needs values"):
        k.space.table((), k.x)


def test_a_reshape_simplifies_completely(k: Kernel):
    """Splitting and merging adjacent dimensions leaves no quotient."""
    flat = 64 * k.l0 + k.l1
    assert k.ctx.fdiv(flat, 64) == k.l0
    assert k.ctx.mod(flat, 64) == k.l1
    row, inner = k.ctx.fdiv(k.lane, 64), k.ctx.mod(k.lane, 64)
    assert 64 * row + inner == k.lane
    quarter, rest = k.ctx.fdiv(k.lane, 128), k.ctx.mod(k.lane, 128)
    assert quarter * 128 + k.ctx.fdiv(rest, 64) * 64 + k.ctx.mod(rest, 64) == k.lane


def test_a_grouped_program_id_reads_as_written(k: Kernel):
    """The swizzle of the matrix product: no information is lost, none is made up."""
    num_n = k.ctx.ceil_div(k.n, 256)
    width = 8 * num_n
    known = k.ctx.assume(k.ctx.compare(">=", k.n, 1))
    group, inside = known.tdiv(k.pid, width), known.trem(k.pid, width)
    assert str(group) == "fdiv(pid, 8*fdiv(n + 240, 256))"
    assert str(inside) == "mod(pid, 8*fdiv(n + 240, 256))"
    assert group * width + inside == k.pid
    assert known.is_nonneg(inside)
    assert known.is_positive(width - inside)

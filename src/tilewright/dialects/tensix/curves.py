"""Space-filling curves over rectangles of blocks, as sequences of rows and columns.

    morton(3, 5)     z order: points of the enclosing square outside the rectangle left out
    hilbert(6, 10)   the Hilbert curve for any rectangle: every step goes to an adjacent block

A filtered Hilbert curve of the enclosing square would leap where it leaves the rectangle. Halving
the rectangle instead keeps all steps adjacent; on squares of a power of two both are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

Point = tuple[int, int]
"""Row and column."""


def morton(rows: int, columns: int) -> tuple[Point, ...]:
    """All blocks of a grid in the order of their interleaved bits, those of the row higher."""
    inside = [(row, column) for row in range(rows) for column in range(columns)]
    return tuple(sorted(inside, key=lambda point: _spread(point[0]) << 1 | _spread(point[1])))


def _spread(value: int) -> int:
    """The bits of a number, at the even positions."""
    found = 0
    bit = 0
    while value >> bit:
        found |= (value >> bit & 1) << 2 * bit
        bit += 1
    return found


def hilbert(rows: int, columns: int) -> tuple[Point, ...]:
    """All blocks of a grid from the upper-left corner on, each next to the one before."""
    along, across = ((0, columns), (rows, 0)) if columns >= rows else ((rows, 0), (0, columns))
    return tuple(_open_curve((0, 0), along, across))


def _open_curve(start: Point, along: Point, across: Point) -> Iterator[Point]:
    """The curve of a whole grid, which may end anywhere.

    From the corner `start` to the other corner of the side `along` there is no path over an even
    number of blocks if that side is odd: the corners of a chessboard would have one colour. Cut
    off parts of even length, and walk the last one along its even side.
    """
    long, short = _length(along), _length(across)
    if long % 2 == 0 or short % 2 == 1:
        yield from _curve(start, along, across)
    elif 2 * long > 3 * short:
        first = _half(along)
        yield from _curve(start, first, across)
        yield from _open_curve(_plus(start, first), _minus(along, first), across)
    else:
        yield from _curve(start, across, along)


def _curve(start: Point, along: Point, across: Point) -> Iterator[Point]:
    """The curve of a rectangle from `start` to the other corner of the side `along`."""
    long, short = _length(along), _length(across)
    if short == 1 or long == 1:
        step = _unit(along if short == 1 else across)
        for distance in range(long * short):
            yield start[0] + distance * step[0], start[1] + distance * step[1]
        return
    if 2 * long > 3 * short:
        first = _half(along)
        yield from _curve(start, first, across)
        yield from _curve(_plus(start, first), _minus(along, first), across)
        return
    # Away from the side, along it, and back to it.
    out, first = _half(across), _truncated_half(along)
    yield from _curve(start, out, first)
    yield from _curve(_plus(start, out), along, _minus(across, out))
    last = _minus(_plus(_plus(start, along), out), _plus(_unit(along), _unit(across)))
    yield from _curve(last, _negative(out), _negative(_minus(along, first)))


def _half(side: Point) -> Point:
    """Half of a side, of even length if the side is longer than 2."""
    found = _truncated_half(side)
    return _plus(found, _unit(side)) if _length(found) % 2 and _length(side) > 2 else found


def _truncated_half(side: Point) -> Point:
    length, unit = _length(side) // 2, _unit(side)
    return length * unit[0], length * unit[1]


def _length(side: Point) -> int:
    return abs(side[0] + side[1])


def _unit(side: Point) -> Point:
    length = _length(side)
    return side[0] // length, side[1] // length


def _plus(left: Point, right: Point) -> Point:
    return left[0] + right[0], left[1] + right[1]


def _minus(left: Point, right: Point) -> Point:
    return left[0] - right[0], left[1] - right[1]


def _negative(side: Point) -> Point:
    return -side[0], -side[1]

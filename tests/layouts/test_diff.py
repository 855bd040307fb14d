"""A diagram of two layouts around an element."""

from tilewright.layouts.diff import Side, compare


def rows(point):
    return (point[0] * 4 + point[1] // 2,), point[1] % 2


def columns(point):
    return (point[1] * 4 + point[0] // 2,), point[0] % 2


def test_both_layouts_stand_beside_each_other_and_mark_the_element():
    text = compare((8, 8), (1, 0), Side("rows", rows), Side("columns", columns))
    assert text == (
        "rows                        columns\n"
        "   0   1   2   3   4   5       0   1   2   3   4   5\n"
        "0  0   0   1   1   2   2    0  0   4   8  12  16  20\n"
        "1 [4]  4   5   5   6   6    1 [0]  4   8  12  16  20\n"
        "2  8   8   9   9  10  10    2  1   5   9  13  17  21\n"
        "3 12  12  13  13  14  14    3  1   5   9  13  17  21"
    )


def test_registers_show_where_all_threads_agree():
    def other(point):
        return rows(point)[0], 1 - rows(point)[1]

    text = compare((2, 2), (0, 1), Side("a", rows), Side("b", other))
    assert text.splitlines()[2].split() == ["0", "0:0", "[0:1]", "0", "0:1", "[0:0]"]


def test_the_window_stays_inside_the_tile_and_follows_the_element():
    text = compare((64, 80), (63, 79), Side("a", rows), Side("b", rows))
    head, *lines = text.splitlines()[1:]
    assert head.split() == ["74", "75", "76", "77", "78", "79"] * 2
    assert [line.split()[0] for line in lines] == ["60", "61", "62", "63"]
    assert lines[-1].count("[") == 2


def test_a_row_of_elements_with_several_owners_and_with_none():
    def several(point):
        return ((0, 32, 64) if point[0] < 2 else ()), point[0]

    text = compare((3,), (1,), Side("a", several), Side("b", several))
    assert text.splitlines()[2].split()[1:4] == ["0:0+2", "[0:1+2]", "-"]


def test_outer_coordinates_are_those_of_the_element():
    seen = []

    def outer(point):
        seen.append(point[0])
        return (0,), 0

    compare((3, 4, 4), (2, 0, 0), Side("a", outer), Side("b", outer))
    assert set(seen) == {2}

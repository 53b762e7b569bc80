"""Memory maps and readings of bytes: every cell is there, and says what Tensor itself says."""

import itertools
import struct

import pytest
from drawn import all_of, check, fills, words

import tutor
from tutor import Buffer, Tensor, arange, viz, zeros
from tutor.errors import DomainError, DTypeError, OutOfRangeError, ShapeError
from tutor.viz.where import Positions

GRID = arange(20).reshape(4, 5)
TENSORS = {
    "scalar": Tensor(3.5),
    "row": arange(5),
    "matrix": GRID,
    "transposed": GRID.T,
    "sliced": GRID[1:, ::2],
    "backwards": GRID.flip(axis=1),
    "expanded": arange(3).expand(4, 3),
    "one number": Tensor(2.0).expand(3, 4),
    "3-d": arange(24).reshape(2, 3, 4),
    "4-d": arange(48).reshape(2, 2, 3, 4),
    "windows": Tensor(Buffer([1, 2, 3, 4, 5]), (3, 3), (1, 1)),
    "empty": zeros(0),
    "empty rows": zeros(3, 0),
    "empty view": arange(6)[6:],
    "nan": Tensor([float("nan"), float("inf"), -1e30]),
    "bool": Tensor([True, False]),
    "long": arange(1_000_000),
    "wide": arange(100_000).reshape(100, 1000),
    "many sheets": arange(6000).reshape(10, 20, 30),
}


@pytest.mark.parametrize("t", TENSORS.values(), ids=TENSORS)
def test_every_tensor_has_a_map(t):
    p = check(t.explain())
    assert p.title == f"shape {t.shape}, strides {t.strides}, offset {t.offset}"
    assert len(p.svg) < 150_000


@pytest.mark.parametrize(
    "t", [Tensor([1 / 3, -1e-30, -2.5e300, 123456.7], dtype="float64"), Tensor([-(2**62), 99999])]
)
def test_what_stands_in_a_cell_fits_into_it(t):
    p = t.explain()
    cells = fills(p, "blue wash") + fills(p, "orange wash")
    assert len(cells) >= t.numel()
    for cell in cells:
        left, top = float(cell.get("x")), float(cell.get("y"))
        inside = [e for e in all_of(p, "text") if left < float(e.get("x")) < left + 46
                  and top < float(e.get("y")) < top + 40]  # fmt: skip
        assert len(inside) == 2
        for e in inside:
            assert viz.svg.width_of(e.text, float(e.get("font-size")), mono=True) <= 47


@pytest.mark.parametrize("name", ["scalar", "row", "matrix", "transposed", "sliced", "backwards",
                                  "expanded", "one number", "3-d", "windows"])  # fmt: skip
def test_the_map_has_a_cell_for_each_element_at_its_position(name):
    t = TENSORS[name]
    found = [w for w in words(t.explain()) if w.startswith("@")]
    expected = [t.offset + sum(i * s for i, s in zip(index, t.strides, strict=True))
                for index in itertools.product(*map(range, t.shape))]  # fmt: skip
    assert found == [f"@{p}" for p in expected]
    cells = all_of(t.explain(), "rect")
    assert len(cells) == len(expected) + len(t.buf) + 2  # the card, and what is behind the heading


@pytest.mark.parametrize("t", [t for t in TENSORS.values() if len(t.buf) < 100])
def test_readers_are_those_that_a_list_of_all_indices_has(t):
    layout, found = Positions(t, "a test"), {}
    for index in itertools.product(*map(range, t.shape)):
        found.setdefault(layout.position(index), []).append(index)
    for p in range(len(t.buf)):
        count, first = layout.readers(p)
        assert count == len(found.get(p, ()))
        assert first in found.get(p, [None])
    assert layout.reached() == len(found)


def test_readers_of_a_large_tensor_are_found_without_walking_it():
    layout = Positions(arange(1_000_000).reshape(100, 100, 100).permute(2, 0, 1), "a test")
    assert layout.readers(123_456) == (1, (56, 12, 34))


def test_the_formula_has_the_numbers_of_the_index():
    p = GRID.T.explain(highlight=(-1, 2))
    assert "[4, 2] is at offset + i*strides[0] + j*strides[1]" in words(p)
    assert "           = 0 + 4*1 + 2*5 = 14" in words(p)
    assert "8 bytes each: it is in the bytes 112 to 119." in words(p)
    assert "           = 4 + 0*5 + 3*(-1) = 1" in words(GRID.flip(axis=1).explain((0, 3)))


def test_cells_that_no_index_reads_are_dashed_and_shared_ones_counted():
    sliced = GRID[1:, ::2].explain()
    dashed = [r for r in all_of(sliced, "rect") if r.get("stroke-dasharray")]
    assert len(dashed) == 11
    assert "Not read by any index: 11 of 20 cells." in words(sliced)
    expanded = words(arange(3).expand(4, 3).explain())
    assert expanded.count("4 ×") == 3  # noqa: RUF001 - the sign of multiplication
    assert "12 indices read 3 cells: some cells are shared." in expanded


@pytest.mark.parametrize("index", [(4, 0), (0,), (0, 0, 0), 1, (0.5, 0), "ab"])
def test_a_highlight_outside_is_an_error(index):
    with pytest.raises(OutOfRangeError, match="to highlight index"):
        GRID.explain(highlight=index)


def test_an_empty_tensor_has_nothing_to_highlight():
    assert "no elements: a size is 0" in words(zeros(3, 0).explain())
    with pytest.raises(OutOfRangeError):
        zeros(3, 0).explain(highlight=(0, 0))


class Own:
    """A learner's tensor, over a plain list."""

    def __init__(self, shape, strides, offset=0, size=6):
        self.buf, self.shape, self.strides, self.offset = list(range(size)), shape, strides, offset


def test_a_class_of_one_s_own_is_drawn():
    p = check(viz.explain(Own([2, 3], [3, 1])))
    assert "memory: 6 numbers" in words(p)


def test_wrong_strides_are_drawn_with_what_they_would_read_outside():
    p = check(viz.explain(Own((2, 3), (4, 1))))
    assert words(p).count("?") == 1 and len(fills(p, "pink wash")) == 1
    assert "There is no cell 6: the memory ends at 5." in words(p)
    assert words(viz.explain(Own((2, 3), (3, 1), offset=-1))).count("?") == 1
    p = check(viz.explain(Own((2,), (-3,), offset=2)))
    assert "There is no cell -1: the memory begins at 0." in words(p)


def test_what_is_no_tensor_is_refused():
    with pytest.raises(DTypeError, match=r"it has no \.buf"):
        viz.explain([1, 2])
    with pytest.raises(ShapeError, match="2 axes but 1 strides"):
        viz.explain(Own((2, 3), (1,)))


def test_the_map_is_printed_in_a_terminal():
    assert str(Tensor([[1.0, 2.0], [3.0, 4.0]]).T.explain()) == (
        "shape (2, 2)    strides (1, 2)    offset 0\n"
        "[0, :]  1.0@0  3.0@2\n"
        "[1, :]  2.0@1  4.0@3\n"
        "memory: 4 x float32\n"
        "[1, 1] is at offset + i*strides[0] + j*strides[1]\n"
        "           = 0 + 1*1 + 1*2 = 3\n"
        "4 bytes each: it is in the bytes 12 to 15."
    )


# ---- one memory, several tensors -----------------------------------------------------------------


def test_shared_marks_the_cells_of_each_tensor():
    a = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    p = check(viz.shared(a, a.T, a[:, 1], a[0].expand(2, 3), names=["a", "a.T", "a[:, 1]", "e"]))
    assert len(fills(p, "blue wash")) == len(fills(p, "orange wash")) == 6
    assert len(fills(p, "green wash")) == 2 and len(fills(p, "pink wash")) == 3
    assert {"a.T", "2,1", "a[:, 1]:  shape (2,)  strides (3,)  offset 1"} <= set(words(p))
    long = arange(500)
    check(viz.shared(*(long[i:] for i in range(3))))


def test_shared_needs_one_memory_and_a_name_each():
    a = arange(4)
    with pytest.raises(ShapeError, match="a memory of its own"):
        viz.shared(a, a.copy())
    with pytest.raises(ShapeError, match="1 names"):
        viz.shared(a, a, names=["a"])
    with pytest.raises(ShapeError, match="no tensor"):
        viz.shared()


# ---- bytes ---------------------------------------------------------------------------------------


def test_bytes_are_read_as_struct_reads_them():
    raw = struct.pack("=dq", 3.14159, -2)
    p = check(viz.bytes(raw, "float64", "int64", "uint8", "h", "c"))
    shown = words(p)
    assert {f"{b:02x}" for b in raw} <= set(shown)
    assert "3.14159" in shown and "-2" in shown
    assert [w for w in shown if w in map(str, struct.unpack("=8h", raw))]
    assert len(fills(p, "wash")) == 16  # one cell per byte
    assert [len(fills(p, f"{s} wash")) for s in ("blue", "orange", "green", "pink")] == [
        2,
        2,
        16,
        8,
    ]


def test_a_buffer_is_read_as_its_own_dtype():
    assert viz.bytes(Buffer([1.5, 2.0])).title == "8 bytes read as float32"
    assert viz.bytes(Tensor([1, 2])).title == "16 bytes read as int64"
    assert "1.5" in words(viz.bytes(Tensor([1.5], dtype="bfloat16"), tutor.bfloat16))


def test_bytes_that_fill_no_item_and_bytes_left_out_are_told():
    assert "2 left over" in words(check(viz.bytes(b"123456", "f")))
    assert "The other 36 bytes are left out." in words(check(viz.bytes(bytes(100), "d")))
    check(viz.bytes(b"", "float64"))


def test_bytes_refuses_what_it_cannot_read():
    with pytest.raises(DTypeError, match="no memory to be read"):
        viz.bytes([1, 2])
    with pytest.raises(DomainError, match="no such number"):
        viz.bytes(b"12", "z")
    with pytest.raises(DTypeError):
        viz.bytes(b"12", "float63")

"""Checkpoints: what is saved comes back to the bit, and no damaged file gets through."""

from __future__ import annotations

import json
import struct

import pytest

from tutor import DTYPES, Tensor
from tutor.errors import DataError, DTypeError, TutorError
from tutor.nn import checkpoint


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


def header_of(path):
    """The header's length and the header, read without tutor."""
    payload = path.read_bytes()
    (length,) = struct.unpack("<Q", payload[:8])
    return length, json.loads(payload[8 : 8 + length])


def test_tensors_and_notes_come_back(tmp_path):
    tensors = {f"t.{d.name}": Tensor([[0, 1], [1, 0]], dtype=d).T for d in DTYPES}
    tensors |= {"empty": Tensor.zeros(0, 3), "single": Tensor(2.5), "part": Tensor.arange(9)[2::3]}
    tensors |= {'é\n"': Tensor([True]), "": Tensor([1.0]), "learned": Tensor([1.0]) + 1}
    path = tmp_path / "deep" / "file.safetensors"
    checkpoint.save(path, tensors, {"note": "ä", "": "\0", "none": ""})
    loaded, notes = checkpoint.load(path, checked=True)
    assert notes == {"note": "ä", "": "\0", "none": ""}
    assert list(loaded) == list(tensors)
    for name, t in tensors.items():
        assert loaded[name].dtype is t.dtype
        assert loaded[name].shape == t.shape
        assert loaded[name].tolist() == t.tolist()
    assert [p.name for p in path.parent.iterdir()] == ["file.safetensors"]


def test_nothing_at_all_is_a_checkpoint_too(path):
    checkpoint.save(path, {}, {})
    assert checkpoint.load(path, checked=True) == ({}, {})


def test_the_numbers_begin_at_a_multiple_of_8(path):
    """So that other programs may use the file's memory as it is. Headers of every length."""
    found = set()
    for extra in range(16):
        checkpoint.save(path, {"w" * (extra + 1): Tensor([1.0])}, {})
        length, header = header_of(path)
        found.add(len(json.dumps(header)) % 8)
        assert length % 8 == 0
        assert path.stat().st_size == 8 + length + 4
    assert found == set(range(8)), "no header of some length was tried"


def test_a_view_is_saved_without_the_rest_of_its_buffer(path):
    """Neither the numbers around it (they may be secret, and are large), nor a whole one's tail."""
    whole = Tensor.arange(100_000, dtype="float32")
    views = {"middle": whole[10:20], "start": whole[:3], "row": whole.reshape(10, 10_000)[4, :2]}
    assert all(view.is_contiguous() and view.buf is whole.buf for view in views.values())
    checkpoint.save(path, views, {})
    length, _ = header_of(path)
    assert path.stat().st_size == 8 + length + 4 * (10 + 3 + 2)
    loaded, _ = checkpoint.load(path)
    assert {name: t.tolist() for name, t in loaded.items()} == {
        name: t.tolist() for name, t in views.items()
    }


def test_the_old_checkpoint_is_replaced_never_written_over(path):
    """A second name of the old file still has the old content: the new one is another file."""
    checkpoint.save(path, {"w": Tensor([1.0])}, {"at": "old"})
    other = path.with_name("other")
    other.hardlink_to(path)
    checkpoint.save(path, {"w": Tensor([2.0])}, {"at": "new"})
    assert checkpoint.load(other)[1] == {"at": "old"}
    assert checkpoint.load(path)[1] == {"at": "new"}


def test_the_safetensors_package_reads_them(path):
    numpy = pytest.importorskip("safetensors.numpy")
    safetensors = pytest.importorskip("safetensors")
    names = [d.name for d in DTYPES if d.name != "bfloat16"]
    tensors = {name: Tensor([[0, 1], [1, 0]], dtype=name).T for name in names}
    tensors |= {"one": Tensor(2.5), "none": Tensor.zeros(0, 3), "ü": Tensor([True])}
    checkpoint.save(path, tensors, {"note": "ä"})
    loaded = numpy.load_file(path)
    assert loaded.keys() == tensors.keys()
    for name, t in tensors.items():
        assert loaded[name].dtype.name == t.dtype.name
        assert loaded[name].tolist() == t.tolist()
    with safetensors.safe_open(path, "numpy") as file:
        assert file.metadata()["note"] == "ä"


def test_files_of_the_safetensors_package_are_read(path):
    np = pytest.importorskip("numpy")
    numpy = pytest.importorskip("safetensors.numpy")
    arrays = {"b": np.arange(6, dtype=np.float16).reshape(2, 3), "a": np.zeros((0, 2), np.int8),
              "c": np.array(True)}  # fmt: skip
    for metadata in (None, {"by": "another"}):
        numpy.save_file(arrays, path, metadata)
        loaded, notes = checkpoint.load(path)
        assert notes == (metadata or {})
        assert {n: t.tolist() for n, t in loaded.items()} == {
            n: a.tolist() for n, a in arrays.items()
        }
        with pytest.raises(DataError, match="another program") as caught:
            checkpoint.load(path, checked=True)
        assert in_three_parts(caught.value)


def in_three_parts(error):
    parts = [line.partition(":")[0] for line in str(error).splitlines()]
    return parts == ["asked", "found", "to do"]


# ---- damage --------------------------------------------------------------------------------------


def test_one_changed_byte_anywhere_is_noticed(path):
    tensors = {"w": Tensor([1.0, -2.0]), "mask": Tensor([True, False]), "none": Tensor.zeros(0, 3)}
    checkpoint.save(path, tensors, {"at": "[1, 2]"})
    payload = path.read_bytes()
    for position in range(len(payload)):
        for flip in (1, 32, 128):
            changed = bytearray(payload)
            changed[position] ^= flip
            path.write_bytes(changed)
            with pytest.raises(DataError) as caught:
                checkpoint.load(path)
            assert in_three_parts(caught.value), str(caught.value)


def test_a_lost_end_and_an_added_one_are_noticed(path):
    checkpoint.save(path, {"w": Tensor([1.0, 2.0])}, {})
    payload = path.read_bytes()
    for changed in [payload[:length] for length in range(len(payload))] + [payload + b"\0"]:
        path.write_bytes(changed)
        with pytest.raises(DataError) as caught:
            checkpoint.load(path)
        assert in_three_parts(caught.value)


def test_another_tensor_under_the_same_header_is_noticed(path):
    """What no look at the header can find: all is well formed, the numbers are others."""
    checkpoint.save(path, {"w": Tensor([1.0, 2.0])}, {})
    first = path.read_bytes()
    checkpoint.save(path, {"w": Tensor([3.0, 4.0])}, {})
    path.write_bytes(first[:-8] + path.read_bytes()[-8:])
    with pytest.raises(DataError, match="SHA-256"):
        checkpoint.load(path)


@pytest.mark.parametrize(
    "content", [b"", b"no checkpoint", b"\xff" * 100, b"\x80" * 8 + b"{}", None]
)
def test_what_is_no_such_file(path, content):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match="checkpoint") as caught:
        checkpoint.load(path)
    assert in_three_parts(caught.value)


def test_a_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(DataError, match="Is a directory"):
        checkpoint.load(tmp_path)


ROW = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
HEADERS = [  # of files that hold 8 bytes of numbers; what the error says
    ([], "a header that is a list"),
    ("text", "a header that is a str"),
    (None, "a header that is a NoneType"),
    ({"w": 3}, "'w' is not described"),
    ({"w": {}}, "'w' is not described"),
    ({"w": {"dtype": "F32", "shape": [2]}}, "'w' is not described"),
    ({"w": {**ROW, "more": 1}}, "'w' is not described"),
    ({"w": {**ROW, "dtype": "F8_E4M3", "shape": [8]}}, "dtype 'F8_E4M3'; tutor has BOOL"),
    ({"w": {**ROW, "dtype": "C64", "shape": [1]}}, "dtype 'C64'"),
    ({"w": {**ROW, "dtype": ["F32"]}}, "dtype"),
    ({"w": {**ROW, "dtype": 32}}, "dtype 32"),
    ({"w": {**ROW, "shape": 2}}, "no shape"),
    ({"w": {**ROW, "shape": [2.0]}}, "no shape"),
    ({"w": {**ROW, "shape": ["2"]}}, "no shape"),
    ({"w": {**ROW, "shape": [True, 2]}}, "no shape"),
    ({"w": {**ROW, "shape": [-1, -2]}}, "no shape"),
    ({"w": {**ROW, "shape": [1] * 17 + [2]}}, "no shape"),
    ({"w": {**ROW, "shape": [3]}}, "shape \\(3,\\), in 8 bytes"),
    ({"w": {**ROW, "shape": [2**62]}}, "in 8 bytes"),
    ({"w": {**ROW, "data_offsets": [8, 0]}}, "in -8 bytes"),
    ({"w": {**ROW, "data_offsets": [0, 8, 8]}}, "no shape"),
    ({"w": {**ROW, "data_offsets": [-8, 0]}}, "no shape"),
    ({"w": {**ROW, "data_offsets": {"0": 8}}}, "no shape"),
    ({"w": {**ROW, "data_offsets": [8, 16]}}, "begins at byte 8"),
    ({"w": {**ROW, "data_offsets": [0, 2**63], "shape": [2**61]}}, "8 bytes of numbers"),
    ({"w": {**ROW, "shape": [1], "data_offsets": [0, 4]}}, "8 bytes of numbers"),
    ({"w": ROW, "v": ROW}, "begins at byte 0"),
    ({"w": ROW, "v": {**ROW, "shape": [1], "data_offsets": [4, 8]}}, "begins at byte 4"),
    ({"w": ROW, "__metadata__": 3}, "no table of texts"),
    ({"w": ROW, "__metadata__": {"n": 3}}, "no table of texts"),
    ({"w": ROW, "__metadata__": {"n": ["a"]}}, "no table of texts"),
    ({"w": ROW, "__metadata__": {checkpoint.FORMAT: "1"}}, "one of the two marks"),
    ({"w": ROW, "__metadata__": {checkpoint.CHECKSUM: "0" * 64}}, "one of the two marks"),
    ({"w": ROW, "__metadata__": {checkpoint.FORMAT: "1", checkpoint.CHECKSUM: ""}}, "two marks"),
    ({"w": ROW, "__metadata__": {checkpoint.FORMAT: "2", checkpoint.CHECKSUM: "0" * 64}}, "'2'"),
    ({"w": ROW, "__metadata__": {checkpoint.FORMAT: "1", checkpoint.CHECKSUM: "0" * 64}}, "SHA"),
    ({"w": ROW, "__metadata__": {checkpoint.FORMAT: "1", checkpoint.CHECKSUM: "é" * 64}}, "SHA"),
]  # fmt: skip


def file_of(header, numbers=bytes(8)):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + numbers


@pytest.mark.parametrize(("header", "found"), HEADERS)
def test_headers_that_are_wrong(path, header, found):
    path.write_bytes(file_of(header))
    with pytest.raises(DataError, match=found) as caught:
        checkpoint.load(path)
    assert in_three_parts(caught.value)


def test_the_row_that_the_wrong_ones_are_made_of_is_right(path):
    path.write_bytes(file_of({"w": ROW, "__metadata__": {"n": "a"}}))
    tensors, notes = checkpoint.load(path)
    assert (tensors["w"].tolist(), notes) == ([0, 0], {"n": "a"})


TEXTS = [  # headers that are no JSON, or JSON that json.dumps does not write
    (b"{" * 100_000, "no JSON"),
    (b'{"w": ' * 100_000, "no JSON"),
    (b"[" * 100_000, "no JSON"),
    (b"\xff\xfe{}", "no JSON"),
    (b"", "no JSON"),
    (b'{"w": 1' + b"0" * 5000 + b"}", "no JSON"),
    (b'{"w":' + json.dumps(ROW).encode() + b',"w":' + json.dumps(ROW).encode() + b"}", "twice"),
    (b'{"__metadata__":{"a":"1","a":"2"},"w":' + json.dumps(ROW).encode() + b"}", "twice"),
    (b'{"w": {"dtype": "F32", "shape": [NaN], "data_offsets": [0, 8]}}', "no shape"),
    (b'{"w": {"dtype": "F32", "shape": [Infinity], "data_offsets": [0, 8]}}', "no shape"),
]


@pytest.mark.parametrize(("text", "found"), TEXTS, ids=range(len(TEXTS)))
def test_headers_that_are_no_header(path, text, found):
    path.write_bytes(file_of(text))
    with pytest.raises(DataError, match=found) as caught:
        checkpoint.load(path)
    assert in_three_parts(caught.value)


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 10**12, 101, 0])
def test_a_length_that_cannot_be(path, length):
    path.write_bytes(struct.pack("<Q", length) + b"{}" + bytes(90))
    with pytest.raises(DataError):
        checkpoint.load(path)


# ---- what save refuses ---------------------------------------------------------------------------

REFUSED = [
    ({"__metadata__": Tensor([1.0])}, {}, DataError, "its own use"),
    ({3: Tensor([1.0])}, {}, DTypeError, "3, a int"),
    ({None: Tensor([1.0])}, {}, DTypeError, "None, a NoneType"),
    ({"\ud800": Tensor([1.0])}, {}, DataError, "UTF-8"),
    ({"w": [1.0]}, {}, DTypeError, "it is a list"),
    ({"w": None}, {}, DTypeError, "it is a NoneType"),
    ([Tensor([1.0])], {}, DTypeError, "a list"),
    ({}, {"epoch": 3}, DTypeError, "3, a int"),
    ({}, {"epoch": None}, DTypeError, "None, a NoneType"),
    ({}, {3: "epoch"}, DTypeError, "3, a int"),
    ({}, {"a": "\udfff"}, DataError, "UTF-8"),
    ({}, "notes", DTypeError, "a str"),
    ({}, {checkpoint.CHECKSUM: "0" * 64}, DataError, "its own use"),
    ({}, {checkpoint.FORMAT: "1"}, DataError, "its own use"),
]


@pytest.mark.parametrize(("tensors", "notes", "error", "found"), REFUSED)
def test_save_refuses_what_load_would(path, tensors, notes, error, found):
    checkpoint.save(path, {}, {"at": "before"})
    with pytest.raises(TutorError, match=found) as caught:
        checkpoint.save(path, tensors, notes)
    assert type(caught.value) is error
    assert in_three_parts(caught.value)
    assert checkpoint.load(path)[1] == {"at": "before"}
    assert list(path.parent.iterdir()) == [path]

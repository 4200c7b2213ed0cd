"""Bundles that build on others: what is read of a chain, and what a chain that cannot be used says."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from resources.file.bundle.arrays import add, read

from headrace.core import dtypes, errors
from headrace.resources.file.bundle.base import LONGEST, bases_of
from headrace.resources.file.bundle.entry import Entry, Header, Lineage
from headrace.resources.file.bundle.merge import merge_bundles
from headrace.resources.file.bundle.opening import open_checkpoint
from headrace.resources.file.bundle.reader import BundleReader
from headrace.resources.file.bundle.table import table_bytes
from headrace.resources.file.bundle.writer import BundleWriter, array_pieces

TABLE = np.arange(24, dtype=np.float32).reshape(6, 4)


def whole(prefix, own_id="one", **arrays):
    with BundleWriter(str(prefix), Lineage(own_id)) as writer:
        for name, array in sorted(arrays.items()):
            add(writer, name, array)


def delta(prefix, base, rows, values, shape=TABLE.shape, own_id="two", base_id="one", part=None, **more):
    values = np.asarray(values)
    with BundleWriter(str(prefix), Lineage(own_id, base, base_id)) as writer:
        pieces = array_pieces(values)
        writer.add_rows("t", dtypes.as_dtype(values.dtype), shape, np.array(rows, np.int64), pieces, part)
        for name, array in more.items():
            add(writer, name, array)


def rows_of(*numbers):
    return np.array([[n] * 4 for n in numbers], np.float32)


def test_rows_are_put_over_those_of_the_base(tmp_path):
    whole(tmp_path / "a", t=TABLE, w=np.zeros(2), s=np.array([b"x"], object))
    delta(tmp_path / "b", "a", [1, 4], rows_of(-1, -2), w=np.ones(2))
    delta(tmp_path / "c", "b", [4], rows_of(-3), own_id="three", base_id="two", w=np.full(2, 2.0))
    expected = TABLE.copy()
    expected[1], expected[4] = -1, -3
    found = read(f"{tmp_path}/c")
    assert sorted(found) == ["t", "w"]
    np.testing.assert_array_equal(found["t"], expected)
    np.testing.assert_array_equal(found["w"], 2.0)
    with open_checkpoint(f"{tmp_path}/c") as checkpoint:
        assert checkpoint.map("t") is None
        np.testing.assert_array_equal(checkpoint.read_slice("t", ((3, 2), (0, 4))), expected[3:5])
    assert bases_of(f"{tmp_path}/c") == [f"{tmp_path}/b", f"{tmp_path}/a"]
    np.testing.assert_array_equal(read(f"{tmp_path}/a")["t"], TABLE)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float64, np.int8, np.int64, np.bool_, np.complex128, np.uint16]
)  # fmt: skip
def test_numbers_of_every_size(tmp_path, dtype):
    table = np.arange(21).reshape(7, 3).astype(dtype)
    new = (1 - table[[0, 6, 2]]).astype(dtype) if dtype is not np.bool_ else ~table[[0, 6, 2]]
    whole(tmp_path / "a", t=table)
    delta(tmp_path / "b", "a", [0, 6, 2], new, table.shape)
    expected = table.copy()
    expected[[0, 6, 2]] = new
    np.testing.assert_array_equal(read(f"{tmp_path}/b")["t"], expected)


def test_no_rows_at_all(tmp_path):
    whole(tmp_path / "a", t=TABLE)
    delta(tmp_path / "b", "a", [], np.zeros((0, 4), np.float32))
    np.testing.assert_array_equal(read(f"{tmp_path}/b")["t"], TABLE)
    assert bases_of(f"{tmp_path}/b") == [f"{tmp_path}/a"]


def test_slices_have_rows_of_their_own(tmp_path):
    for name, own_id, base in (("a", "one", ""), ("b", "two", "a")):
        with BundleWriter(f"{tmp_path}/{name}", Lineage(own_id, base, "one" if base else "")) as writer:
            for start in (0, 3):
                part = ((6, 4), ((start, 3), (0, 4)))
                if base:
                    rows = np.array([2], np.int64)
                    writer.add_rows("t", dtypes.float32, (3, 4), rows, array_pieces(rows_of(-start)), part)
                else:
                    add(writer, "t", TABLE[start : start + 3], part)
    expected = TABLE.copy()
    expected[2], expected[5] = 0, -3
    with open_checkpoint(f"{tmp_path}/b") as checkpoint:
        np.testing.assert_array_equal(checkpoint.read("t"), expected)
        np.testing.assert_array_equal(checkpoint.read_slice("t", ((1, 3), (0, 4))), expected[1:4])


def test_merged_shards_keep_what_they_build_on(tmp_path):
    whole(tmp_path / "a", t=TABLE)
    delta(tmp_path / "b0", "a", [1], rows_of(-1))
    whole(tmp_path / "b1", "two", w=np.zeros(2))
    with BundleWriter(f"{tmp_path}/b2") as writer:
        add(writer, "v", np.ones(3))
    merge_bundles([f"{tmp_path}/b{i}" for i in range(3)], f"{tmp_path}/b")
    assert BundleReader(f"{tmp_path}/b").lineage == Lineage("two", "a", "one")
    found = read(f"{tmp_path}/b")
    assert sorted(found) == ["t", "v", "w"]
    np.testing.assert_array_equal(found["t"][1], -1)
    delta(tmp_path / "c0", "a", [1], rows_of(-1))
    whole(tmp_path / "c1", "other", w=np.zeros(2))
    with pytest.raises(errors.InvalidArgumentError, match="do not belong together"):
        merge_bundles([f"{tmp_path}/c0", f"{tmp_path}/c1"], f"{tmp_path}/c")


def test_what_has_all_rows_needs_no_base(tmp_path):
    with BundleWriter(f"{tmp_path}/b", Lineage("two", "a", "one")) as writer:
        add(writer, "t", TABLE)
    assert BundleReader(f"{tmp_path}/b").lineage == Lineage("two")
    assert bases_of(f"{tmp_path}/b") == []
    assert b"\x10\x02" not in Header(1, lineage=Lineage("two")).encode()
    assert b"\x10\x02" in Header(1, lineage=Lineage("two", "a", "one")).encode()  # a consumer of version 2 at least


# ---- what cannot be used


def test_a_base_that_is_gone(tmp_path):
    delta(tmp_path / "b", "a", [1], rows_of(-1))
    with pytest.raises(errors.NotFoundError, match=r"b.index builds on the checkpoint 'a', but there is no .*a.index"):
        read(f"{tmp_path}/b")
    with pytest.raises(errors.NotFoundError, match=r"b.index builds on the checkpoint 'a', but there is no .*a.index"):
        bases_of(f"{tmp_path}/b")


@pytest.mark.parametrize("other", ["another", ""])
def test_a_base_that_was_replaced(tmp_path, other):
    whole(tmp_path / "a", t=TABLE)
    delta(tmp_path / "b", "a", [1], rows_of(-1))
    whole(tmp_path / "a", other, t=TABLE + 1)
    with pytest.raises(
        errors.DataLossError, match=r"b.index builds on .*'a' with the id 'one', but .*a.index has .* id"
    ):
        read(f"{tmp_path}/b")


def test_a_loop_of_bases(tmp_path):
    delta(tmp_path / "a", "b", [1], rows_of(-1), own_id="one", base_id="two")
    delta(tmp_path / "b", "a", [1], rows_of(-1))
    with pytest.raises(
        errors.DataLossError, match=r"a.index builds on the checkpoint 'b', which builds on it: .*b -> .*a"
    ):
        read(f"{tmp_path}/b")
    delta(tmp_path / "c", "c", [1], rows_of(-1))
    with pytest.raises(errors.DataLossError, match=r"c.index builds on the checkpoint 'c', which builds on it"):
        read(f"{tmp_path}/c")


@pytest.mark.parametrize("name", ["../a", "sub/a", "/etc/a", "..", "x\\a"])
def test_a_base_elsewhere(tmp_path, name):
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        whole(folder / "a", t=TABLE)
    delta(tmp_path / "sub" / "b", name, [1], rows_of(-1))
    with pytest.raises(errors.DataLossError, match="which is no name of a checkpoint in the same folder"):
        read(f"{tmp_path}/sub/b")


def test_a_chain_that_is_too_long(tmp_path):
    whole(tmp_path / "0", "0", t=TABLE)
    for i in range(1, LONGEST + 1):
        delta(tmp_path / str(i), str(i - 1), [i % 6], rows_of(i), own_id=str(i), base_id=str(i - 1))
    found = read(f"{tmp_path}/{LONGEST - 1}")["t"]
    assert sorted(found[:, 0].tolist()) == list(range(LONGEST - 6, LONGEST))
    with pytest.raises(errors.DataLossError, match=f"{LONGEST} needs more than {LONGEST} checkpoints"):
        read(f"{tmp_path}/{LONGEST}")


@pytest.mark.parametrize("number", [6, -1, 1 << 60])
def test_a_row_that_the_base_does_not_have(tmp_path, number):
    whole(tmp_path / "a", t=TABLE)
    delta(tmp_path / "b", "a", [2, number], rows_of(-1, -2))
    with pytest.raises(errors.DataLossError, match=rf"b.data-.*: t has row {number}, its base has 6 rows"):
        read(f"{tmp_path}/b")


@pytest.mark.parametrize(
    ("arrays", "found"),
    [
        ({"t": TABLE[:5]}, r"float32 \[5, 4\]"), ({"t": TABLE.astype(np.float64)}, r"float64 \[6, 4\]"),
        ({"u": TABLE}, "nothing"),
        ({"t": TABLE.reshape(6, 2, 2)}, r"float32 \[6, 2, 2\]"),
    ],
)  # fmt: skip
def test_a_base_that_does_not_fit(tmp_path, arrays, found):
    whole(tmp_path / "a", **arrays)
    delta(tmp_path / "b", "a", [1], rows_of(-1))
    with pytest.raises(
        errors.DataLossError, match=rf"b.index: t is float32 \[6, 4\].* base .*/a, which has {found} under"
    ):
        read(f"{tmp_path}/b")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Entry(dtypes.float32, (6, 4), size=24 * 7, rows=7), r"the entry b't' is damaged: 7 rows of float32 \[6, 4\]"),
        (Entry(dtypes.float32, (), size=12, rows=1), r"the entry b't' is damaged: 1 rows of float32 \[\]"),
        (Entry(dtypes.string, (6,), size=12, rows=1), r"the entry b't' is damaged: 1 rows of string \[6\]"),
        (Entry(dtypes.float32, (6, 4), size=96, rows=1), r"t has 96 bytes, but float32 \[6, 4\] takes 24"),
    ],
)
def test_an_entry_that_cannot_be(tmp_path, entry, message):
    whole(tmp_path / "a", t=TABLE)
    header = Header(1, lineage=Lineage("two", "a", "one")).encode()
    Path(f"{tmp_path}/b.index").write_bytes(table_bytes([(b"", header), (b"t", entry.encode())]))
    Path(f"{tmp_path}/b.data-00000-of-00001").write_bytes(bytes(200))
    with pytest.raises(errors.DataLossError, match=message):
        read(f"{tmp_path}/b")


def test_rows_without_a_base(tmp_path):
    header, entry = Header(1).encode(), Entry(dtypes.float32, (6, 4), size=24, rows=1).encode()
    Path(f"{tmp_path}/b.index").write_bytes(table_bytes([(b"", header), (b"t", entry)]))
    Path(f"{tmp_path}/b.data-00000-of-00001").write_bytes(bytes(24))
    with pytest.raises(errors.DataLossError, match="t has some rows only, but no base is named"):
        read(f"{tmp_path}/b")


def test_damage_anywhere_in_a_chain_is_noticed(tmp_path):
    good = tmp_path / "good"
    good.mkdir()
    whole(good / "a", t=TABLE, w=np.zeros(3))
    delta(good / "b", "a", [1, 4], rows_of(-1, -2), w=np.ones(3))
    delta(good / "c", "b", [2], rows_of(-3), own_id="three", base_id="two", w=np.ones(3))
    expected = read(f"{good}/c")
    draw, noticed = random.Random(2), 0
    for path in sorted(good.iterdir()):
        data = path.read_bytes()
        for at in draw.sample(range(len(data)), min(len(data), 25)):
            for damaged in (data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :], data[:at]):
                shutil.rmtree(tmp_path / "bad", ignore_errors=True)
                shutil.copytree(good, tmp_path / "bad")
                (tmp_path / "bad" / path.name).write_bytes(damaged)
                try:
                    found = read(f"{tmp_path}/bad/c")
                except (errors.DataLossError, errors.InvalidArgumentError) as error:
                    assert str(tmp_path / "bad") in str(error)
                    noticed += 1
                else:
                    np.testing.assert_array_equal(found["t"], expected["t"])
                    np.testing.assert_array_equal(found["w"], expected["w"])
    assert noticed > 100

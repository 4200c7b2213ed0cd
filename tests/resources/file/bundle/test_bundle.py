"""Bundles: what TensorFlow wrote, what we write, slices, shards, replacing, damage."""

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import checkpoint_cases as cases
from resources.file.bundle.arrays import add, read, same, write

from headrace.core import dtypes, errors, file, remote_file
from headrace.resources.file.bundle import writer as writing
from headrace.resources.file.bundle.entry import Entry, Header
from headrace.resources.file.bundle.merge import merge_bundles
from headrace.resources.file.bundle.opening import open_checkpoint
from headrace.resources.file.bundle.reader import BundleReader
from headrace.resources.file.bundle.table import table_bytes
from headrace.resources.file.bundle.writer import BundleWriter, array_pieces

GOLDEN = Path(__file__).parents[3] / "golden/checkpoints"
PARTITIONED = {"rows": cases.ROWS, "columns": cases.COLUMNS, "whole": cases.ROWS[:, 0]}
TWO = {"on_0": cases.ROWS, "on_1": cases.ROWS + 1}


@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        ("plain", cases.plain()), ("many", cases.many()), ("partitioned", PARTITIONED),
        ("partitioned_resource", PARTITIONED), ("two_devices", TWO), ("v1", cases.v1()), ("v1_partitioned", PARTITIONED),
        ("v1_sharded-?????-of-00002", TWO), ("v1_sharded-00001-of-00002", {"on_1": TWO["on_1"]}),
    ],
)  # fmt: skip
def test_reads_what_tensorflow_wrote(name: str, arrays: dict[str, Any]) -> None:
    same(read(str(GOLDEN / name)), arrays)


def test_dtypes_that_numpy_lacks() -> None:
    with open_checkpoint(str(GOLDEN / "odd")) as checkpoint:
        assert {n: e.dtype for n, e in checkpoint.entries.items()} == {
            "bfloat16": dtypes.bfloat16,
            "qint8": dtypes.qint8,
        }
        bits = checkpoint.read("bfloat16").astype(np.uint32) << 16
        np.testing.assert_allclose(bits.view(np.float32), cases.BFLOAT16, rtol=0.01)
        np.testing.assert_array_equal(checkpoint.read("qint8"), cases.QUANTIZED)


@pytest.mark.parametrize("scheme", ["", "memory://"])
def test_round_trip(tmp_path: Path, scheme: str) -> None:
    prefix = f"{scheme}{tmp_path}/folder/model"
    write(prefix, cases.plain())
    same(read(prefix), cases.plain())
    if scheme:
        remote_file.DeleteRecursively(f"{scheme}{tmp_path}")


@pytest.mark.parametrize("name", ["plain", "many", "partitioned"])
def test_writes_the_bytes_that_tensorflow_writes(tmp_path: Path, name: str) -> None:
    with BundleReader(str(GOLDEN / name)) as reader, BundleWriter(f"{tmp_path}/{name}") as writer:
        for key, entry in reader.entries.items():
            for extents in entry.slices or (None,):
                part = None if extents is None else (entry.shape, extents)
                add(writer, key, reader.read(key) if extents is None else reader.read_slice(key, extents), part)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (GOLDEN / path.name).read_bytes(), path.name


def test_slices_read_in_other_slices() -> None:
    for prefix in ("partitioned", "v1_partitioned"):
        with open_checkpoint(str(GOLDEN / prefix)) as checkpoint:
            np.testing.assert_array_equal(checkpoint.read_slice("rows", ((2, 5), (1, 2))), cases.ROWS[2:7, 1:])
            np.testing.assert_array_equal(checkpoint.read_slice("columns", ((0, -1), (3, 0))), cases.COLUMNS[:, 3:3])
            np.testing.assert_array_equal(checkpoint.read_slice("whole", ((3, 2),)), cases.ROWS[3:5, 0])


def test_slices_that_leave_a_hole(tmp_path: Path) -> None:
    prefix = f"{tmp_path}/model"
    with BundleWriter(prefix) as writer:
        add(writer, "x", np.ones([2]), ((6,), ((0, 2),)))
        add(writer, "x", np.ones([2]), ((6,), ((4, 2),)))
    with open_checkpoint(prefix) as checkpoint:
        np.testing.assert_array_equal(checkpoint.read_slice("x", ((4, 1),)), [1])
        with pytest.raises(errors.InvalidArgumentError, match="slices of x .* have 4 of the 6 elements .*0,6"):
            checkpoint.read("x")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ((np.ones([2]), None), "Adding duplicate key: x"),
        ((np.ones([2]), ((8,), ((2, 2),))), r"slices of x do not belong together: float64 \[8\] and float64 \[6\]"),
        ((np.ones([2], np.int32), ((6,), ((2, 2),))), r"int32 \[6\] and float64 \[6\]"),
        ((np.ones([2]), ((6,), ((0, 2),))), "Adding duplicate key: x"),
    ],
)
def test_refuses_what_does_not_belong_together(tmp_path: Path, second: Any, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message), BundleWriter(f"{tmp_path}/model") as writer:
        add(writer, "x", np.ones([2]), ((6,), ((0, 2),)))
        add(writer, "x", *second)
    assert not os.listdir(tmp_path)


# ---- shards


def test_merge(tmp_path: Path) -> None:
    prefixes = [f"{tmp_path}/model_temp/part-{i:05d}-of-00002" for i in range(2)]
    for i, prefix in enumerate(prefixes):
        with BundleWriter(prefix) as writer:
            add(writer, f"own_{i}", np.full([3], i))
            add(writer, "cut", cases.ROWS[4 * i : 4 * i + 4], ((8, 3), ((4 * i, 4), (0, 3))))
    merge_bundles(prefixes, f"{tmp_path}/model")
    assert sorted(os.listdir(tmp_path)) == ["model.data-00000-of-00002", "model.data-00001-of-00002", "model.index"]
    same(read(f"{tmp_path}/model"), {"own_0": np.full([3], 0), "own_1": np.full([3], 1), "cut": cases.ROWS})


def test_merge_refuses_the_same_tensor_twice(tmp_path: Path) -> None:
    for name in "ab":
        write(f"{tmp_path}/{name}", {"x": np.ones(2)})
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(errors.InvalidArgumentError, match="b: the tensor x is in another bundle too"):
        merge_bundles([f"{tmp_path}/a", f"{tmp_path}/b"], f"{tmp_path}/model")
    assert sorted(os.listdir(tmp_path)) == before
    with pytest.raises(errors.NotFoundError, match="missing.index"):
        merge_bundles([f"{tmp_path}/a", f"{tmp_path}/missing"], f"{tmp_path}/model")
    merge_bundles([f"{tmp_path}/a", f"{tmp_path}/missing"], f"{tmp_path}/model", allow_missing=True)
    same(read(f"{tmp_path}/model"), {"x": np.ones(2)})


# ---- replacing


def test_a_bundle_replaces_another(tmp_path: Path) -> None:
    prefix = f"{tmp_path}/model"
    for value in range(5):
        write(prefix, {"x": np.full([3], value)})
        same(read(prefix), {"x": np.full([3], value)})
        assert len(os.listdir(tmp_path)) == 2


def test_who_has_it_open_sees_the_old_one(tmp_path: Path) -> None:
    prefix = f"{tmp_path}/model"
    write(prefix, {"x": np.zeros(3)})
    with open_checkpoint(prefix) as old:
        write(prefix, {"x": np.ones(3)})
        np.testing.assert_array_equal(old.read("x"), 0)
    same(read(prefix), {"x": np.ones(3)})


def test_a_crash_at_any_moment_leaves_the_old_or_the_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call that changes the folder fails in turn, and nothing after it happens, as if the process were killed."""
    prefix = f"{tmp_path}/model"
    old, new = {"x": np.zeros(3)}, {"x": np.ones(3), "y": np.ones(2)}

    class Killed(BaseException):
        pass

    finished, moment = False, 0
    while not finished:
        moment += 1
        write(prefix, old)
        left = [moment]

        def dying(real: Any, left: list[int] = left) -> Any:
            def call(*args: Any) -> Any:
                left[0] -= 1
                if left[0] <= 0:
                    raise Killed
                return real(*args)

            return call

        with monkeypatch.context() as patch:
            for name in ("sync", "sync_folder", "replace", "remove", "open_file"):
                patch.setattr(file, name, dying(getattr(file, name)))
            try:
                write(prefix, new)
                finished = True
            except Killed:
                pass
        found = read(prefix)
        same(found, new if "y" in found else old)
    assert moment > 6
    write(prefix, old)
    assert len(os.listdir(tmp_path)) == 2  # leftovers are gone


def test_order_of_syncs_and_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def noted(name: str) -> Any:
        real = getattr(file, name)

        def call(*args: Any) -> Any:
            paths = [getattr(a, "name", a) for a in args]
            calls.append(" ".join([name] + [Path(str(p)).name.split(".tempstate")[0] for p in paths if str(p) != "-1"]))
            return real(*args)

        return call

    for name in ("sync", "sync_folder", "replace", "remove"):
        monkeypatch.setattr(file, name, noted(name))
    write(f"{tmp_path}/model", {"x": np.zeros(3)})
    write(f"{tmp_path}/model", {"x": np.zeros(3)})
    assert calls[:5] == [
        "sync model.data-00000-of-00001", "sync_folder model", "sync model.index", "replace model.index model.index",
        "sync_folder model.index",
    ]  # fmt: skip
    assert calls[5:] == [
        "sync model.data-00000-of-00002", "sync_folder model", "sync model.index", "replace model.index model.index",
        "sync_folder model.index", "remove model.data-00000-of-00001",
    ]  # fmt: skip


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = f"{tmp_path}/model"
    write(prefix, {"x": np.zeros(3)})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(errors.ResourceExhaustedError, match="model.data-00000-of-00002; No space left on device"):
            write(prefix, {"x": np.ones(3)})
    same(read(prefix), {"x": np.zeros(3)})
    assert len(os.listdir(tmp_path)) == 2


# ---- damage


@pytest.mark.parametrize("name", ["plain", "partitioned", "two_devices", "v1"])
def test_flipped_and_missing_bytes(tmp_path: Path, name: str) -> None:
    """Whatever byte is flipped or lost: an error that names the file, or the right values."""
    originals = {path.name: path.read_bytes() for path in GOLDEN.glob(f"{name}.*" if name != "v1" else "v1")}
    expected = read(str(GOLDEN / name))
    draw = random.Random(1)
    for file_name, data in originals.items():
        for at in sorted(draw.sample(range(len(data)), min(len(data), 40))):
            for damaged in (data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :], data[:at]):
                for other, contents in originals.items():
                    (tmp_path / other).write_bytes(damaged if other == file_name else contents)
                try:
                    found = read(f"{tmp_path}/{name}")
                except (errors.DataLossError, errors.InvalidArgumentError) as error:
                    assert f"{tmp_path}/{name}" in str(error)
                else:
                    same(found, expected)


def test_what_the_errors_of_damage_say(tmp_path: Path) -> None:
    prefix = f"{tmp_path}/model"
    write(prefix, {"first": np.zeros(3), "x": np.arange(3), "s": np.array([b"abc"], object)})
    data = Path(f"{prefix}.data-00000-of-00001")
    contents = bytearray(data.read_bytes())
    contents[30] ^= 1
    data.write_bytes(contents)
    with open_checkpoint(prefix) as checkpoint:
        np.testing.assert_array_equal(checkpoint.read("first"), 0)
        with pytest.raises(
            errors.DataLossError, match=r"model.data-0.*: x has a wrong checksum: expected 0x.*, found 0x"
        ):
            checkpoint.read("x")
    data.write_bytes(contents[:40])
    with (
        open_checkpoint(prefix) as checkpoint,
        pytest.raises(errors.DataLossError, match=r"is cut off: x needs bytes 24 to 48, the file has 40"),
    ):
        checkpoint.read("x")
    data.unlink()
    with pytest.raises(errors.NotFoundError, match="model.data-00000-of-00001; No such file"):
        open_checkpoint(prefix)
    with pytest.raises(errors.NotFoundError, match="Failed to find any matching files for .*/nothing"):
        open_checkpoint(f"{tmp_path}/nothing")


@pytest.mark.parametrize(
    ("header", "entry", "error", "message"),
    [
        (Header(1, producer=7, min_consumer=6), {}, errors.InvalidArgumentError, "version 7 .* readers of version 6"),
        (Header(1, big_endian=True), {}, errors.UnimplementedError, "big-endian"),
        (Header(1), {"size": 7}, errors.DataLossError, r"x has 7 bytes, but float32 \[2\] takes 8"),
        (Header(1), {"slices": (((0, 2),),)}, errors.DataLossError, "there is no entry for x .slice 0,2."),
    ],
)
def test_an_index_that_cannot_be_used(
    tmp_path: Path, header: Header, entry: dict[str, Any], error: type[Exception], message: str
) -> None:
    prefix = f"{tmp_path}/model"
    encoded = header.encode()
    if header.min_consumer:
        encoded = b"\x08\x01\x1a\x04\x08\x07\x10\x06"
    place = {"size": 8, **entry}
    items = [(b"", encoded), (b"x", Entry(dtypes.float32, (2,), **place).encode())]
    Path(f"{prefix}.index").write_bytes(table_bytes(items))
    Path(f"{prefix}.data-00000-of-00001").write_bytes(bytes(8))
    with pytest.raises(error, match=message), open_checkpoint(prefix) as checkpoint:
        checkpoint.read("x")


def test_memory_while_writing(tmp_path: Path) -> None:
    """Pieces go to the file as they come; nothing is collected."""
    sizes = []

    class Watched:
        def __init__(self, real: Any) -> None:
            self.real = real

        def write(self, piece: Any) -> None:
            sizes.append(len(piece))
            self.real.write(piece)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.real, name)

    with BundleWriter(f"{tmp_path}/model") as writer:
        writer._file = Watched(writer._file)
        writer.add("x", dtypes.float32, (3 << 20,), array_pieces(np.zeros(3 << 20, np.float32)))
    assert sizes == [1 << 22] * 3
    assert writing._BUFFER <= 1 << 20


# ---- tensors that are mapped


def test_mapped_tensors(tmp_path: Path) -> None:
    """They are checked, keep their values when the bundle is replaced, and can be changed without changing the file."""
    prefix = f"{tmp_path}/model"
    arrays = {"a": np.arange(1 << 16, dtype=np.float32), "b": np.arange(1 << 15, dtype=np.int64), "small": np.ones(3)}
    write(prefix, arrays)
    with open_checkpoint(prefix) as checkpoint:
        mapped = {name: checkpoint.map(name) for name in arrays}
    assert mapped.pop("small") is None
    write(prefix, {"a": np.zeros(3)})
    for name, array in mapped.items():
        np.testing.assert_array_equal(array, arrays[name])
        assert array.dtype == arrays[name].dtype and array.shape == arrays[name].shape
        array[:] = 0


def test_what_is_not_mapped(tmp_path: Path) -> None:
    prefix = f"{tmp_path}/model"
    flags = np.zeros((1 << 17) + 1, bool)
    write(prefix, {"a": flags, "odd": np.arange(1 << 16, dtype=np.float32), "s": np.array([bytes(1 << 17)], object)})
    with open_checkpoint(prefix) as checkpoint:
        assert [checkpoint.map(name) for name in ("a", "odd", "s")] == [None] * 3  # a bool, at an odd place, a string
    with open_checkpoint(str(GOLDEN / "partitioned")) as checkpoint:
        assert checkpoint.map("rows") is None


def test_a_damaged_tensor_is_not_mapped(tmp_path: Path) -> None:
    prefix = f"{tmp_path}/model"
    write(prefix, {"a": np.arange(1 << 16, dtype=np.float32)})
    data = Path(f"{prefix}.data-00000-of-00001")
    contents = bytearray(data.read_bytes())
    contents[-1] ^= 1
    data.write_bytes(contents)
    with open_checkpoint(prefix) as checkpoint, pytest.raises(errors.DataLossError, match="a has a wrong checksum"):
        checkpoint.map("a")
    data.write_bytes(contents[:-1])
    with (
        open_checkpoint(prefix) as checkpoint,
        pytest.raises(errors.DataLossError, match="is cut off: a needs bytes 0"),
    ):
        checkpoint.map("a")

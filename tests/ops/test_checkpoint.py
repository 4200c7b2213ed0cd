"""The ops that save and restore, in sessions and eagerly."""

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from golden import checkpoint_cases as cases

import headrace as tf
from headrace.eager.context import eager_mode
from headrace.graph import raw_ops
from headrace.ops import checkpoint as family

GOLDEN = str(Path(__file__).parents[1] / "golden/checkpoints")


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def saved(prefix: str, arrays: dict[str, Any], slices: list[str] | None = None) -> Any:
    slices = slices or [""] * len(arrays)
    return raw_ops.SaveV2(prefix, list(arrays), slices, list(arrays.values()))


def restored(prefix: str, **names: Any) -> Any:
    return raw_ops.RestoreV2(prefix, list(names), [""] * len(names), dtypes=list(names.values()))


def test_round_trip_of_every_dtype(tmp_path: Path) -> None:
    arrays = cases.plain()
    tensors = {name: tf.constant(array) for name, array in arrays.items()}
    tensors["bfloat16"] = tf.cast(cases.BFLOAT16, tf.bfloat16)
    tensors["quint8"] = tf.bitcast(np.array([1, 255], np.uint8), tf.quint8)
    run(saved(f"{tmp_path}/model", tensors))
    types = [t.dtype for t in tensors.values()]
    back = raw_ops.RestoreV2(f"{tmp_path}/model", list(tensors), [""] * len(tensors), dtypes=types)
    values = dict(zip(tensors, run(back), strict=True))
    np.testing.assert_allclose(values.pop("bfloat16"), cases.BFLOAT16, rtol=0.01)
    np.testing.assert_array_equal(values.pop("quint8"), [1, 255])
    for name, value in values.items():
        assert np.asarray(value).dtype == arrays[name].dtype
        np.testing.assert_array_equal(value, arrays[name])


def test_eagerly(tmp_path: Path) -> None:
    with eager_mode():
        saved(f"{tmp_path}/model", {"x": tf.constant([1.0, 2.0]), "b": tf.cast([1.5], tf.bfloat16)})
        x, b = restored(f"{tmp_path}/model", x=tf.float32, b=tf.bfloat16)
        np.testing.assert_array_equal(x.numpy(), [1, 2])
        assert b.dtype == tf.bfloat16


def test_reads_what_tensorflow_wrote() -> None:
    for prefix in (f"{GOLDEN}/plain", f"{GOLDEN}/v1"):
        value, words = run(restored(prefix, float32=tf.float32, **{"text/words": tf.string}))
        np.testing.assert_array_equal(value, cases.plain()["float32"])
        np.testing.assert_array_equal(words, cases.plain()["text/words"])


def test_ops_of_the_old_format(tmp_path: Path) -> None:
    """They write the new format under the same name, and read both."""
    x = tf.constant(cases.ROWS)
    run(raw_ops.Save(f"{tmp_path}/one", ["x"], [x]))
    run(raw_ops.SaveSlices(f"{tmp_path}/two", ["x", "x"], ["8 3 0,4:-", "8 3 4,4:-"], [x[:4], x[4:]]))
    assert os.path.exists(f"{tmp_path}/one.index")
    for name in ("one", "two"):
        np.testing.assert_array_equal(run(raw_ops.Restore(f"{tmp_path}/{name}", "x", dt=tf.float32)), cases.ROWS)
        part = raw_ops.RestoreSlice(f"{tmp_path}/{name}", "x", "8 3 3,2:1,1", dt=tf.float32)
        np.testing.assert_array_equal(run(part), cases.ROWS[3:5, 1:2])
    old = raw_ops.Restore(f"{GOLDEN}/v1_sharded-?????-of-00002", "on_1", dt=tf.float32)
    np.testing.assert_array_equal(run(old), cases.ROWS + 1)


def test_merge(tmp_path: Path) -> None:
    prefixes = [f"{tmp_path}/temp/{i}" for i in range(2)]
    for i, prefix in enumerate(prefixes):
        run(saved(prefix, {f"x{i}": tf.constant(i)}))
    run(raw_ops.MergeV2Checkpoints(prefixes, f"{tmp_path}/model"))
    assert run(restored(f"{tmp_path}/model", x0=tf.int32, x1=tf.int32)) == [0, 1]
    assert not os.path.exists(f"{tmp_path}/temp")


def test_slices_of_another_partitioning(tmp_path: Path) -> None:
    x = tf.constant(cases.ROWS)
    save = raw_ops.SaveV2(f"{tmp_path}/m", ["x", "x"], ["8 3 0,3:-", "8 3 3,5:0,3"], [x[:3], x[3:]])
    run(save)
    parts = raw_ops.RestoreV2(
        f"{tmp_path}/m", ["x"] * 3, ["8 3 0,2:-", "8 3 2,2:-", "8 3 4,4:-"], dtypes=[tf.float32] * 3
    )
    np.testing.assert_array_equal(np.concatenate(run(parts)), cases.ROWS)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: restored(p, missing=tf.float32), tf.errors.NotFoundError, "Key missing not found in checkpoint .*m"),
        (
            lambda p: restored(p + "x", x=tf.float32),
            tf.errors.NotFoundError,
            "Failed to find any matching files for .*mx",
        ),
        (
            lambda p: restored(p, x=tf.int32),
            tf.errors.InvalidArgumentError,
            "tensor_name = x; expected dtype int32 does not equal original dtype float32",
        ),
        (
            lambda p: raw_ops.RestoreV2(p, ["x"], ["9 3 0,2:-"], dtypes=[tf.float32]),
            tf.errors.InvalidArgumentError,
            r"spec \[9, 3\] does not match the shape stored in checkpoint .*: \[8, 3\]",
        ),
        (
            lambda p: raw_ops.RestoreV2(p, ["x"], ["8 3 0,9:-"], dtypes=[tf.float32]),
            tf.errors.InvalidArgumentError,
            "beyond the dimension of size 8",
        ),
        (
            lambda p: raw_ops.SaveV2(p, ["y"], ["8 3 0,2:-"], [tf.ones([3, 3])]),
            tf.errors.InvalidArgumentError,
            r"does not match the shape of the tensor to save: y has shape \[3, 3\], its slice \[2, 3\]",
        ),
    ],
)
def test_errors(tmp_path: Path, make: Any, error: type[Exception], message: str) -> None:
    prefix = f"{tmp_path}/m"
    run(saved(prefix, {"x": tf.constant(cases.ROWS)}))
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(error, match=message):
        run(make(prefix))
    assert sorted(os.listdir(tmp_path)) == before


def test_an_uninitialised_variable_is_not_saved(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    save = saved(f"{tmp_path}/m", {"v": v._ref()})
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        session.run(save)
    assert os.listdir(tmp_path) == []


def test_a_file_stays_valid_while_other_steps_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checksum is that of what is written, whatever the variable becomes between the two."""
    monkeypatch.setattr(family, "_PIECE", 1 << 12)
    v = tf.Variable(tf.zeros([1 << 18]), name="v")
    add = v.assign_add(tf.ones([1 << 18]), read_value=False)
    save = saved(f"{tmp_path}/m", {"v": v._ref()})
    restore = restored(f"{tmp_path}/m", v=tf.float32)
    done = threading.Event()
    with tf.Session() as session:
        session.run(v.initializer)

        def train() -> None:
            while not done.is_set():
                session.run(add)

        thread = threading.Thread(target=train)
        thread.start()
        try:
            for _ in range(10):
                session.run(save)
                session.run(restore)
        finally:
            done.set()
            thread.join()


def test_pieces_share_one_small_buffer() -> None:
    big = torch.arange(3 << 20, dtype=torch.float32)
    pieces = list(family._pieces(big))
    assert [len(p) for p in pieces] == [1 << 22] * 3
    assert len({p.ctypes.data for p in pieces}) == 1
    assert b"".join(p.tobytes() for p in family._pieces(big.reshape(-1, 2).T)) == big.reshape(-1, 2).T.numpy().tobytes()

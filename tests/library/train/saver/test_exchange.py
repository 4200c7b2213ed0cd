"""safetensors files: to and from variables, checkpoints and torch."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors import torch as exchange

import headrace as tf
from headrace.core import file, remote_file

ARRAYS = {
    f"layer/{np.dtype(dtype).name}": np.arange(6).reshape(2, 3).astype(dtype)
    for dtype in ("bool", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8", "c8")
} | {"scalar": np.float32(3.5), "empty": np.zeros([0, 4], np.int64)}


def test_every_dtype_to_torch_and_back(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    tf.io.save_safetensors(path, ARRAYS, metadata={"format": "pt", "größe": "1"})
    loaded = exchange.load_file(path)
    assert loaded.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(loaded[name].numpy(), array)
        assert loaded[name].numpy().dtype == array.dtype and loaded[name].shape == array.shape
    with safe_open(path, "pt") as opened:
        assert opened.metadata() == {"format": "pt", "größe": "1"} == tf.io.safetensors_metadata(path)
    exchange.save_file(loaded, tmp_path / "again.safetensors")
    again = tf.io.load_safetensors(tmp_path / "again.safetensors")
    assert tf.io.safetensors_metadata(tmp_path / "again.safetensors") == {}
    assert list(again) == sorted(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(again[name], array)
        assert again[name].dtype == array.dtype


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables(tmp_path: Path, use_resource: bool) -> None:
    path = f"{tmp_path}/model.safetensors"
    with tf.variable_scope("net", use_resource=use_resource):
        w = tf.get_variable("w", initializer=[[1.0, 2.0]])
        b = tf.Variable(tf.cast([1.5, -2.25, 1e30], tf.bfloat16), name="b")
        cut = tf.get_variable(
            "cut", [5, 2], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2)
        )
    change = [w.assign([[0.0, 0.0]]), *(part.assign(part * 0.0) for part in cut)]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(list(cut)[1].assign(tf.fill([2, 2], 7.0)))
        tf.io.save_safetensors(path, sess)
        loaded = exchange.load_file(path)
        assert sorted(loaded) == ["net/b", "net/cut", "net/w"] and loaded["net/b"].dtype == torch.bfloat16
        assert loaded["net/b"].tolist() == torch.tensor([1.5, -2.25, 1e30]).bfloat16().tolist()
        np.testing.assert_array_equal(loaded["net/cut"][:, 0], [1, 1, 1, 7, 7])
        loaded["net/b"] *= 2
        exchange.save_file(loaded, path)
        sess.run(change)
        tf.io.restore_safetensors(path, sess)
        assert sess.run(w).tolist() == [[1.0, 2.0]] and sess.run(b)[:2].tolist() == [3.0, -4.5]
        np.testing.assert_array_equal(sess.run(cut.as_tensor())[:, 1], [1, 1, 1, 7, 7])
        tf.io.save_safetensors(path, sess, {"other/name": w})
        assert list(tf.io.load_safetensors(path)) == ["other/name"]
        sess.run(change)
        tf.io.restore_safetensors(path, sess, {"other/name": w})
        assert sess.run(w).tolist() == [[1.0, 2.0]]


def test_nothing_is_half_restored(tmp_path: Path) -> None:
    path = f"{tmp_path}/model.safetensors"
    a, b = tf.Variable([7.0], name="a"), tf.Variable([8.0], name="b")
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"a": np.zeros(1, np.float32)}, tf.errors.NotFoundError, "model.safetensors has no tensor b; it has a"),
        (
            {"a": np.zeros(1, np.float32), "b": np.zeros(2, np.float32)}, tf.errors.InvalidArgumentError,
            r"b: the graph expects float32 \[1\] \(made at .*test_exchange.py.*\), the file .* has float32 \[2\]",
        ),
        ({"a": np.zeros(1, np.float32), "b": np.zeros(1)}, tf.errors.InvalidArgumentError, r"has float64 \[1\]"),
    ]  # fmt: skip
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for arrays, error, message in cases:
            tf.io.save_safetensors(path, arrays)
            with pytest.raises(error, match=message):
                tf.io.restore_safetensors(path, sess)
            assert sess.run([a, b]) == [7.0, 8.0]


def test_checkpoints(tmp_path: Path) -> None:
    w = tf.get_variable("deep/w", initializer=np.arange(4, dtype=np.float32))
    half = tf.Variable(tf.cast([1.5], tf.bfloat16), name="half")
    step = tf.train.get_or_create_global_step()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        saver.save(sess, f"{tmp_path}/model", global_step=step)
        tf.io.checkpoint_to_safetensors(tmp_path, tmp_path / "model.safetensors", {"step": "0"})
        loaded = exchange.load_file(tmp_path / "model.safetensors")
        assert loaded["half"].dtype == torch.bfloat16 and loaded["deep/w"].tolist() == [0, 1, 2, 3]
        loaded["deep/w"] += 1
        exchange.save_file(loaded, tmp_path / "model.safetensors")
        prefix = tf.io.safetensors_to_checkpoint(tmp_path / "model.safetensors", tmp_path / "back")
        saver.restore(sess, prefix)
        assert sess.run(w).tolist() == [1, 2, 3, 4] and sess.run(half).tolist() == [1.5]


def test_what_is_refused(tmp_path: Path) -> None:
    path = f"{tmp_path}/model.safetensors"
    calls: list[tuple[Any, type[Exception], str]] = [
        (lambda: tf.io.save_safetensors(path, {"s": ["text"]}), ValueError, "s: safetensors has no strings"),
        (lambda: tf.io.save_safetensors(path, {"c": np.complex128(1)}), ValueError, "c: .* no dtype complex128; it has bool"),
        (lambda: tf.io.save_safetensors(path, {1: 2.0}), TypeError, "names of tensors must be strings, got 1"),
        (lambda: tf.io.save_safetensors(path, {"x": 2.0}, metadata={"a": 1}), TypeError, "a dict of strings, got 'a': 1"),
        (lambda: tf.io.save_safetensors(path, [2.0]), TypeError, r"a Session or a dict of arrays, got \[2.0\]"),
        (lambda: tf.io.load_safetensors(path), tf.errors.NotFoundError, "model.safetensors; No such file"),
    ]  # fmt: skip
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()
    tf.Variable("text", name="words")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(ValueError, match="words: safetensors has no dtype string"):
            tf.io.save_safetensors(path, sess)
        tf.train.Saver().save(sess, f"{tmp_path}/model", write_state=False, write_meta_graph=False)
    with pytest.raises(ValueError, match="model: words: safetensors has no dtype string"):
        tf.io.checkpoint_to_safetensors(f"{tmp_path}/model", path)
    assert not Path(path).exists()


def test_another_scheme_and_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = f"memory://{tmp_path}/model.safetensors"
    tf.io.save_safetensors(remote, {"x": 1})
    assert tf.io.load_safetensors(remote)["x"] == 1
    remote_file.DeleteRecursively(f"memory://{tmp_path}")
    path = f"{tmp_path}/model.safetensors"
    tf.io.save_safetensors(path, {"x": 1})

    def full(opened: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(file, "sync", full)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="model.safetensors; No space left"):
            tf.io.save_safetensors(path, {"x": 2})
    assert tf.io.load_safetensors(path)["x"] == 1 and os.listdir(tmp_path) == ["model.safetensors"]


def _with_header(header: Any, data: bytes = bytes(8)) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "it has 0 bytes"),
        (b"\xff" * 20, "the header should have 18446744073709551615 bytes, the file has 20"),
        (_with_header([1]), "the header is damaged"),
        (_with_header({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}), r"x has 8 bytes, F32 \[3\] takes"),
        (_with_header({"x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}), "x begins at 4, .* ends at 0"),
        (_with_header({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}), "take 4 bytes, the file has 8"),
        (_with_header({"x": {"dtype": "BOOL", "shape": [8], "data_offsets": [0, 8]}}, b"\2" * 8), "x has values that are no"),
    ],
)  # fmt: skip
def test_damage(tmp_path: Path, contents: bytes, message: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(contents)
    with pytest.raises(
        tf.errors.DataLossError, match=f"model.safetensors is not a valid safetensors file: .*{message}"
    ):
        tf.io.load_safetensors(path)


@settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_any_damage(tmp_path: Path, data: Any) -> None:
    """Whatever byte of the header is changed or lost: an error that names the file, or other values, never a crash."""
    path = tmp_path / "model.safetensors"
    tf.io.save_safetensors(path, {"x/y": np.arange(3.0), "z": [True]}, metadata={"a": "b"})
    contents = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(contents) - 1))
    if data.draw(st.booleans()):
        del contents[place:]
    else:
        contents[place] = data.draw(st.integers(0, 255))
    path.write_bytes(contents)
    try:
        tf.io.load_safetensors(path)
    except (tf.errors.DataLossError, tf.errors.UnimplementedError) as error:
        assert str(path) in str(error)

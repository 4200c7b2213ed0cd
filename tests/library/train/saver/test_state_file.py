"""The file ``checkpoint``, and the files of one checkpoint."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

GOLDEN = Path(__file__).parents[3] / "golden/checkpoints"


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"")


def test_text_as_tensorflow_writes_it(tmp_path: Path) -> None:
    tf.train.update_checkpoint_state(
        tmp_path,
        "/x/m-2",
        ["/x/m-1", "/x/m-2"],
        all_model_checkpoint_timestamps=[1.5, 2.5],
        last_preserved_timestamp=3.0,
    )
    assert (tmp_path / "checkpoint").read_text() == (
        'model_checkpoint_path: "/x/m-2"\nall_model_checkpoint_paths: "/x/m-1"\nall_model_checkpoint_paths: "/x/m-2"\n'
        "all_model_checkpoint_timestamps: 1.5\nall_model_checkpoint_timestamps: 2.5\nlast_preserved_timestamp: 3.0\n"
    )
    assert os.listdir(tmp_path) == ["checkpoint"]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert isinstance(state, tf.train.CheckpointState)
    assert list(state.all_model_checkpoint_timestamps) == [1.5, 2.5]


def test_generate() -> None:
    make = tf.train.generate_checkpoint_state_proto
    state = make("/folder", "/folder/m-2", ["/folder/m-1"])
    assert list(state.all_model_checkpoint_paths) == ["/folder/m-1", "/folder/m-2"]
    state = make("folder", "folder/m-2", ["folder/m-1", "folder/m-2"])
    assert state.model_checkpoint_path == "m-2"
    assert list(state.all_model_checkpoint_paths) == ["m-1", "m-2"]
    assert make("folder", "/abs/m").model_checkpoint_path == "/abs/m"
    with pytest.raises(ValueError, match="timestamps, if provided, must match checkpoint paths"):
        make("folder", "folder/m", ["folder/m"], [1.0, 2.0])


def test_relative_paths_are_opened_from_the_folder(tmp_path: Path) -> None:
    touch(tmp_path, "m.index", "v1")
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "m"\nall_model_checkpoint_paths: "m"')
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/m"
    (tmp_path / "other").write_text('model_checkpoint_path: "v1"')
    assert tf.train.latest_checkpoint(str(tmp_path), "other") == f"{tmp_path}/v1"


def test_what_is_no_state(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert tf.train.get_checkpoint_state(tmp_path) is None
    assert tf.train.latest_checkpoint(tmp_path) is None
    state = tmp_path / "checkpoint"
    for damaged in (b"model_checkpoint_path: ", b"\xff\xfe", b"colour: 3"):
        state.write_bytes(damaged)
        assert tf.train.get_checkpoint_state(tmp_path) is None
    state.write_text('model_checkpoint_path: "gone"')
    assert tf.train.latest_checkpoint(tmp_path) is None
    state.write_text("")
    with pytest.raises(ValueError, match=f"Invalid checkpoint state loaded from {tmp_path}"):
        tf.train.get_checkpoint_state(tmp_path)
    with pytest.raises(RuntimeError, match="conflicts with path used for checkpoint state"):
        tf.train.update_checkpoint_state(tmp_path, f"{tmp_path}/checkpoint")


def test_files_of_a_checkpoint(tmp_path: Path) -> None:
    assert tf.train.checkpoint_exists(str(GOLDEN / "plain"))
    assert tf.train.checkpoint_exists(str(GOLDEN / "v1"))
    assert tf.train.checkpoint_exists(str(GOLDEN / "v1_sharded-?????-of-00002"))
    assert not tf.train.checkpoint_exists(str(GOLDEN / "nothing"))
    touch(
        tmp_path,
        "m[1].index",
        "m[1].data-00000-of-00002",
        "m[1].data-00001-of-00002",
        "m[1].meta",
        "m[1].data-x",
        "m1.index",
    )
    os.utime(tmp_path / "m[1].index", (100.0, 200.5))
    prefix = f"{tmp_path}/m[1]"
    assert tf.train.get_checkpoint_mtimes([prefix, f"{tmp_path}/nothing"]) == [200.5]
    tf.train.remove_checkpoint(prefix)
    assert sorted(os.listdir(tmp_path)) == ["m1.index", "m[1].data-x"]
    touch(tmp_path, "old-00000-of-00002", "old-00001-of-00002", "old.meta")
    tf.train.remove_checkpoint(f"{tmp_path}/old-?????-of-00002", tf.train.SaverDef.V1)
    assert sorted(os.listdir(tmp_path)) == ["m1.index", "m[1].data-x"]


def test_saver_def_is_tensorflows() -> None:
    definition = tf.train.SaverDef(
        filename_tensor_name="f", save_tensor_name="s", restore_op_name="r", max_to_keep=5, sharded=True,
        keep_checkpoint_every_n_hours=2.0, version=tf.train.SaverDef.V2,
    )  # fmt: skip
    encoded = b"\n\x01f\x12\x01s\x1a\x01r \x05(\x015\x00\x00\x00@8\x02"
    assert definition.SerializeToString() == encoded
    assert (tf.train.SaverDef.LEGACY, tf.train.SaverDef.V1, tf.train.SaverDef.V2) == (0, 1, 2)


# ---- looking into checkpoints


def test_reader() -> None:
    reader: Any = tf.train.NewCheckpointReader(str(GOLDEN / "odd"))
    assert reader.get_variable_to_shape_map() == {"bfloat16": [3], "qint8": [3]}
    assert reader.get_variable_to_dtype_map() == {"bfloat16": tf.bfloat16, "qint8": tf.qint8}
    assert reader.has_tensor("qint8") and not reader.has_tensor("x")
    assert reader.get_tensor("bfloat16").dtype == np.float32
    assert reader.get_tensor("qint8").dtype == tf.qint8.as_numpy_dtype
    assert reader.debug_string() == b"bfloat16 (DT_BFLOAT16) [3]\nqint8 (DT_QINT8) [3]"
    with pytest.raises(tf.errors.NotFoundError, match="Key x not found in checkpoint"):
        reader.get_tensor("x")
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
        tf.train.NewCheckpointReader(str(GOLDEN / "nothing"))


def test_load_and_list(tmp_path: Path) -> None:
    plain = str(GOLDEN / "plain")
    assert tf.train.load_variable(plain, "step:0") == 1234567890123
    assert tf.train.load_checkpoint(plain).has_tensor("step")
    assert tf.train.list_variables(plain)[0] == ("bool", [3])
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file or checkpoints in given directory"):
        tf.train.load_checkpoint(str(tmp_path))
    tf.train.update_checkpoint_state(tmp_path, plain)
    assert tf.train.load_variable(tmp_path, "step") == 1234567890123

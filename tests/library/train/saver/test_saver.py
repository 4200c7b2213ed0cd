"""tf.train.Saver: nodes, options, what is kept, what is refused, and that nothing is half restored."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import checkpoint_cases as cases
from running import initialized_session as session

import headrace as tf
from headrace.core import errors, remote_file
from headrace.eager.context import eager_mode
from headrace.resources.file.bundle.reader import BundleReader

GOLDEN = str(Path(__file__).parents[3] / "golden/checkpoints")


def kept(folder: Path) -> list[str]:
    return sorted(p.name.removesuffix(".index") for p in folder.glob("*.index"))


# ---- nodes


def test_nodes_are_those_of_tensorflow() -> None:
    with tf.variable_scope("", use_resource=False):
        tf.get_variable("a", [2])
        tf.get_variable("w", [4, 2], partitioner=tf.fixed_size_partitioner(2))
    tf.train.Saver()
    nodes = [(op.name, op.type) for op in tf.get_default_graph().get_operations() if op.name.startswith("save")]
    assert nodes == [
        ("save/filename/input", "Const"), ("save/filename", "PlaceholderWithDefault"),
        ("save/Const", "PlaceholderWithDefault"), ("save/SaveV2/tensor_names", "Const"),
        ("save/SaveV2/shape_and_slices", "Const"), ("save/SaveV2", "SaveV2"), ("save/control_dependency", "Identity"),
        ("save/RestoreV2/tensor_names", "Const"), ("save/RestoreV2/shape_and_slices", "Const"),
        ("save/RestoreV2", "RestoreV2"), ("save/Assign", "Assign"), ("save/Assign_1", "Assign"),
        ("save/Assign_2", "Assign"), ("save/restore_all", "NoOp"),
    ]  # fmt: skip
    assert tf.get_default_graph().get_operation_by_name("save/RestoreV2").device == "/device:CPU:0"


def test_nodes_of_a_sharded_saver() -> None:
    for i in range(2):
        with tf.device(f"/cpu:{i}"):
            tf.Variable(float(i), name=f"v{i}")
    saver = tf.train.Saver(sharded=True)
    graph = tf.get_default_graph()
    names = [op.name for op in graph.get_operations() if op.name.startswith("save")]
    assert names[3:9] == [
        "save/StaticRegexFullMatch", "save/Const_1", "save/Const_2", "save/Select", "save/StringJoin", "save/num_shards",
    ]  # fmt: skip
    for name in (
        "SaveV2_1",
        "ShardedFilename_1",
        "MergeV2Checkpoints",
        "RestoreV2_1",
        "restore_shard_1",
        "restore_all",
    ):
        assert f"save/{name}" in names
    assert graph.get_operation_by_name("save/SaveV2_1").device == "/device:CPU:0"  # where files are written
    # No variable is assigned before the files of all shards are read and checked.
    reads = {graph.get_operation_by_name(f"save/RestoreV2{n}") for n in ("", "_1")}
    for name in ("save/Assign", "save/Assign_1"):
        assign = graph.get_operation_by_name(name)
        assert reads <= {*assign.control_inputs, assign.inputs[1].op}
    assert saver.as_saver_def().sharded


# ---- saving and restoring


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("sharded", [False, True])
def test_round_trip(tmp_path: Path, use_resource: bool, sharded: bool) -> None:
    arrays = cases.plain()
    variables = {n: tf.Variable(a, name=n, use_resource=use_resource) for n, a in arrays.items() if "none" not in n}
    saver = tf.train.Saver(sharded=sharded)
    with session() as sess:
        path = saver.save(sess, f"{tmp_path}/model", global_step=7)
        assert path == f"{tmp_path}/model-7"
    with tf.Session() as sess:
        saver.restore(sess, path)
        for name, variable in variables.items():
            np.testing.assert_array_equal(sess.run(variable), arrays[name])
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint",
        "model-7.data-00000-of-00001",
        "model-7.index",
        "model-7.meta",
    ]


def test_two_devices_write_two_files(tmp_path: Path) -> None:
    for i in range(2):
        with tf.device(f"/cpu:{i}"):
            tf.Variable(cases.ROWS + i, name=f"on_{i}")
    saver = tf.train.Saver(sharded=True)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        saver.restore(sess, f"{GOLDEN}/two_devices")
        path = saver.save(sess, f"{tmp_path}/model")
        assert len(list(tmp_path.glob("model.data-*-of-00002"))) == 2
        assert not list(tmp_path.glob("model_temp*"))
    np.testing.assert_array_equal(tf.train.load_variable(path, "on_1"), cases.ROWS + 1)


def test_names_of_a_dict(tmp_path: Path) -> None:
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    saver = tf.train.Saver({"other/a": a})
    with session() as sess:
        path = saver.save(sess, f"{tmp_path}/model")
        assert tf.train.list_variables(path) == [("other/a", [])]
        sess.run([a.assign(5.0), b.assign(5.0)])
        saver.restore(sess, path)
        assert sess.run([a, b]) == [1.0, 5.0]
    tf.train.Saver([b.op.outputs[0]])  # a tensor of a variable


@pytest.mark.parametrize(("use_resource", "rows", "columns"), [(False, 2, 1), (True, 8, 3), (False, 3, 4)])
def test_another_number_of_partitions(tmp_path: Path, use_resource: bool, rows: int, columns: int) -> None:
    """What TensorFlow saved in 3 and 4 parts comes back in others; and what we save in those comes back whole."""
    with tf.variable_scope("", use_resource=use_resource):
        cases.make_partitioned(tf, rows, columns)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        for source in ("partitioned", "partitioned_resource", "v1_partitioned"):
            saver.restore(sess, f"{GOLDEN}/{source}")
        path = saver.save(sess, f"{tmp_path}/model")
    reader = tf.train.NewCheckpointReader(path)
    np.testing.assert_array_equal(reader.get_tensor("rows"), cases.ROWS)
    np.testing.assert_array_equal(reader.get_tensor("columns"), cases.COLUMNS)
    assert len(BundleReader(path).entries["rows"].slices) == rows
    with tf.Graph().as_default(), tf.Session() as sess:
        whole = tf.Variable(np.zeros_like(cases.ROWS), name="rows")
        tf.train.Saver().restore(sess, path)
        np.testing.assert_array_equal(sess.run(whole), cases.ROWS)


def test_an_lstm_of_tensorflow() -> None:
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(cases.LSTM_UNITS) for _ in range(2)])
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(cases.LSTM_INPUT), dtype=tf.float32)
    loss = tf.reduce_sum(outputs**2)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
    with tf.Session() as sess:
        tf.train.Saver().restore(sess, f"{GOLDEN}/lstm")  # with the slots of the optimizer
        np.testing.assert_allclose(sess.run(outputs), np.load(f"{GOLDEN}/lstm_outputs.npy"), rtol=1e-5, atol=1e-6)
        sess.run(train)
        assert sess.run(tf.train.get_global_step()) == 2


def test_reshape(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(cases.ROWS, name="x")
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, f"{tmp_path}/model")
    flat = tf.Variable(np.zeros(24, np.float32), name="x")
    with session() as sess:
        tf.train.Saver(reshape=True).restore(sess, path)
        np.testing.assert_array_equal(sess.run(flat), cases.ROWS.reshape(-1))
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"x: the graph expects shape \(24,\) \(made at .*\), .* has shape \[8, 3\]",
        ):
            tf.train.Saver(name="strict").restore(sess, path)


def test_a_saveable_of_ones_own(tmp_path: Path) -> None:
    class Doubled(tf.train.BaseSaverBuilder.SaveableObject):
        """Saves twice the value."""

        def __init__(self, variable: Any) -> None:
            spec = tf.train.BaseSaverBuilder.SaveSpec(variable.value() * 2, "", "doubled")
            super().__init__(variable, [spec], "doubled")

        def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
            return self.op.assign(restored_tensors[0] / 2)

    v = tf.Variable(3.0, name="v", collections=[])
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, Doubled(v))
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = saver.save(sess, f"{tmp_path}/model")
        assert tf.train.load_variable(path, "doubled") == 6.0
        sess.run(v.assign(0.0))
        saver.restore(sess, path)
        assert sess.run(v) == 3.0


def test_another_builder(tmp_path: Path) -> None:
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    saver = tf.train.Saver(builder=tf.train.BaseSaverBuilder())
    assert "save/RestoreV2_1" in tf.get_default_graph()._by_name  # one for each variable
    with session() as sess:
        path = saver.save(sess, f"{tmp_path}/model")
        sess.run([a.assign(0.0), b.assign(0.0)])
        saver.restore(sess, path)
        assert sess.run([a, b]) == [1.0, 2.0]


def test_from_proto(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    with tf.name_scope("outer"):
        saver = tf.train.Saver(max_to_keep=2)
    definition = saver.as_saver_def()
    again = tf.train.Saver.from_proto(tf.train.SaverDef.FromString(definition.SerializeToString()))
    assert saver.to_proto("elsewhere") is None
    assert saver.to_proto("outer").restore_op_name == definition.restore_op_name.removeprefix("outer/")
    assert tf.train.Saver.from_proto(saver.to_proto("outer"), "outer").as_saver_def() == definition
    with session() as sess:
        path = again.save(sess, f"{tmp_path}/model")
        sess.run(v.assign(0.0))
        again.restore(sess, path)
        assert sess.run(v) == 1.0
    for wrong in ("save", tf.train.SaverDef(), tf.train.SaverDef(save_tensor_name="x")):
        with pytest.raises(ValueError, match="saver_def must"):
            tf.train.Saver(saver_def=wrong)


# ---- which checkpoints are kept


def test_max_to_keep(tmp_path: Path) -> None:
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver(max_to_keep=2)
    with session() as sess:
        for step in range(4):
            saver.save(sess, f"{tmp_path}/model", global_step=step)
    assert kept(tmp_path) == ["model-2", "model-3"]
    assert saver.last_checkpoints == [f"{tmp_path}/model-2", f"{tmp_path}/model-3"]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == saver.last_checkpoints
    assert state.model_checkpoint_path == tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model-3"


@pytest.mark.parametrize("number", [None, 0])
def test_keeping_all(tmp_path: Path, number: int | None) -> None:
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver(max_to_keep=number)
    with session() as sess:
        for step in range(7):
            saver.save(sess, f"{tmp_path}/model", global_step=step)
    assert len(kept(tmp_path)) == 7
    assert saver.last_checkpoints == []
    assert list(tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths) == [f"{tmp_path}/model-6"]


def test_keep_checkpoint_every_n_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1e9]
    monkeypatch.setattr("headrace.library.train.saver.saver.time.time", lambda: now[0])
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=2)
    with session() as sess:
        for hour in range(7):
            saver.save(sess, f"{tmp_path}/model", global_step=hour)
            now[0] += 3600
    assert kept(tmp_path) == ["model-3", "model-5", "model-6"]


def test_recover_last_checkpoints(tmp_path: Path) -> None:
    tf.Variable(1.0, name="v")
    with session() as sess:
        first = tf.train.Saver()
        paths = [first.save(sess, f"{tmp_path}/model", global_step=step) for step in range(3)]
        tf.train.remove_checkpoint(paths[1])
        second = tf.train.Saver(max_to_keep=2)
        second.recover_last_checkpoints(paths)
        assert second.last_checkpoints == [paths[0], paths[2]]
        second.save(sess, f"{tmp_path}/model", global_step=3)
    assert kept(tmp_path) == ["model-2", "model-3"]
    second.set_last_checkpoints(["x"])
    assert second.last_checkpoints == ["x"]
    with pytest.raises(AssertionError, match="must be a list"):
        second.set_last_checkpoints("x")  # type: ignore[arg-type]


def test_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = tf.train.get_or_create_global_step()
    monkeypatch.chdir(tmp_path)
    with session() as sess:
        sess.run(step.assign(12))
        assert tf.train.Saver(pad_step_number=True).save(sess, "padded", global_step=step) == "padded-00000012"
        assert tf.train.latest_checkpoint(".") == "./padded-00000012"
        saver = tf.train.Saver(save_relative_paths=True)
        path = saver.save(sess, f"{tmp_path}/moved", latest_filename="other")
        assert 'model_checkpoint_path: "moved"' in (tmp_path / "other").read_text()
        assert tf.train.latest_checkpoint(tmp_path, "other") == path
        assert saver.save(sess, Path("plain"), write_state=False) == "plain"
        with tf.name_scope("named"):
            named = tf.train.Saver(filename=f"{tmp_path}/default")
        assert sess.run(named.saver_def.save_tensor_name) == f"{tmp_path}/default".encode()
    assert kept(tmp_path) == ["default", "moved", "padded-00000012", "plain"]


def test_saving_again_under_the_same_name(tmp_path: Path) -> None:
    v = tf.Variable(0.0, name="v")
    saver = tf.train.Saver()
    with session() as sess:
        for value in range(3):
            sess.run(v.assign(value))
            path = saver.save(sess, f"{tmp_path}/model")
            assert tf.train.load_variable(path, "v") == value
            assert len(os.listdir(tmp_path)) == 4
    assert saver.last_checkpoints == [path]


def test_other_schemes() -> None:
    v = tf.Variable(4.0, name="v")
    saver = tf.train.Saver(max_to_keep=1)
    try:
        with session() as sess:
            saver.save(sess, "memory://saver/model", global_step=1)
            path = saver.save(sess, "memory://saver/model", global_step=2)
            assert tf.train.latest_checkpoint("memory://saver") == path == "memory://saver/model-2"
            assert not tf.train.checkpoint_exists("memory://saver/model-1")
            sess.run(v.assign(0.0))
            saver.restore(sess, path)
            assert sess.run(v) == 4.0
    finally:
        remote_file.DeleteRecursively("memory://saver")


# ---- what is refused


def test_deferred_and_empty(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    empty = tf.train.Saver(allow_empty=True)
    with tf.Session() as sess:
        assert empty.save(sess, f"{tmp_path}/model") is None
        empty.restore(sess, f"{tmp_path}/model")
        v = tf.Variable(1.0, name="v")
        sess.run(v.initializer)
        saver = tf.train.Saver(defer_build=True)
        with pytest.raises(RuntimeError, match=r"build\(\)` should be called before save"):
            saver.save(sess, f"{tmp_path}/model")
        saver.build()
        saver.save(sess, f"{tmp_path}/model")
    with pytest.raises(ValueError, match="build cannot be deferred"):
        tf.train.Saver([v], defer_build=True)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda a, b: {"x": a, "y": a}, ValueError, "The same saveable will be restored with two names: y"),
        (lambda a, b: {1: a}, TypeError, "Name is not a string: 1"),
        (lambda a, b: {"x": tf.constant(1.0)}, TypeError, "Not a variable: .*Const"),
        (lambda a, b: [a, tf.constant(1.0)], TypeError, "Variable to save is not a Variable"),
        (lambda a, b: [a, a], ValueError, "At least two variables have the same name: a"),
        (lambda a, b: {"x": [a, b]}, ValueError, "Slices must all be slices"),
        (lambda a, b: "ab", TypeError, "should be passed in a dict or a list. Got 'ab'"),
    ],
)
def test_what_cannot_be_saved(make: Any, error: type[Exception], message: str) -> None:
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    with pytest.raises(error, match=message):
        tf.train.Saver(make(a, b))


def test_wrong_calls(tmp_path: Path) -> None:
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with session() as sess:
        for nowhere in (None, ""):
            with pytest.raises(ValueError, match="no path specified"):
                saver.save(sess, nowhere)
        assert saver.last_checkpoints == []
        with pytest.raises(ValueError, match="must not contain path components"):
            saver.save(sess, f"{tmp_path}/m", latest_filename="a/b")
        with pytest.raises(ValueError, match="'latest_filename' collides with 'save_path'"):
            saver.save(sess, f"{tmp_path}/checkpoint")
        with pytest.raises(TypeError, match="'sess' must be a Session; None"):
            saver.save(None, f"{tmp_path}/m")
        with pytest.raises(ValueError, match="Parent directory of .*/no/such/m doesn't exist, can't save"):
            saver.save(sess, f"{tmp_path}/no/such/m")
        with pytest.raises(ValueError, match="Can't load save_path when it is None"):
            saver.restore(sess, None)
        with pytest.raises(ValueError, match="not a valid checkpoint: .*/nothing"):
            saver.restore(sess, f"{tmp_path}/nothing")


@pytest.mark.parametrize(
    ("second", "error", "message"),
    [
        (
            {"c": 1.0},
            tf.errors.NotFoundError,
            "key that is missing .*\n\nKey c not found in checkpoint .*model .*made at .*test_saver",
        ),
        (
            {"b": [1.0]},
            tf.errors.InvalidArgumentError,
            r"b: the graph expects shape \(1,\) .*test_saver.py.*, the checkpoint .* shape \[\]",
        ),
        (
            {"b": 1},
            tf.errors.InvalidArgumentError,
            "mismatch .*\n\nb: the graph expects dtype int32 \\(made at .* dtype float32",
        ),
    ],
)
@pytest.mark.parametrize("use_resource", [False, True])
def test_nothing_is_half_restored(
    tmp_path: Path, use_resource: bool, second: dict[str, Any], error: type[Exception], message: str
) -> None:
    with tf.Graph().as_default():
        tf.Variable(1.0, name="a")
        tf.Variable(2.0, name="b")
        with session() as sess:
            path = tf.train.Saver().save(sess, f"{tmp_path}/model")
    variables = [tf.Variable(v, name=n, use_resource=use_resource) for n, v in {"a": 7.0, **second}.items()]
    saver = tf.train.Saver()
    with session() as sess:
        before = sess.run(variables)
        with pytest.raises(error, match=message):
            saver.restore(sess, path)
        for one, other in zip(sess.run(variables), before, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("sharded", [False, True])
def test_damage_leaves_the_variables(tmp_path: Path, sharded: bool) -> None:
    variables = []
    for i in range(2):
        with tf.device(f"/cpu:{i}"):
            variables.append(tf.Variable(np.full([100], i + 1.0), name=f"v{i}"))
    saver = tf.train.Saver(sharded=sharded)
    clear = [v.assign(np.zeros([100])) for v in variables]
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        sess.run(tf.global_variables_initializer())
        good = saver.save(sess, f"{tmp_path}/model", global_step=1)
        path = saver.save(sess, f"{tmp_path}/model", global_step=2)
        last = sorted(tmp_path.glob("model-2.data*"))[-1]
        data = bytearray(last.read_bytes())
        data[-5] ^= 64
        last.write_bytes(data)
        sess.run(clear)
        with pytest.raises(
            tf.errors.DataLossError, match=r"model-2.data-.*: v1 has a wrong checksum: expected 0x.*found 0x"
        ):
            saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(variables), np.zeros([2, 100]))
        last.unlink()
        with pytest.raises(tf.errors.NotFoundError, match=r"model-2.data-.*No such file"):
            saver.restore(sess, path)
        saver.restore(sess, good)  # an older checkpoint stays usable
        np.testing.assert_array_equal(sess.run(variables)[1], np.full([100], 2.0))


@pytest.mark.parametrize("use_resource", [False, True])
def test_large_variables_are_restored_from_a_mapped_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use_resource: bool
) -> None:
    """They take no memory beside the variables; when the restore is over, nothing of the file is left in memory."""
    values = {"a": np.arange(1 << 16), "b": np.ones([256, 128], np.float32), "c": True, "d": np.ones(1 << 15)}
    variables = [tf.Variable(value, name=name, use_resource=use_resource) for name, value in values.items()]
    saver = tf.train.Saver()
    mapped = []
    real = BundleReader.map

    def noted(self: BundleReader, name: str) -> Any:
        array = real(self, name)
        mapped.append((name, array is not None))
        return array

    monkeypatch.setattr(BundleReader, "map", noted)
    with session() as sess:
        path = saver.save(sess, f"{tmp_path}/model")
    with tf.Session() as sess:  # the variables are not initialised here
        for _ in range(2):
            saver.restore(sess, path)
            for _ in range(100):  # the thread that restored may still be about to let go of its last array
                if not any("model.data" in line for line in Path("/proc/self/maps").read_text().splitlines()):
                    break
                time.sleep(0.05)
            else:
                pytest.fail("the file is still in memory")
            for value, original in zip(sess.run(variables), values.values(), strict=True):
                np.testing.assert_array_equal(value, original)
    assert sorted(mapped) == sorted([("a", True), ("b", True), ("c", False), ("d", False)] * 2)


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver(max_to_keep=1)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with session() as sess:
        path = saver.save(sess, f"{tmp_path}/model", global_step=1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(
                errors.ResourceExhaustedError, match="model-2.data-00000-of-00001; No space left on device"
            ):
                saver.save(sess, f"{tmp_path}/model", global_step=2)
        assert tf.train.latest_checkpoint(tmp_path) == path
        assert kept(tmp_path) == ["model-1"]
        saver.restore(sess, path)


def test_saving_while_other_steps_run(tmp_path: Path) -> None:
    v = tf.Variable(tf.zeros([1000]), name="v")
    add = v.assign_add(tf.ones([1000]), read_value=False)
    saver = tf.train.Saver()
    done = threading.Event()
    with session() as sess:

        def train() -> None:
            while not done.is_set():
                sess.run(add)

        thread = threading.Thread(target=train)
        thread.start()
        try:
            paths = [saver.save(sess, f"{tmp_path}/model", global_step=step) for step in range(5)]
        finally:
            done.set()
            thread.join()
        for path in paths:
            saver.restore(sess, path)


def test_eagerly(tmp_path: Path) -> None:
    with eager_mode():
        a, b = tf.Variable([1.0, 2.0], name="a"), tf.Variable(3, name="b")
        saver = tf.train.Saver([a, b], max_to_keep=1)
        saver.save(None, f"{tmp_path}/model", global_step=1)
        path = saver.save(None, f"{tmp_path}/model", global_step=2)
        assert kept(tmp_path) == ["model-2"] and tf.train.latest_checkpoint(tmp_path) == path
        a.assign([0.0, 0.0])
        b.assign(0)
        saver.restore(None, path)
        assert a.numpy().tolist() == [1.0, 2.0] and b.numpy() == 3
        other = tf.Variable([7.0], name="b")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"a: the variable has shape \(1,\), .* shape \(2,\)"):
            tf.train.Saver({"a": other}).restore(None, path)
        assert other.numpy().tolist() == [7.0]
        with pytest.raises(RuntimeError, match="`var_list` must specify a list or dict"):
            tf.train.Saver()

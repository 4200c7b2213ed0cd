"""tf.train.Checkpoint and CheckpointManager: objects by the attributes that lead to them, in graphs and eagerly."""

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf

PYTHON = os.environ.get("HEADRACE_TF_PYTHON")
FOLDER = Path(__file__).parent


class Net(tf.keras.Model):  # type: ignore[misc]
    """A model that makes its layers as attributes, in lists and in dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.first = tf.keras.layers.Dense(3, kernel_initializer="ones")
        self.rest = [tf.keras.layers.Dense(2), tf.keras.layers.Dense(1)]
        self.named = {"scale": tf.keras.layers.BatchNormalization()}

    def call(self, inputs: Any) -> Any:
        x = self.named["scale"](self.first(inputs))
        for layer in self.rest:
            x = layer(x)
        return x


X = np.arange(12, dtype=np.float32).reshape(3, 4) / 10


def _train(net: Net, optimizer: Any, steps: int) -> list[float]:
    """The losses of some eager steps."""
    losses = []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(tf.constant(X)) - 1.0))
        weights = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        losses.append(float(loss.numpy()))
    return losses


@pytest.mark.parametrize("make", [lambda: tf.train.AdamOptimizer(0.1), lambda: tf.keras.optimizers.Adam(0.1)])
def test_eager_training_goes_on_from_a_checkpoint(tmp_path: Path, make: Any) -> None:
    with tf.eager_mode():
        net, optimizer = Net(), make()
        checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer, step=tf.Variable(7))
        _train(net, optimizer, 3)
        path = checkpoint.save(str(tmp_path / "ckpt"))
        assert path == str(tmp_path / "ckpt-1") == tf.train.latest_checkpoint(str(tmp_path))
        wanted = _train(net, optimizer, 3)
        # A new program: nothing but the step is made when it restores.
        net, optimizer = Net(), make()
        again = tf.train.Checkpoint(net=net, optimizer=optimizer, step=tf.Variable(0))
        status = again.restore(path)
        assert again.step.numpy() == 7 and again.save_counter.numpy() == 1
        status.assert_existing_objects_matched().assert_nontrivial_match()
        with pytest.raises(AssertionError, match="the program has nothing for .*net/first/kernel"):
            status.assert_consumed()
        assert _train(net, optimizer, 3) == wanted
        status.assert_consumed()
        assert again.save(str(tmp_path / "ckpt")).endswith("ckpt-2")


def test_a_graph_is_restored_in_a_session(tmp_path: Path) -> None:
    net = Net()
    loss = tf.reduce_mean(tf.square(net(tf.constant(X)) - 1.0))
    optimizer, step = tf.train.MomentumOptimizer(0.05, 0.9), tf.train.get_or_create_global_step()
    train = optimizer.minimize(loss, step)
    checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer, step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([train, train])
        path = checkpoint.save(str(tmp_path / "ckpt"))
        wanted = [session.run([loss, train])[0] for _ in range(3)]
        nodes = len(tf.get_default_graph().get_operations())
        assert checkpoint.save(str(tmp_path / "ckpt")).endswith("-2")
        assert len(tf.get_default_graph().get_operations()) == nodes  # a save adds none
    extra = tf.Variable(5.0, name="extra")
    checkpoint.extra = extra
    with tf.Session() as session:
        checkpoint.restore(path).initialize_or_restore()
        assert session.run(extra) == 5.0 and session.run(step) == 1
        assert [session.run([loss, train])[0] for _ in range(3)] == wanted
        checkpoint.restore(path).run_restore_ops(session)
        assert session.run(loss) == wanted[0]
    with tf.Session() as session:
        checkpoint.restore(None).initialize_or_restore(session)
        assert session.run(step) == 0
        with pytest.raises(AssertionError, match="nothing is being restored"):
            checkpoint.restore(None).assert_consumed()


def test_without_a_session() -> None:
    from headrace.library.train.saver import objects

    with tf.Session() as session:
        assert objects.session_of(None) is session
    provider, objects._Process.session = objects._Process.session, None
    try:
        with pytest.raises(RuntimeError, match="saved and restored in a session"):
            objects.session_of(None)
    finally:
        objects._Process.session = provider


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    with tf.eager_mode():
        path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(str(tmp_path / "one"))
        status = tf.train.Checkpoint(w=tf.Variable(1.0)).restore(path).expect_partial()
        with pytest.raises(AssertionError, match=r"has nothing for v/.ATTRIBUTES/VARIABLE_VALUE.*test_checkpoint.py"):
            status.assert_consumed()
        with pytest.raises(AssertionError, match="not assigned a value from checkpoint.*root.w"):
            status.assert_existing_objects_matched()
        with pytest.raises(AssertionError, match="Nothing except the root object matched"):
            status.assert_nontrivial_match()
        with pytest.raises(ValueError, match=r"root\.v.*has shape \(3,\).*has \[2\]"):
            tf.train.Checkpoint(v=tf.Variable([1.0, 2.0, 3.0])).restore(path)
        with pytest.raises(ValueError, match=r"got 3 for 'n'. Accepted: a variable, a layer.*test_checkpoint.py"):
            tf.train.Checkpoint(n=3)
        with pytest.raises(tf.errors.NotFoundError, match="none"):
            tf.train.Checkpoint(v=tf.Variable(1.0)).restore(str(tmp_path / "none"))


def test_a_checkpoint_of_a_saver_goes_by_names(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable([3.0], name="v")
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "named"))
    v = tf.Variable([0.0], name="v")
    with tf.Session() as session:
        status = tf.train.Checkpoint(any_name=v).restore(path).assert_consumed()
        status.initialize_or_restore(session)
        assert session.run(v) == [3.0]
        other = tf.train.Checkpoint(v=v, w=tf.Variable(1.0, name="w")).restore(path)
        with pytest.raises(AssertionError, match="no value in the checkpoint .*: w"):
            other.assert_existing_objects_matched()


def _variables(checkpoint: Any) -> list[Any]:
    """All variables but the counter of saves."""
    held = tf.contrib.checkpoint.list_objects(checkpoint)
    return [v for v in held if isinstance(v, tf.Variable) and v is not checkpoint.save_counter]


def test_modules_checkpointables_and_states(tmp_path: Path) -> None:
    class Line(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(name="line")
            self.w = tf.Variable(1.0)
            self.points = [tf.Variable(2.0)]

    class Counted(tf.train.experimental.PythonState):  # type: ignore[misc]
        def __init__(self) -> None:
            self.count = 1

        def serialize(self) -> str:
            return str(self.count)

        def deserialize(self, string_value: bytes) -> None:
            self.count = int(string_value)

    class Own(tf.contrib.checkpoint.Checkpointable):  # type: ignore[misc]
        def __init__(self) -> None:
            self.v = tf.Variable(3.0)
            self.left_out = tf.contrib.checkpoint.NoDependency(tf.Variable(4.0))

    def make() -> Any:
        names = tf.contrib.checkpoint.UniqueNameTracker()
        names.track(tf.Variable(5.0), "v")
        names.track(tf.Variable(6.0), "v")
        arrays = tf.contrib.checkpoint.NumpyState()
        mapping = tf.contrib.checkpoint.Mapping(a=tf.Variable(7.0))
        items = tf.contrib.checkpoint.List([tf.Variable(8.0)])
        return tf.train.Checkpoint(
            line=Line(), counted=Counted(), own=Own(), names=names, arrays=arrays, mapping=mapping, items=items
        )

    with tf.eager_mode():
        one = make()
        one.arrays.mean, one.counted.count = [1.0, 2.0], 5
        variables = _variables(one)
        for v in variables:
            v.assign_add(10.0)
        one.own.left_out.assign(99.0)
        path = one.save(str(tmp_path / "ckpt"))
        names = dict(tf.train.list_variables(path))
        assert {"line/points/0/.ATTRIBUTES/VARIABLE_VALUE", "names/v_1/.ATTRIBUTES/VARIABLE_VALUE"} <= names.keys()
        assert not any("left_out" in name for name in names)
        two = make()
        two.restore(path).assert_consumed()
        assert [v.numpy() for v in _variables(two)] == [v.numpy() for v in variables]
        assert two.counted.count == 5 and two.arrays.mean.tolist() == [1.0, 2.0] and two.own.left_out.numpy() == 4.0
        with pytest.raises(ValueError, match="append-only"):
            two.mapping["a"] = tf.Variable(1.0)
        with pytest.raises(TypeError, match="only string keys"):
            two.mapping[1] = tf.Variable(1.0)
        with pytest.raises(ValueError, match="Expected a trackable value, got 3"):
            two.names.track(3, "x")
        with pytest.raises(TypeError, match="holds arrays and numbers"):
            two.arrays.x = object()


def test_weights_before_a_model_is_built(tmp_path: Path) -> None:
    with tf.eager_mode():
        net = Net()
        wanted = net(tf.constant(X)).numpy()
        net.save_weights(str(tmp_path / "weights"))
        other = Net()
        status = other.load_weights(str(tmp_path / "weights"))
        np.testing.assert_array_equal(other(tf.constant(X)).numpy(), wanted)
        status.assert_consumed()


# ---- the manager


def _files(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.index"))


def test_a_manager_keeps_the_newest(tmp_path: Path) -> None:
    with tf.eager_mode():
        checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=2)
        assert manager.latest_checkpoint is None and manager.checkpoints == []
        paths = [manager.save() for _ in range(3)]
        assert manager.checkpoints == paths[1:] and _files(tmp_path) == ["ckpt-2", "ckpt-3"]
        assert manager.latest_checkpoint == paths[-1] == tf.train.latest_checkpoint(str(tmp_path))
        assert manager.save(checkpoint_number=tf.Variable(70)).endswith("ckpt-70")
        again = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=1, checkpoint_name="model")
        assert again.checkpoints == [paths[2], f"{tmp_path}/ckpt-70"]
        assert again.save().endswith("model-5") and _files(tmp_path) == ["model-5"]
        for_good = tf.train.CheckpointManager(checkpoint, str(tmp_path / "all"), 1, keep_checkpoint_every_n_hours=0.0)
        for _ in range(3):
            for_good.save()
        assert len(_files(tmp_path / "all")) == 3 and len(for_good.checkpoints) == 1
    with pytest.raises(ValueError, match="positive integer or `None` for `max_to_keep`, got 0"):
        tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=0)
    with pytest.raises(TypeError, match="needs a tf.train.Checkpoint, got 3"):
        tf.train.CheckpointManager(3, str(tmp_path), max_to_keep=1)


def test_a_manager_in_a_session(tmp_path: Path) -> None:
    v = tf.Variable(1.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(tmp_path), max_to_keep=None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [manager.save()[-2:], manager.save(session=session)[-2:]] == ["-1", "-2"]


@pytest.mark.skipif(not PYTHON, reason="HEADRACE_TF_PYTHON is not set")
@pytest.mark.timeout(300)
def test_tensorflow_reads_it_and_we_read_tensorflows(tmp_path: Path) -> None:
    assert PYTHON
    with tf.eager_mode():
        net, optimizer = Net(), tf.train.AdamOptimizer(0.1)
        checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer, step=tf.Variable(7))
        _train(net, optimizer, 2)
        path = checkpoint.save(str(tmp_path / "ckpt"))
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONWARNINGS")}
        script = FOLDER / "checkpoint_in_tensorflow.py"
        done = subprocess.run(
            [PYTHON, str(script), path, str(tmp_path / "theirs")], capture_output=True, text=True, env=environment,
        )  # fmt: skip
        assert not done.returncode, done.stderr
        *theirs, after = [float(text) for text in done.stdout.split()]
        assert theirs == pytest.approx(_train(net, optimizer, 2), rel=1e-4)
        net, optimizer = Net(), tf.train.AdamOptimizer(0.1)
        again = tf.train.Checkpoint(net=net, optimizer=optimizer, step=tf.Variable(0))
        status = again.restore(str(tmp_path / "theirs-2"))
        losses = _train(net, optimizer, 1)
        status.assert_consumed()
        assert again.step.numpy() == 8 and losses == pytest.approx([after], rel=1e-4)

"""Training of models: which variables change, in which order, how often; update operations; whole runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library.contrib.gan.networks import discriminator, generator

import headrace as tf

gan = tf.contrib.gan
NO_FILES = {"save_checkpoint_secs": None, "save_summaries_steps": None}


def _trained(model: Any = None, **options: Any) -> Any:
    model = model or gan.gan_model(generator, discriminator, tf.ones([4, 2]), tf.ones([4, 3]))
    loss = gan.gan_loss(model)
    sgd = tf.train.GradientDescentOptimizer
    return model, gan.gan_train_ops(model, loss, sgd(0.1), sgd(0.1), **options)


def _counted() -> Any:
    """Train ops that note the order in which they run."""
    order: list[str] = []

    def note(name: str) -> Any:
        return tf.py_func(lambda: (order.append(name), np.float32(1))[1], [], tf.float32)

    step = tf.train.get_or_create_global_step()
    return gan.GANTrainOps(note("g"), note("d"), step.assign_add(1)), order


def test_each_network_has_its_own_operation() -> None:
    model, ops = _trained(summarize_gradients=True)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run([model.generator_variables, model.discriminator_variables])
        sess.run(ops.generator_train_op)
        after = sess.run([model.generator_variables, model.discriminator_variables])
        assert not np.allclose(before[0][0], after[0][0])
        assert all((a == b).all() for a, b in zip(before[1], after[1], strict=True))
        sess.run(ops.discriminator_train_op)
        assert not np.allclose(before[1][0], sess.run(model.discriminator_variables[0]))
        assert sess.run(ops.global_step_inc_op) == 1
    assert ops.train_hooks == []


def test_update_operations_run_with_their_network() -> None:
    def counted(data: Any, inputs: Any) -> Any:
        count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer(), trainable=False)
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, count.assign_add(1, name="more"))
        return discriminator(data, inputs)

    model = gan.gan_model(generator, counted, tf.ones([4, 2]), tf.ones([4, 3]))
    stray = tf.no_op(name="stray")
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, stray)
    with pytest.raises(ValueError, match=r"unused update ops: .*stray.*Generator"):
        _trained(model)
    _, ops = _trained(model, check_for_unused_update_ops=False)
    count = next(v for v in tf.global_variables() if v.op.name.endswith("count"))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(ops.generator_train_op)
        assert sess.run(count) == 0
        sess.run(ops.discriminator_train_op)
        assert sess.run(count) > 0


def test_both_models_of_a_cycle() -> None:
    model = gan.cyclegan_model(generator, discriminator, tf.zeros([4, 2]), tf.ones([4, 2]))
    sgd = tf.train.GradientDescentOptimizer
    ops = gan.gan_train_ops(model, gan.cyclegan_loss(model), sgd(0.1), sgd(0.1))
    assert len(ops.generator_train_op) == 2 == len(ops.discriminator_train_op)
    assert gan.gan_train(ops, None, hooks=[tf.train.StopAtStepHook(2)], **NO_FILES) == 2


@pytest.mark.parametrize(
    ("make_hooks", "expected"),
    [
        (gan.get_sequential_train_hooks(gan.GANTrainSteps(2, 1)), ["g", "g", "d"]),
        (gan.get_joint_train_hooks(gan.GANTrainSteps(1, 3)), ["d", "g", "d", "d"]),
    ],
)
def test_the_order_of_training(make_hooks: Any, expected: list[str]) -> None:
    ops, order = _counted()
    with tf.train.MonitoredSession(hooks=make_hooks(ops)) as sess:
        sess.run(ops.global_step_inc_op)
    assert order[-2:] == expected[-2:] and sorted(order[:2]) == sorted(expected[:2])
    assert len(order) == len(expected)


def test_steps_for_slim() -> None:
    ops, order = _counted()
    step = tf.train.get_global_step()
    step_fn = gan.get_sequential_train_steps(gan.GANTrainSteps(1, 2))
    kwargs = {"should_stop": tf.greater_equal(step, 1)}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert step_fn(sess, ops, step, kwargs) == (3.0, True) and step_fn(sess, ops, step, {}) == (3.0, False)
    assert order == ["g", "d", "d"] * 2 and list(kwargs) == ["should_stop"]


def test_a_generator_learns_where_the_data_are(tmp_path: Path) -> None:
    tf.set_random_seed(1)
    noise = tf.random_normal([64, 1])
    model = gan.gan_model(
        lambda z: z + tf.get_variable("shift", initializer=0.0),
        lambda x, z: tf.layers.dense(tf.layers.dense(x, 8, tf.nn.relu), 1),
        3.0 + tf.random_normal([64, 1]), noise,
    )  # fmt: skip
    loss = gan.gan_loss(model, gan.losses.modified_generator_loss, gan.losses.modified_discriminator_loss)
    adam = tf.train.AdamOptimizer
    ops = gan.gan_train_ops(model, loss, adam(0.05, 0.5), adam(0.05, 0.5))
    gan.gan_train(ops, str(tmp_path), hooks=[tf.train.StopAtStepHook(200)], save_summaries_steps=None)
    assert 2.0 < tf.train.load_variable(str(tmp_path), "Generator/shift") < 4.0  # they are around 3
    assert tf.train.load_variable(str(tmp_path), "global_step") == 200
    tf.summary.FileWriterCache.clear()

"""Variables, optimizers and layers when ops run eagerly."""

import gc
import weakref

import numpy as np
import pytest

import headrace as tf
from headrace.contrib import eager as tfe


class TestVariable:
    def test_reading_and_assigning(self):
        v = tf.Variable([1.0, 2.0], name="v")
        assert (v.name, v.dtype, v.shape.as_list(), v.trainable) == ("v:0", tf.float32, [2], True)
        assert v.assign([3.0, 4.0]) is v
        assert v.assign_add([1.0, 1.0]).numpy().tolist() == [4.0, 5.0]
        assert v.assign_sub([1.0, 1.0], read_value=False) is None
        assert v.numpy().tolist() == v.value().numpy().tolist() == v.read_value().numpy().tolist() == [3.0, 4.0]
        assert tf.assign(v, [0.0, 1.0]).numpy().tolist() == [0.0, 1.0]
        assert (v + 1).numpy().tolist() == [1.0, 2.0] and (1 - v).numpy().tolist() == [1.0, 0.0]
        assert tf.reduce_sum(v * v).numpy() == 1.0
        assert "numpy=array" in repr(v)

    def test_a_read_is_a_snapshot(self):
        v = tf.Variable([1.0, 2.0])
        read, part, same = v.read_value(), v[:1], tf.identity(v)
        v.assign_add([10.0, 10.0])
        assert (read.numpy().tolist(), part.numpy().tolist(), same.numpy().tolist()) == ([1.0, 2.0], [1.0], [1.0, 2.0])
        assert v.numpy().tolist() == [11.0, 12.0]

    def test_writes_in_place_when_nobody_looks(self):
        v = tf.Variable(np.zeros(4, np.float32))
        buffer = v._variable._value.value.data_ptr()
        tf.reduce_sum(v.read_value() * 2.0)
        v.assign_add(np.ones(4, np.float32))
        v.assign(np.ones(4, np.float32))
        assert v._variable._value.value.data_ptr() == buffer

    def test_parts(self):
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        v[0].assign([8.0, 9.0])
        v[1, 1].assign(7.0)
        assert v.numpy().tolist() == [[8.0, 9.0], [3.0, 7.0]]
        rows = tf.IndexedSlices(tf.constant([[1.0, 1.0]]), tf.constant([1]))
        assert v.scatter_add(rows).numpy().tolist() == [[8.0, 9.0], [4.0, 8.0]]
        assert v.scatter_update(rows).numpy()[1].tolist() == [1.0, 1.0]
        with tf.GradientTape() as tape:
            y = v[0] * 2.0
        assert tape.gradient(y, v).numpy().tolist() == [[2.0, 2.0], [0.0, 0.0]]

    def test_wrong_values(self):
        v = tf.Variable([1.0, 2.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape.*test_variable.py"):
            v.assign_add([1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match=r"Cannot assign to variable .*\[2\].*\[3\].*test_variable.py"):
            v.assign([1.0, 2.0, 3.0])
        with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
            v.assign(["a", "b"])

    def test_get_variable_makes_new_ones(self):
        with tf.variable_scope("a"):
            v = tf.get_variable("w", [2], initializer=tf.ones_initializer())
            w = tf.get_variable("w", [2])
        assert v.name == w.name == "a/w:0" and v is not w
        with tf.variable_scope("a", reuse=True), pytest.raises(RuntimeError, match="EagerVariableStore"):
            tf.get_variable("w", [2])

    def test_a_store_shares(self):
        store = tfe.EagerVariableStore()
        results = []
        for _ in range(2):
            with store.as_default():
                results.append(tf.layers.dense(tf.ones([1, 2]), 3, name="out").numpy())
        np.testing.assert_array_equal(*results)
        assert [v.name for v in store.trainable_variables()] == ["out/bias:0", "out/kernel:0"]

    def test_not_watched(self):
        v, fixed = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
        with tf.GradientTape() as tape:
            y = v * fixed
        assert tape.watched_variables() == (v,)
        assert [g if g is None else g.numpy() for g in tape.gradient(y, [v, fixed])] == [3.0, None]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            y = v * fixed
        assert tape.gradient(y, v) is None

    def test_nothing_keeps_it(self):
        v = tf.Variable(np.zeros(1000, np.float32))
        optimizer = tf.train.AdamOptimizer()
        optimizer.minimize(lambda v=v: tf.reduce_sum(v * v))
        seen = weakref.ref(v)
        del v, optimizer
        gc.collect()
        assert seen() is None
        assert tf.global_variables() == []

    def test_uninitialized_is_impossible_but_global_step_is_found(self):
        step = tf.train.get_or_create_global_step()
        assert tf.train.get_global_step() is step and step.numpy() == 0


OPTIMIZERS = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.05, 0.9),
    "Adam": lambda: tf.train.AdamOptimizer(0.01),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "Adadelta": lambda: tf.train.AdadeltaOptimizer(1.0),
    "Ftrl": lambda: tf.train.FtrlOptimizer(0.1),
}


def _data():
    rng = np.random.RandomState(0)
    x = rng.randn(32, 8).astype(np.float32)
    return x, np.sin(x.sum(1, keepdims=True)).astype(np.float32)


def _weights():
    rng = np.random.RandomState(1)
    sizes = [(8, 16), (16,), (16, 1), (1,)]
    return [(rng.randn(*s) * 0.3).astype(np.float32) for s in sizes]


def _loss(x, y, weights):
    w1, b1, w2, b2 = weights
    hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
    return tf.reduce_mean(tf.square(tf.matmul(hidden, w2) + b2 - y))


def _curve_of_graph(make):
    x, y = _data()
    with tf.Graph().as_default():
        weights = [tf.Variable(w) for w in _weights()]
        loss = _loss(tf.constant(x), tf.constant(y), weights)
        train = make().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = []
            for _ in range(15):
                found.append(session.run(loss))
                session.run(train)
        return found


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_trains_as_the_graph_does(name):
    x, y = (tf.constant(a) for a in _data())
    weights = [tf.Variable(w) for w in _weights()]
    optimizer = OPTIMIZERS[name]()
    step = tf.Variable(0, trainable=False)
    found = []
    for i in range(15):
        if i % 2:
            found.append(float(_loss(x, y, weights)))
            optimizer.minimize(lambda: _loss(x, y, weights), global_step=step)
        else:
            with tf.GradientTape() as tape:
                loss = _loss(x, y, weights)
            found.append(float(loss))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True), global_step=step)
    assert step.numpy() == 15
    np.testing.assert_allclose(found, _curve_of_graph(OPTIMIZERS[name]), rtol=2e-4)
    assert found[-1] < found[0]


def test_several_devices_take_the_long_way(monkeypatch):
    """With more than one device every op looks where its inputs are; the results are the same."""
    context = tf.get_default_graph()
    monkeypatch.setattr(context, "several_devices", True)
    monkeypatch.setattr(context, "quick", False)
    x, y = (tf.constant(a) for a in _data())
    weights = [tf.Variable(w) for w in _weights()]
    optimizer = tf.train.AdamOptimizer(0.01)
    found = []
    for _ in range(5):
        found.append(float(_loss(x, y, weights)))
        with tf.device("/cpu:0"):
            optimizer.minimize(lambda: _loss(x, y, weights))
    np.testing.assert_allclose(found, _curve_of_graph(OPTIMIZERS["Adam"])[:5], rtol=2e-4)
    with pytest.raises(RuntimeError, match="no device"), tf.device("/gpu:7"):
        tf.ones([2])


def test_optimizers_want_a_function():
    v = tf.Variable(1.0)
    with pytest.raises(RuntimeError, match="should be a function"):
        tf.train.GradientDescentOptimizer(0.1).minimize(v * v)


def test_layers():
    dense = tf.layers.Dense(3, activation=tf.nn.relu, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1))
    norm = tf.layers.BatchNormalization()
    x = tf.random_normal([16, 4])
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = norm(dense(x), training=True)
            loss = tf.reduce_sum(y * y) + tf.add_n(dense.losses)
        grads = tape.gradient(loss, dense.trainable_variables)
        assert all(g is not None for g in grads)
    assert len(dense.trainable_variables) == 2 and len(dense.losses) == 1 and norm.updates == []
    assert not np.allclose(norm.moving_mean.numpy(), 0) or np.allclose(dense(x).numpy().mean(0), 0)
    weights = dense.get_weights()
    dense.set_weights([w * 0 for w in weights])
    assert not dense(x).numpy().any()


def test_a_part_of_a_variable_inside_a_function():
    v = tf.Variable([1.0, 2.0, 3.0, 4.0])
    double = tfe.defun(lambda: v[1:3] * 2.0)
    assert double().numpy().tolist() == [4.0, 6.0]
    v.assign_add([1.0, 1.0, 1.0, 1.0])
    assert double().numpy().tolist() == [6.0, 8.0]


def test_results_of_a_function_do_not_follow_the_variable():
    v = tf.Variable([1.0, 2.0, 3.0, 4.0])
    parts = tfe.defun(lambda: (tf.reshape(v, [2, 2]), tf.split(v, 2)[1], tf.transpose(tf.reshape(v, [2, 2]))))
    parts()
    first = parts()
    v.assign_add([10.0, 10.0, 10.0, 10.0])
    assert [p.numpy().reshape(-1).tolist() for p in first] == [[1.0, 2.0, 3.0, 4.0], [3.0, 4.0], [1.0, 3.0, 2.0, 4.0]]
    v.assign([0.0, 0.0, 0.0, 0.0])
    assert first[1].numpy().tolist() == [3.0, 4.0] and parts()[1].numpy().tolist() == [0.0, 0.0]


def test_what_a_function_read_as_an_array_is_written_in_place():
    v = tf.Variable([1.0, 2.0, 3.0, 4.0])
    read, part = tfe.defun(lambda: v * 2.0 + v), tfe.defun(lambda: tf.reshape(v, [2, 2]))
    write = tfe.defun(lambda: v.assign_add(v * 0.5))
    state = v._variable._value
    read()
    assert state.viewed
    buffer = state.value.data_ptr()
    part()  # and forgotten
    write()
    v.assign_add([1.0, 1.0, 1.0, 1.0])
    v.assign([1.0, 2.0, 3.0, 4.0])
    assert state.value.data_ptr() == buffer
    kept = part()
    write()
    assert state.value.data_ptr() != buffer
    assert kept.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]] and v.numpy().tolist() == [1.5, 3.0, 4.5, 6.0]

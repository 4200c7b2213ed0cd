"""contrib's argument scopes, variables, hyperparameters, losses, metrics and optimizers."""

import inspect

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace.library.contrib.arg_scope import add_arg_scope, arg_scope, arg_scoped_arguments, has_arg_scope


@add_arg_scope
def shout(text, mark="!", times=1):
    return text + mark * times


def test_arg_scope() -> None:
    assert shout("a") == "a!"
    with arg_scope([shout], mark="?") as scope:
        assert shout("a") == "a?"
        with arg_scope([shout], times=2):
            assert shout("a") == "a??"
            assert shout("a", times=1, mark=".") == "a."
        with arg_scope([shout], mark="-"):
            assert shout("a") == "a-"
    assert shout("a") == "a!"
    with arg_scope(scope):
        assert shout("a") == "a?"
    assert has_arg_scope(shout)
    assert not has_arg_scope(len)
    assert arg_scoped_arguments(shout) == ("mark", "times")
    for given, kwargs, error in (([len], {}, ValueError), (scope, {"a": 1}, ValueError), (shout, {}, TypeError)):
        with pytest.raises(error), arg_scope(given, **kwargs):
            pass


def test_variables() -> None:
    framework = tf.contrib.framework
    with tf.variable_scope("a"):
        w = framework.model_variable("w", [2])
        tf.get_variable("b", [2])
    other = framework.variable("w2", [1], collections=["mine"])
    local = framework.local_variable(0.0, name="l")
    assert framework.get_model_variables() == [w]
    assert [v.op.name for v in framework.get_variables("a")] == ["a/w", "a/b"]
    assert framework.get_variables_by_name("w") == [w]
    assert framework.get_variables_by_suffix("b") == [framework.get_unique_variable("a/b")]
    assert framework.get_local_variables() == [local]
    assert tf.get_collection("mine") == [other]
    assert [v.op.name for v in framework.get_variables_to_restore(exclude=["a/w"])] == ["a/b"]
    assert framework.filter_variables(framework.get_variables(), exclude_patterns=["/b"]) == [w]
    with pytest.raises(ValueError, match="Couldn't find variable"):
        framework.get_unique_variable("nothing")
    set_values = framework.assign_from_values_fn({"a/w": np.array([1.0, 2.0])})
    with initialized_session() as session:
        set_values(session)
        np.testing.assert_array_equal(session.run(w), [1, 2])


def test_hparams() -> None:
    hparams = tf.contrib.training.HParams(rate=0.1, units=64, name="x", deep=True, sizes=[1, 2, 3])
    assert (hparams.rate, hparams.sizes, "rate" in hparams, "none" in hparams) == (0.1, [1, 2, 3], True, False)
    hparams.parse("rate=1,units=32,name=a b,deep=false,sizes=[4,5]")
    assert hparams.values() == {"rate": 1.0, "units": 32, "name": "a b", "deep": False, "sizes": [4, 5]}
    assert isinstance(hparams.rate, float)
    hparams.parse("sizes[1]=9")
    assert hparams.sizes == [4, 9]
    copy = tf.contrib.training.HParams(**hparams.values())
    copy.parse_json(hparams.to_json())
    assert copy.values() == hparams.values()
    hparams.add_hparam("more", 1)
    hparams.set_hparam("more", 2)
    assert hparams.get("more") == 2
    assert hparams.get("none", 5) == 5
    hparams.del_hparam("more")
    assert "more" not in hparams


@pytest.mark.parametrize("text", ["nope=1", "units=1.5", "deep=maybe", "units=[1", "units=1,units=2", "sizes[0]=[1]"])
def test_hparams_refuse(text: str) -> None:
    with pytest.raises(ValueError):
        tf.contrib.training.HParams(units=64, deep=True, sizes=[1, 2]).parse(text)


def test_hparams_keep_their_types() -> None:
    hparams = tf.contrib.training.HParams(units=64, sizes=[1])
    with pytest.raises(ValueError, match="Could not cast hparam 'units'"):
        hparams.set_hparam("units", "a")
    with pytest.raises(ValueError, match="single-valued"):
        hparams.set_hparam("units", [1])
    with pytest.raises(ValueError, match="multi-valued"):
        hparams.set_hparam("sizes", 1)
    with pytest.raises(ValueError, match="reserved"):
        hparams.add_hparam("units", 1)


def test_losses_and_metrics_take_predictions_first(session: tf.Session) -> None:
    labels, logits = [0, 2], tf.constant([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    pairs = [
        (tf.contrib.losses.sparse_softmax_cross_entropy(logits, labels), tf.losses.sparse_softmax_cross_entropy(labels, logits)),
        (tf.contrib.losses.log_loss([0.2], [1.0]), tf.losses.log_loss([1.0], [0.2])),
        (tf.contrib.losses.mean_squared_error([0.2], [1.0]), tf.losses.mean_squared_error([1.0], [0.2])),
        (tf.contrib.metrics.streaming_precision([1, 1], [1, 0])[1], tf.metrics.precision([1, 0], [1, 1])[1]),
        (tf.contrib.metrics.accuracy(tf.constant([1, 1]), tf.constant([1, 0])), tf.constant(0.5)),
    ]  # fmt: skip
    values, updates = tf.contrib.metrics.aggregate_metric_map({"a": tf.contrib.metrics.streaming_mean([1.0])})
    assert (list(values), list(updates)) == (["a"], ["a"])
    session.run(tf.local_variables_initializer())
    for a, b in pairs:
        assert session.run(a) == session.run(b)


def test_help_of_streaming_metrics_says_their_own_order() -> None:
    metric = tf.contrib.metrics.streaming_sparse_precision_at_k
    assert metric.__name__ == "streaming_sparse_precision_at_k"
    assert list(inspect.signature(metric).parameters)[:4] == ["predictions", "labels", "k", "class_id"]
    text = inspect.getdoc(metric) or ""
    assert text.index("\n  predictions: ") < text.index("\n  labels: ") < text.index("\n  k: ")
    assert "tf.contrib.metrics.streaming_sparse_precision_at_k(predictions, labels, k=k)" in text


def test_vocabulary() -> None:
    learn = tf.contrib.learn
    processor = learn.preprocessing.VocabularyProcessor(4)
    rows = np.array(list(processor.fit_transform(["a red fox", "a fox who's red and quick"])))
    np.testing.assert_array_equal(rows, [[1, 2, 3, 0], [1, 3, 4, 2]])
    np.testing.assert_array_equal(list(processor.transform(["new fox"])), [[0, 3, 0, 0]])
    assert next(processor.reverse([[1, 3, 0]])) == "a fox <UNK>"
    assert len(processor.vocabulary_) == 7
    often = learn.preprocessing.VocabularyProcessor(3, min_frequency=1).fit(["b a", "b c", "b a"])
    assert [often.vocabulary_.reverse(i) for i in range(len(often.vocabulary_))] == ["<UNK>", "b", "a"]
    assert (learn.ModeKeys.TRAIN, learn.ModeKeys.EVAL, learn.ModeKeys.INFER) == ("train", "eval", "infer")


# ---- optimizers


def train(optimizer, steps: int = 3, sparse: bool = False) -> np.ndarray:
    start = np.array([[1.0, -2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
    v = tf.get_variable("v", initializer=start)
    used = tf.gather(v, [0, 2, 0]) if sparse else v
    op = optimizer.minimize(tf.reduce_sum(used * used))
    with initialized_session() as session:
        for _ in range(steps):
            session.run(op)
        return session.run(v)


def test_lazy_adam_leaves_other_rows_alone() -> None:
    lazy = train(tf.contrib.opt.LazyAdamOptimizer(0.1), sparse=True)
    np.testing.assert_array_equal(lazy[1], [3, 4])
    tf.reset_default_graph()
    np.testing.assert_allclose(lazy, train(tf.train.AdamOptimizer(0.1), sparse=True), rtol=1e-5)  # no momentum yet lost


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("make", [tf.contrib.opt.NadamOptimizer, tf.contrib.opt.AdaMaxOptimizer])
def test_variants_of_adam(make, sparse: bool) -> None:
    found = train(make(0.1), steps=1, sparse=sparse)
    assert (np.abs(found[[0, 2]]) < [[1, 2], [5, 6]]).all()
    step = 0.1 * (1.9 if make is tf.contrib.opt.NadamOptimizer else 1.0)  # nesterov adds 0.9 of the first mean
    np.testing.assert_allclose(found[2], [5 - step, 6 - step], rtol=1e-4)


def test_weight_decay() -> None:
    found = train(tf.contrib.opt.MomentumWOptimizer(0.1, learning_rate=0.0, momentum=0.9), steps=2)
    np.testing.assert_allclose(found[0], [0.81, -1.62], rtol=1e-5)
    tf.reset_default_graph()
    decayed = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)
    np.testing.assert_allclose(train(decayed(0.1, learning_rate=0.0), steps=1)[0], [0.9, -1.8], rtol=1e-5)
    tf.reset_default_graph()
    assert (np.abs(train(tf.contrib.opt.AdamWOptimizer(0.01, 0.1)))[2] < [5, 6]).all()


def test_moving_average_optimizer() -> None:
    optimizer = tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.5), average_decay=0.5)
    v = tf.get_variable("v", initializer=4.0)
    op = optimizer.minimize(tf.square(v) / 2)
    with initialized_session() as session:
        session.run(op)
        assert session.run([v, optimizer.average(v)]) == [2.0, 3.0]


def test_scipy_interface() -> None:
    pytest.importorskip("scipy")
    v = tf.get_variable("v", initializer=[7.0, 7.0])
    w = tf.get_variable("w", initializer=3.0)
    loss = tf.reduce_sum(tf.square(v - [1.0, 2.0])) + tf.square(w)
    seen, steps = [], []
    optimizer = tf.contrib.opt.ScipyOptimizerInterface(loss, options={"maxiter": 50})
    with initialized_session() as session:
        optimizer.minimize(session, fetches=[loss], loss_callback=seen.append, step_callback=steps.append)
        np.testing.assert_allclose(session.run(v), [1, 2], atol=1e-4)
        assert seen[-1] < 1e-6 < seen[0]
        assert steps[-1].shape == (3,)
        bounded = tf.contrib.opt.ScipyOptimizerInterface(loss, var_list=[v], var_to_bounds={v: (1.5, np.inf)})
        bounded.minimize(session)
        np.testing.assert_allclose(session.run(v), [1.5, 2], atol=1e-4)
        held = tf.contrib.opt.ScipyOptimizerInterface(loss, var_list=[v], equalities=[tf.reduce_sum(v) - 5.0])
        held.minimize(session)
        np.testing.assert_allclose(session.run(v), [2, 3], atol=1e-3)

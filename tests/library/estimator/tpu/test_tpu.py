"""TPUEstimator and what belongs to it, without TPUs: sizes of batches, specs, host calls, configurations, refusals."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import headrace as tf

tpu = tf.contrib.tpu
MODES = tf.estimator.ModeKeys


class Heard:
    """A model of one weight that writes down what its functions are called with."""

    def __init__(self) -> None:
        self.params: list[tuple[str, dict[str, Any]]] = []

    def model(self, features, labels, mode, params):
        self.params.append((mode, dict(params)))
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        y = w * features["x"]
        if mode == MODES.PREDICT:
            outputs = {"serving_default": tf.estimator.export.PredictOutput({"y": y})}
            return tpu.TPUEstimatorSpec(mode, predictions={"y": y}, export_outputs=outputs)
        loss = tf.losses.mean_squared_error(labels, y)
        optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(params["rate"]))
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        metrics = (lambda labels, y: {"error": tf.metrics.mean_absolute_error(labels, y)}, [labels, y])
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, eval_metrics=metrics)

    def input(self, params):
        self.params.append(("input", dict(params)))
        x = np.arange(6, dtype=np.float32)
        return tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x)).batch(params["batch_size"], drop_remainder=True)


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def make(tmp_path):
    def estimator(model_fn, params=None, **kwargs):
        config = tpu.RunConfig(model_dir=str(tmp_path), log_step_count_steps=2, tf_random_seed=1)
        return tpu.TPUEstimator(
            model_fn=model_fn,
            config=config,
            params={"rate": 0.05} if params is None else params,
            use_tpu=False,
            **kwargs,
        )

    return estimator


def events(folder) -> dict[str, list[float]]:
    """The values of each tag in a folder's event files."""
    values: dict[str, list[float]] = {}
    for path in sorted(folder.glob("events.*")):
        for event in tf.train.summary_iterator(str(path)):
            for value in event.summary.value:
                number = value.simple_value if value.HasField("simple_value") else float(tf.make_ndarray(value.tensor))
                values.setdefault(value.tag, []).append(number)
    return values


# ---- the estimator


def test_each_mode_has_its_batch_size(heard, make, tmp_path):
    estimator = make(heard.model, train_batch_size=3, eval_batch_size=2, predict_batch_size=1)
    estimator.train(lambda params: heard.input(params).repeat(), steps=40)
    results = estimator.evaluate(heard.input)
    predictions = [float(one["y"]) for one in estimator.predict(lambda params: heard.input(params).map(lambda x, y: x))]
    assert results["error"] < 0.01 and results["global_step"] == 40
    np.testing.assert_allclose(predictions, 2 * np.arange(6), atol=0.02)
    rate = {"rate": 0.05}
    assert heard.params == [
        ("input", rate | {"batch_size": 3}), (MODES.TRAIN, rate | {"batch_size": 3, "use_tpu": False}),
        ("input", rate | {"batch_size": 2}), (MODES.EVAL, rate | {"batch_size": 2, "use_tpu": False}),
        ("input", rate | {"batch_size": 1}), (MODES.PREDICT, rate | {"batch_size": 1, "use_tpu": False}),
    ]  # fmt: skip
    assert estimator.params == rate
    written = events(tmp_path)
    assert len(written["examples/sec"]) == len(written["global_step/sec"]) > 3
    np.testing.assert_allclose(written["examples/sec"], 3 * np.array(written["global_step/sec"]), rtol=1e-5)


def test_an_exported_model_has_no_batch_size(heard, make, tmp_path):
    estimator = make(heard.model, train_batch_size=3, predict_batch_size=5)
    estimator.train(lambda params: heard.input(params).repeat(), steps=2)

    def receiver():
        x = tf.placeholder(tf.float32, [None])
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    folder = estimator.export_saved_model(str(tmp_path / "export"), receiver)
    assert heard.params[-1] == (MODES.PREDICT, {"rate": 0.05, "use_tpu": False})
    predictor = tf.contrib.predictor.from_saved_model(folder.decode())
    assert predictor({"x": [1.0, 2.0, 3.0]})["y"].shape == (3,)
    predictor.session.close()


def test_params_may_be_hparams(heard, make):
    params = tf.contrib.training.HParams(rate=0.05, use_tpu=True)
    estimator = make(
        lambda features, labels, mode, params: heard.model(features, labels, mode, params.values()), params
    )
    estimator._batch_sizes[MODES.EVAL] = 2
    estimator.evaluate(lambda params: heard.input(params.values()))
    assert heard.params == [
        ("input", {"rate": 0.05, "use_tpu": True, "batch_size": 2}),
        (MODES.EVAL, {"rate": 0.05, "use_tpu": False, "batch_size": 2}),
    ]


def test_a_plain_spec_and_no_batch_sizes(make):
    def model(features, labels, mode, params, config):
        assert params == {"use_tpu": False} and config.tpu_config.iterations_per_loop == 2
        loss = tf.reduce_mean(features * tf.get_variable("w", []))
        step = tf.train.get_global_step().assign_add(1)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step.op)

    def constant(params, shape):
        assert params == {"batch_size": None}
        return tf.ones(shape)

    estimator = make(model, params={})
    estimator.train(functools.partial(constant, shape=[2]), max_steps=3)
    assert estimator.get_variable_value("global_step") == 3


def test_the_inputs_are_on_the_cpu(make):
    seen = []

    def input_fn(params):
        seen.append(tf.constant([1.0]).device)
        return {"x": tf.constant([1.0])}, tf.constant([2.0])

    make(Heard().model, eval_batch_size=1).evaluate(input_fn, steps=1)
    assert seen == ["/device:CPU:0"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"config": None}, r"`config` must be provided with type tf.contrib.tpu.RunConfig, got None"),
        ({"config": tf.estimator.RunConfig()}, "`config` must be provided"),
        ({"use_tpu": True}, r"not on TPUs: pass use_tpu=False.*got use_tpu=True.*test_tpu.py"),
        ({"export_to_cpu": False}, "export_to_cpu=False"),
        ({"params": {"batch_size": 3}}, r"\['batch_size', 'context'\] are reserved keys but \['batch_size'\]"),
        ({"eval_batch_size": 0}, "the batch size of eval must be positive, got 0"),
        ({"model_fn": lambda features, mode: None}, "does not include params argument, required by TPUEstimator"),
    ],
)
def test_estimators_that_are_refused(arguments, text, heard):
    options = {"model_fn": heard.model, "config": tpu.RunConfig(), "use_tpu": False} | arguments
    with pytest.raises(ValueError, match=text):
        tpu.TPUEstimator(**options)


def test_inputs_and_sizes_that_are_refused(heard, make):
    with pytest.raises(ValueError, match=r"input_fn .*test_tpu.py.* does not include params argument"):
        make(heard.model).evaluate(lambda: 3)
    with pytest.raises(TypeError, match=r"the batch size of train must be a whole number above 0, got 1.5"):
        make(heard.model, train_batch_size=1.5)
    with pytest.raises(ValueError, match="model_fn should return an EstimatorSpec"):
        make(lambda features, labels, mode, params: 3, eval_batch_size=1).evaluate(heard.input)


# ---- the spec


class Counts(tf.train.SessionRunHook):
    def __init__(self):
        self.runs = 0

    def after_run(self, run_context, run_values):
        self.runs += 1


def test_a_host_call_writes_summaries_with_each_step(make, tmp_path):
    counts = {mode: Counts() for mode in (MODES.TRAIN, MODES.EVAL, MODES.PREDICT)}

    def model(features, labels, mode, params):
        loss = tf.reduce_mean(tf.get_variable("w", [], initializer=tf.ones_initializer()) * features)
        step = tf.train.get_global_step()
        train_op = tf.assign_add(step, 1)

        def host_call(step, value):
            writer = tf.contrib.summary.create_file_writer(str(tmp_path / "host"), max_queue=1000)
            with writer.as_default(), tf.contrib.summary.always_record_summaries():
                tf.contrib.summary.scalar("value", value[0], step=step[0])
                return tf.contrib.summary.all_summary_ops()

        with tf.control_dependencies([train_op]):
            tensors = {"step": tf.reshape(step, [1]), "value": tf.reshape(loss, [1])}
        return tpu.TPUEstimatorSpec(
            mode, predictions=features, loss=loss, train_op=train_op.op, host_call=(host_call, tensors),
            training_hooks=[counts[MODES.TRAIN]], evaluation_hooks=[counts[MODES.EVAL]],
            prediction_hooks=[counts[MODES.PREDICT]],
        )  # fmt: skip

    def input_fn(params):
        return tf.data.Dataset.from_tensor_slices([2.0] * 4).batch(params["batch_size"])

    estimator = make(model, train_batch_size=1, eval_batch_size=2, predict_batch_size=4)
    estimator.train(input_fn)
    assert events(tmp_path / "host") == {"value": [2.0] * 4}
    estimator.evaluate(input_fn)
    assert len(list(estimator.predict(input_fn))) == 4
    assert [hook.runs for hook in counts.values()] == [4, 2, 1]


def test_scaffold_fn_is_called_when_the_spec_becomes_plain():
    made = []

    def scaffold_fn():
        made.append(tf.train.Scaffold())
        return made[-1]

    spec = tpu.TPUEstimatorSpec(MODES.EVAL, loss=tf.constant(1.0), scaffold_fn=scaffold_fn)
    assert made == []
    assert spec.as_estimator_spec().scaffold is made[0]
    assert spec.mode == MODES.EVAL and spec.eval_metrics is None and spec.training_hooks == ()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"mode": "other"}, ValueError, "mode must be one of 'train', 'eval', 'infer'"),
        ({"eval_metrics": {"a": 1}}, ValueError, "eval_metrics should be a tuple or list of two"),
        ({"eval_metrics": (3, [])}, TypeError, r"eval_metrics\[0\] should be a function, got 3"),
        ({"host_call": (len, 3)}, ValueError, r"host_call\[1\] should be a tuple, list or dict"),
        ({"eval_metrics": (lambda a: a, [1, 2])}, RuntimeError, r"takes \['a'\], but eval_metrics\[1\] has 2 tensors"),
        ({"host_call": (lambda a: a, {"b": 1})}, RuntimeError, r"takes \['a'\], but host_call\[1\] has \['b'\]"),
        ({"scaffold_fn": 3}, TypeError, "scaffold_fn must be a function"),
        ({"training_hooks": [3]}, TypeError, "All hooks must be SessionRunHook"),
    ],
)
def test_specs_that_are_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        tpu.TPUEstimatorSpec(**({"mode": MODES.EVAL} | arguments))


# ---- configurations


def test_tpu_config():
    config = tpu.TPUConfig(5, 8, per_host_input_for_training=False)
    assert config.per_host_input_for_training == tpu.InputPipelineConfig.PER_SHARD_V1
    assert tpu.TPUConfig().per_host_input_for_training == tpu.InputPipelineConfig.PER_HOST_V1
    assert tpu.TPUConfig(per_host_input_for_training=3).per_host_input_for_training == 3
    assert config._replace(num_shards=4).num_shards == 4 and config.iterations_per_loop == 5


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"iterations_per_loop": 0}, ValueError), ({"iterations_per_loop": "2"}, TypeError),
        ({"num_shards": -1}, ValueError), ({"num_cores_per_replica": 3}, ValueError),
        ({"initial_infeed_sleep_secs": 0}, ValueError), ({"input_partition_dims": [1, 2, 3]}, ValueError),
        ({"eval_training_input_configuration": 1}, ValueError),
    ],
)  # fmt: skip
def test_tpu_configs_that_are_refused(arguments, error):
    with pytest.raises(error, match=next(iter(arguments))):
        tpu.TPUConfig(**arguments)


def test_run_config():
    config = tpu.RunConfig(tpu.TPUConfig(num_shards=2), save_checkpoints_steps=7, master="grpc://a:1")
    assert (config.master, config.evaluation_master) == ("grpc://a:1", "grpc://a:1")
    assert config.save_checkpoints_steps == 7 and config.cluster is None
    changed = config.replace(tpu_config=tpu.TPUConfig(num_shards=3), keep_checkpoint_max=1)
    assert changed.tpu_config.num_shards == 3 and changed.keep_checkpoint_max == 1 and changed.master == config.master
    assert config.tpu_config.num_shards == 2 and config.replace().tpu_config.num_shards == 2
    assert tpu.RunConfig(evaluation_master="grpc://b:1").evaluation_master == "grpc://b:1"
    assert tpu.RunConfig(cluster=tf.contrib.cluster_resolver.TPUClusterResolver()).master == ""
    cluster = tf.train.ClusterSpec({"worker": ["w:1"]})
    resolver = tf.contrib.cluster_resolver.SimpleClusterResolver(cluster, master="w:1", rpc_layer="grpc")
    found = tpu.RunConfig(cluster=resolver)
    assert found.master == "grpc://w:1" and found.cluster_spec == cluster and found.cluster is resolver
    with pytest.raises(ValueError, match="Both master and cluster are set"):
        tpu.RunConfig(master="", cluster=resolver)
    with pytest.raises(ValueError, match=r"tpu_config must be a tf.contrib.tpu.TPUConfig, got 3"):
        tpu.RunConfig(3)
    assert tf.estimator.tpu.RunConfig is tpu.RunConfig and tf.estimator.tpu.TPUEstimator is tpu.TPUEstimator


# ---- optimizers and computations


def test_cross_shard_optimizer():
    x = tf.Variable([3.0, 4.0])
    inner = tf.train.MomentumOptimizer(0.5, 0.9)
    outer = tpu.CrossShardOptimizer(inner)
    train = outer.minimize(tf.nn.l2_loss(x))
    assert outer.get_slot(x, "momentum") is inner.get_slot(x, "momentum")
    assert outer.get_slot_names() == ["momentum"] and outer.variables() == inner.variables()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(x), [1.5, 2.0])
    with pytest.raises(ValueError, match="reduction must be"):
        tpu.CrossShardOptimizer(inner, reduction="none")
    with pytest.raises(TypeError, match="only works with tf.train.Optimizer, got 3"):
        tpu.CrossShardOptimizer(3)
    with pytest.raises(ValueError, match="one copy"):
        tpu.CrossShardOptimizer(inner, group_assignment=[[0, 1]])


def test_bfloat16_scope():
    with tpu.bfloat16_scope("model") as scope:
        w = tf.get_variable("w", [2], tf.bfloat16, initializer=tf.constant_initializer([1.0, 3.0]))
        b = tf.get_variable("b", [2])
        loss = tf.reduce_sum(tf.cast(w * tf.constant([2.0, 2.0], tf.bfloat16), tf.float32))
    assert scope.name == "model" and w.dtype == tf.bfloat16 and b.dtype.base_dtype == tf.float32
    kept = tf.global_variables()[0]
    assert kept.op.name == "model/w" and kept.dtype.base_dtype == tf.float32
    (gradient,) = tf.gradients(loss, kept)
    assert gradient.dtype == tf.float32
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(gradient), [2.0, 2.0])


def test_rewrite():
    counted = tf.get_variable("n", [], tf.int32, initializer=tf.zeros_initializer())

    def computation(x, y):
        return x + y, tf.assign_add(counted, 1).op

    total = tpu.rewrite(computation, [tf.constant(1), 2])
    nothing = tpu.rewrite(lambda: tf.assign_add(counted, 10).op)
    single = tpu.rewrite(lambda x: x, [5])
    assert isinstance(nothing, tf.Operation) and isinstance(single, list)
    assert isinstance(tpu.rewrite(lambda: None), tf.Operation)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(total) == [3] and session.run(counted) == 1
        session.run(nothing)
        assert session.run(counted) == 11 and session.run(single) == [5]
    with pytest.raises(ValueError, match="infeed_queue must be None"):
        tpu.rewrite(computation, [1, 2], infeed_queue=3)


def test_the_rest_is_as_it_is():
    x = tf.constant([1.0, 2.0])
    assert tf.tpu.outside_compilation(lambda a, b: (b, a), x, b=3) == (3, x)
    np.testing.assert_array_equal(tf.Session().run(tf.tpu.cross_replica_sum(x)), [1.0, 2.0])
    with pytest.raises(ValueError, match="one copy"):
        tf.tpu.cross_replica_sum(x, [[0, 1]])
    with pytest.raises(AttributeError, match="TPUEstimator with use_tpu=False"):
        tf.contrib.tpu.keras_to_tpu_model  # noqa: B018 - asking for it is the test

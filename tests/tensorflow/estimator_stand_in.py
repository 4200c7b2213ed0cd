"""tf.estimator and tf.contrib.tpu for TensorFlow 2.16 and later, which have neither, on compat.v1's monitored sessions.

A model function's graph is TensorFlow's own; this only calls it, runs its train op, its metrics or its predictions, and keeps
checkpoints, as the estimators of TensorFlow 1 did.
"""

import collections
import inspect
import types

import tensorflow.compat.v1 as tf


class ModeKeys:
    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


Spec = collections.namedtuple(
    "EstimatorSpec",
    "mode predictions loss train_op eval_metric_ops export_outputs training_chief_hooks training_hooks scaffold "
    "evaluation_hooks prediction_hooks",
)
Spec.__new__.__defaults__ = (None,) * 10


class TPUEstimatorSpec:
    """Becomes an EstimatorSpec: what a TPU cannot compute is called."""

    def __new__(
        cls, mode, predictions=None, loss=None, train_op=None, eval_metrics=None, export_outputs=None, scaffold_fn=None,
        host_call=None, training_hooks=None, evaluation_hooks=None, prediction_hooks=None,
    ):  # fmt: skip
        metrics = None if eval_metrics is None else _called(*eval_metrics)
        if host_call is not None and mode == ModeKeys.TRAIN:
            with tf.control_dependencies([_called(*host_call)]):
                train_op = tf.group(train_op)
        return Spec(
            mode, predictions, loss, train_op, metrics, None, None, training_hooks, scaffold_fn and scaffold_fn()
        )


def _called(function, arguments):
    return function(**arguments) if isinstance(arguments, dict) else function(*arguments)


class RunConfig:
    def __init__(self, model_dir=None, save_checkpoints_steps=None, **others):
        self.model_dir, self.save_checkpoints_steps = model_dir, save_checkpoints_steps
        self.__dict__.update(others)


class Estimator:
    def __init__(self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None):
        self.config = config or RunConfig()
        self.model_fn, self.model_dir = model_fn, model_dir or self.config.model_dir
        self.params = dict(params or {})
        self.batch_sizes = {}

    def _spec(self, input_fn, mode):
        tf.train.create_global_step()
        batch_size = self.batch_sizes.get(mode)
        own = {"params": {**self.params, "batch_size": batch_size}} if batch_size else {"params": self.params}
        own.update(config=self.config, mode=mode)
        with tf.device("/cpu:0"):
            made = input_fn(**{k: v for k, v in own.items() if k in inspect.signature(input_fn).parameters})
        initializer = None
        if isinstance(made, tf.data.Dataset):
            iterator = tf.data.make_initializable_iterator(made)
            initializer, made = iterator.initializer, iterator.get_next()
        features, labels = made if isinstance(made, tuple) else (made, None)
        named = inspect.signature(self.model_fn).parameters
        own = {k: v for k, v in own.items() if k in named}
        spec = self.model_fn(features, labels, **own) if "labels" in named else self.model_fn(features, **own)
        if initializer is not None:
            tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, initializer)
        return spec

    def train(self, input_fn, hooks=None, steps=None, max_steps=None):
        with tf.Graph().as_default():
            spec = self._spec(input_fn, ModeKeys.TRAIN)
            step = tf.train.get_global_step()
            stop = tf.train.StopAtStepHook(num_steps=steps, last_step=max_steps) if steps or max_steps else None
            hooks = [*(hooks or ()), *(spec.training_hooks or ()), *(spec.training_chief_hooks or ())]
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=self.model_dir, hooks=[*hooks, *([stop] if stop else [])], scaffold=spec.scaffold,
                save_checkpoint_steps=10**9, save_summaries_steps=None, save_summaries_secs=None,
            ) as session:  # fmt: skip
                while not session.should_stop():
                    session.run([spec.train_op, spec.loss, step])
        return self

    def _restored(self, spec):
        scaffold = spec.scaffold or tf.train.Scaffold()
        path = tf.train.latest_checkpoint(self.model_dir)
        return tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold, checkpoint_filename_with_path=path))

    def evaluate(self, input_fn, steps=None, hooks=None, name=None):
        with tf.Graph().as_default():
            spec = self._spec(input_fn, ModeKeys.EVAL)
            metrics = {**(spec.eval_metric_ops or {}), "loss": tf.metrics.mean(spec.loss)}
            values = {key: value for key, (value, _) in metrics.items()}
            values["global_step"] = tf.train.get_global_step()
            updates = [update for _, update in metrics.values()]
            with self._restored(spec) as session:
                done = 0
                while steps is None or done < steps:
                    try:
                        session.run(updates)
                    except tf.errors.OutOfRangeError:
                        break
                    done += 1
                return session.run_step_fn(lambda step_context: step_context.session.run(values))

    def predict(self, input_fn, predict_keys=None, hooks=None):
        with tf.Graph().as_default():
            spec = self._spec(input_fn, ModeKeys.PREDICT)
            with self._restored(spec) as session:
                while True:
                    try:
                        rows = session.run(spec.predictions)
                    except tf.errors.OutOfRangeError:
                        return
                    if not isinstance(rows, dict):
                        yield from rows
                        continue
                    for i in range(len(next(iter(rows.values())))):
                        yield {key: value[i] for key, value in rows.items()}


class TPUEstimator(Estimator):
    def __init__(
        self, model_fn=None, model_dir=None, config=None, params=None, use_tpu=True, train_batch_size=None,
        eval_batch_size=None, predict_batch_size=None, **others,
    ):  # fmt: skip
        assert not use_tpu
        super().__init__(model_fn, model_dir, config, params)
        self.batch_sizes = {
            ModeKeys.TRAIN: train_batch_size, ModeKeys.EVAL: eval_batch_size, ModeKeys.PREDICT: predict_batch_size,
        }  # fmt: skip

    def _spec(self, input_fn, mode):
        self.params["use_tpu"] = False
        return super()._spec(input_fn, mode)


def layer_norm(
    inputs, center=True, scale=True, activation_fn=None, begin_norm_axis=1, begin_params_axis=-1, scope=None
):
    """What tf.contrib.layers.layer_norm did with floats."""
    with tf.variable_scope(scope, "LayerNorm", [inputs]):
        size = [inputs.shape.as_list()[begin_params_axis]]
        beta = tf.get_variable("beta", size, initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", size, initializer=tf.ones_initializer())
        axes = list(range(begin_norm_axis % inputs.shape.ndims, inputs.shape.ndims))
        mean, variance = tf.nn.moments(inputs, axes, keep_dims=True)
        return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)


estimator = types.SimpleNamespace(Estimator=Estimator, EstimatorSpec=Spec, ModeKeys=ModeKeys, RunConfig=RunConfig)
tpu = types.SimpleNamespace(
    TPUEstimator=TPUEstimator, TPUEstimatorSpec=TPUEstimatorSpec, CrossShardOptimizer=lambda optimizer: optimizer,
    RunConfig=lambda tpu_config=None, cluster=None, master=None, **others: RunConfig(tpu_config=tpu_config, **others),
    TPUConfig=lambda **others: types.SimpleNamespace(**others),
    InputPipelineConfig=types.SimpleNamespace(PER_HOST_V1=2, PER_HOST_V2=3),
)  # fmt: skip

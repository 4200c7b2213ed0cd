"""``EstimatorSpec``: what a model function returns, checked where it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.operation import Operation, Tensor
from headrace.library.estimator.export_output import ExportOutput, PredictOutput
from headrace.library.estimator.mode_keys import MODES, ModeKeys
from headrace.library.state.variable import Variable
from headrace.library.tensor import array
from headrace.library.train.session.run_hook import SessionRunHook
from headrace.library.train.session.scaffold import Scaffold

DEFAULT_SIGNATURE = "serving_default"


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    export_outputs: Any
    training_chief_hooks: Any
    training_hooks: Any
    scaffold: Any
    evaluation_hooks: Any
    prediction_hooks: Any


class EstimatorSpec(_Fields):
    """The ops of a model in one mode.

    Training needs ``loss`` and ``train_op``, evaluation ``loss``, prediction ``predictions``; a model function may fill in
    all of them in every mode.  ``eval_metric_ops`` maps names to results of ``tf.metrics``: pairs of a value and an update.
    """

    __slots__ = ()

    def __new__(
        cls, mode: str, predictions: Any = None, loss: Any = None, train_op: Any = None, eval_metric_ops: Any = None,
        export_outputs: Any = None, training_chief_hooks: Any = None, training_hooks: Any = None, scaffold: Any = None,
        evaluation_hooks: Any = None, prediction_hooks: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        if mode not in MODES:
            raise ValueError(
                f"mode must be one of {', '.join(map(repr, MODES))} (tf.estimator.ModeKeys), got {mode!r} {at()}"
            )
        return super().__new__(
            cls, mode,
            predictions=_checked_predictions(predictions, mode),
            loss=_checked_loss(loss, mode),
            train_op=_checked_train_op(train_op, mode),
            eval_metric_ops=_checked_metrics(eval_metric_ops),
            export_outputs=_checked_export_outputs(export_outputs, predictions, mode),
            training_chief_hooks=checked_hooks("training_chief_hooks", training_chief_hooks),
            training_hooks=checked_hooks("training_hooks", training_hooks),
            scaffold=_checked_scaffold(scaffold),
            evaluation_hooks=checked_hooks("evaluation_hooks", evaluation_hooks),
            prediction_hooks=checked_hooks("prediction_hooks", prediction_hooks),
        )  # fmt: skip


# ---- checks


def _checked_train_op(train_op: Any, mode: str) -> Any:
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError(f"Missing train_op: an EstimatorSpec for training needs one {at()}")
        return None
    if not isinstance(train_op, (Operation, Tensor, Variable)):
        raise TypeError(f"train_op must be Operation or Tensor, given: {train_op!r} {at()}")
    _check_graph("train_op", train_op)
    return train_op


def _checked_loss(loss: Any, mode: str) -> Any:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError(f"Missing loss: an EstimatorSpec with mode {mode!r} needs one {at()}")
        return None
    _check_tensor("loss", loss)
    shape = loss.shape
    if not shape.is_compatible_with([]) and not shape.is_compatible_with([1]):
        raise ValueError(f"Loss must be scalar, given: {loss!r}. Reduce it, with tf.reduce_mean for example {at()}")
    return loss if shape.ndims == 0 else array.reshape(loss, [])


def _checked_predictions(predictions: Any, mode: str) -> Any:
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError(f"Missing predictions: an EstimatorSpec with mode {mode!r} needs them {at()}")
        return {}
    named = predictions if isinstance(predictions, Mapping) else {None: predictions}
    for key, value in named.items():
        _check_tensor("predictions" if key is None else f"predictions[{key!r}]", value)
    return predictions


def _checked_metrics(metrics: Any) -> dict[str, Any]:
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise TypeError(f"eval_metric_ops must be a dict of names and metrics, given: {metrics!r} {at()}")
    for key, pair in metrics.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, as tf.metrics gives them, given: "
                f"{pair!r} for key: {key!r} {at()}"
            )
        value, update = pair
        if isinstance(value, Operation) or not isinstance(value, (Tensor, Variable)):
            raise TypeError(f"the value of eval_metric_ops[{key!r}] must be a Tensor, given: {value!r} {at()}")
        if not isinstance(update, (Operation, Tensor, Variable)):
            raise TypeError(
                f"the update of eval_metric_ops[{key!r}] must be Operation or Tensor, given: {update!r} {at()}"
            )
        _check_graph(f"eval_metric_ops[{key!r}]", value)
        _check_graph(f"eval_metric_ops[{key!r}]", update)
    return dict(metrics)


def _checked_export_outputs(outputs: Any, predictions: Any, mode: str) -> Any:
    """The outputs to export, one of them the default; without any, the predictions."""
    if outputs is None:
        if mode != ModeKeys.PREDICT:
            return None
        outputs = {DEFAULT_SIGNATURE: PredictOutput(predictions)}
    if not isinstance(outputs, Mapping):
        raise TypeError(f"export_outputs must be dict, given: {outputs!r} {at()}")
    for key, output in outputs.items():
        if not isinstance(output, ExportOutput):
            raise TypeError(
                f"Values in export_outputs must be ExportOutput objects (tf.estimator.export), given: {output!r} for key: "
                f"{key!r} {at()}"
            )
    outputs = dict(outputs)
    if len(outputs) == 1:
        outputs.setdefault(DEFAULT_SIGNATURE, next(iter(outputs.values())))
    if outputs and DEFAULT_SIGNATURE not in outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default. Do this by naming one of "
            f"them with tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: got {sorted(outputs)} {at()}"
        )
    return outputs


def checked_hooks(name: str, hooks: Any) -> tuple[SessionRunHook, ...]:
    """The hooks as a tuple; TypeError for anything else among them."""
    if hooks is None:
        return ()
    if not isinstance(hooks, (list, tuple)):
        raise TypeError(f"{name} must be a list or tuple of SessionRunHooks, given: {hooks!r} {at()}")
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook!r} in {name} {at()}")
    return tuple(hooks)


def _checked_scaffold(scaffold: Any) -> Scaffold:
    if scaffold is None:
        return Scaffold()
    if not isinstance(scaffold, Scaffold):
        raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold!r} {at()}")
    return scaffold


def _check_tensor(name: str, value: Any) -> None:
    if not isinstance(value, (Tensor, Variable)):
        raise TypeError(f"{name} must be Tensor, given: {value!r} {at()}")
    _check_graph(name, value)


def _check_graph(name: str, value: Any) -> None:
    if value.graph is not context.get_default_graph():
        raise ValueError(
            f"{name} must be from the default graph, which the estimator has made for this call: {value!r} is of another. "
            f"Build it inside the model_fn {at()}"
        )

"""tf.keras.estimator.model_to_estimator: a compiled model as an ``Estimator``, which builds it anew for each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.backend.phase import set_learning_phase
from headrace.library.control.dependency import group
from headrace.library.estimator.estimator import Estimator
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.mode_keys import ModeKeys
from headrace.library.keras.engine.clone import clone_model
from headrace.library.keras.optimizers.tf_optimizer import TFOptimizer
from headrace.library.keras.saving.model_file import load_model
from headrace.library.keras.training.step import GraphSteps
from headrace.library.layers.named_object import CustomObjectScope
from headrace.library.state.global_step import get_or_create_global_step
from headrace.library.train.session.scaffold import Scaffold


def model_to_estimator(
    keras_model: Any = None, keras_model_path: Any = None, custom_objects: Mapping[str, Any] | None = None,
    model_dir: Any = None, config: Any = None, checkpoint_format: str = "saver",
) -> Estimator:  # fmt: skip
    """An estimator that trains a compiled model, and begins with the values that its variables have now.

    An input function gives the inputs as a tensor, a list, or a dictionary by the names of input layers, and the labels likewise.

    Args:
      keras_model: A compiled model that is a graph of layers or a `tf.keras.Sequential` with an input shape.
      keras_model_path: The path of a file with such a model, in place of `keras_model`.
      custom_objects: The user's own classes and functions by the names that the model has for them.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      config: A `tf.estimator.RunConfig`; None for the default one.
      checkpoint_format: "saver": names of variables, as estimators have them.

    Returns:
      A `tf.estimator.Estimator`.

    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), name="dense")])
    >>> model.compile("sgd", "mse")
    >>> estimator = tf.keras.estimator.model_to_estimator(model)
    >>> x, y = {"dense_input": np.ones([4, 2], np.float32)}, np.ones([4, 1], np.float32)
    >>> _ = estimator.train(tf.estimator.inputs.numpy_input_fn(x, y, num_epochs=None, shuffle=False), steps=3)
    >>> estimator.get_variable_names()[:3]
    ['dense/bias', 'dense/kernel', 'global_step']
    >>> tf.summary.FileWriterCache.clear()
    """
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError(
            "Either `keras_model` or `keras_model_path` needs to be provided, and not both: got "
            f"keras_model={keras_model!r}, keras_model_path={keras_model_path!r} {at()}"
        )
    if checkpoint_format != "saver":
        raise ValueError(f"checkpoint_format must be 'saver', got {checkpoint_format!r} {at()}")
    model = load_model(keras_model_path, custom_objects) if keras_model is None else keras_model
    if model.optimizer is None:
        raise ValueError(
            "Given keras model has not been compiled yet. Please compile the model with `model.compile()` before calling "
            f"`model_to_estimator()` {at()}"
        )
    if not model._is_graph_network:
        raise ValueError(
            f"the model {model.name!r} must be a graph of layers, or a stack of layers with an input shape {at()}"
        )
    values = model.get_weights()

    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        with CustomObjectScope(custom_objects):
            return _spec(model, values, features, labels, mode)

    return Estimator(model_fn, model_dir, config)


def _spec(model: Any, values: Sequence[Any], features: Any, labels: Any, mode: str) -> EstimatorSpec:
    set_learning_phase(int(mode == ModeKeys.TRAIN))
    clone = clone_model(model, input_tensors=_in_order(features, model.input_names, "features"))
    predictions = dict(zip(model.output_names, clone.outputs, strict=True))
    scaffold = Scaffold(init_fn=_beginning(clone.weights, values))
    if mode == ModeKeys.PREDICT:
        return EstimatorSpec(mode, predictions=predictions, scaffold=scaffold)
    step = get_or_create_global_step()
    optimizer = model.optimizer
    if isinstance(optimizer, TFOptimizer):
        optimizer = TFOptimizer(optimizer.optimizer)
    else:
        optimizer = type(optimizer).from_config(optimizer.get_config())
    optimizer.iterations = step
    arguments = {**model._settings.arguments, "target_tensors": _in_order(labels, model.output_names, "labels")}
    arguments |= {name: nest.map_structure(_anew, arguments[name]) for name in ("metrics", "weighted_metrics")}
    clone.compile(optimizer, **arguments)
    loss, *rest = GraphSteps(clone, clone._settings.compiled).fetches("train" if mode == ModeKeys.TRAIN else "test")
    _add_local(variable for metric in clone.metrics for variable in metric.weights)
    if mode == ModeKeys.TRAIN:
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=group(*rest), scaffold=scaffold)
    results = clone._settings.compiled.metrics
    metrics = {metric.name: (metric.result(), metric._call_result) for metric in results}
    return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=metrics, scaffold=scaffold)


def _beginning(variables: Sequence[Any], values: Sequence[Any]) -> Any:
    """What sets the variables where there is no checkpoint to take them from."""

    def set_values(scaffold: Any, session: Any) -> None:
        for variable, value in zip(variables, values, strict=True):
            variable.load(value, session)

    return set_values


def _in_order(given: Any, names: Sequence[str], what: str) -> list[Any]:
    """The tensors in the order of the model's names."""
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        if missing:
            raise KeyError(
                f"the {what} of the input function lack {missing} of the model: they are {sorted(given)} {at()}"
            )
        return [convert_to_tensor(given[name]) for name in names]
    tensors = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(tensors) != len(names):
        raise ValueError(f"the input function gives {len(tensors)} {what}, the model has {list(names)} {at()}")
    return [convert_to_tensor(tensor) for tensor in tensors]


def _anew(metric: Any) -> Any:
    """A metric like this one with variables of its own; names and functions stay."""
    return type(metric).from_config(metric.get_config()) if hasattr(metric, "update_state") else metric


def _add_local(variables: Any) -> None:
    """The variables of metrics begin anew in each session, and are in no checkpoint."""
    graph = context.get_default_graph()
    for variable in variables:
        graph.add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)

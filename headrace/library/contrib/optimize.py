"""contrib.layers.optimize_loss, and contrib.training's and slim's create_train_op: gradients, changed, applied."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.contrib.gradient_summary import add_each, add_gradients_summaries, add_norm
from headrace.library.contrib.variables import get_trainable_variables
from headrace.library.control.assertion import check_numerics as check_finite
from headrace.library.control.dependency import identity, with_dependencies
from headrace.library.numeric import clip, division, math
from headrace.library.numeric.random import truncated_normal
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.global_step import assert_global_step, get_global_step, get_or_create_global_step
from headrace.library.state.initializers import Constant
from headrace.library.state.variable import Variable
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.state.variables import trainable_variables
from headrace.library.summary.summary import scalar
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where
from headrace.library.train.moving_averages import assign_moving_average
from headrace.library.train.optimizer.adagrad import AdagradOptimizer
from headrace.library.train.optimizer.adam import AdamOptimizer
from headrace.library.train.optimizer.ftrl import FtrlOptimizer
from headrace.library.train.optimizer.gradient_descent import GradientDescentOptimizer
from headrace.library.train.optimizer.momentum import MomentumOptimizer
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer
from headrace.library.train.optimizer.rmsprop import RMSPropOptimizer

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Any]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": functools.partial(MomentumOptimizer, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = (
    "learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm",
)  # fmt: skip


def optimize_loss(
    loss: Any, global_step: Any, learning_rate: Any, optimizer: Any, gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None, clip_gradients: Any = None,
    learning_rate_decay_fn: Any = None, update_ops: Any = None, variables: Sequence[Any] | None = None,
    name: str | None = None, summaries: Sequence[str] | None = None, colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:  # fmt: skip
    """An op that runs the update ops, applies the gradients, and gives the loss.

    ``optimizer`` is a name ("SGD", "Adam"...), a class, an instance, or a function of the learning rate.
    ``clip_gradients`` is a global norm or a function of (gradient, variable) pairs.
    ``summaries`` are of OPTIMIZER_SUMMARIES: by default the loss, a decayed learning rate and the norm of all gradients.

    Args:
      loss: The scalar to minimise.
      global_step: The variable that counts steps; None for the graph's, if it has one.
      learning_rate: A number, a scalar tensor or a variable; None only if `optimizer` needs none.
      optimizer: The name, the class, the instance, or a function that makes it.
      gradient_noise_scale: The deviation of noise added to the gradients; None for none.
      gradient_multipliers: A dictionary from variables, or their names, to factors of their gradients; None for none.
      clip_gradients: The largest global norm, or a function of the pairs (gradient, variable); None for no change.
      learning_rate_decay_fn: A function of the learning rate and the global step that gives the rate to use; None for none.
      update_ops: The operations to run before the loss is computed; None for the collection `tf.GraphKeys.UPDATE_OPS`.
      variables: The variables to change; None for `tf.trainable_variables()`.
      name: The variable scope of the ops; None for `OptimizeLoss`.
      summaries: A list of names of summaries to add; None for the default ones, an empty list for none.
      colocate_gradients_with_ops: True places gradients with the operations they are of.
      increment_global_step: False leaves `global_step` as it is.

    Returns:
      The loss, whose computation trains one step.

    >>> x, step = tf.Variable([3.0, 4.0]), tf.train.get_or_create_global_step()
    >>> train_op = tf.contrib.layers.optimize_loss(tf.nn.l2_loss(x), step, learning_rate=0.1, optimizer="SGD")
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(train_op)
    np.float32(12.5)
    """
    loss = convert_to_tensor(loss)
    if loss.shape.ndims not in (0, None):
        raise ValueError(f"Loss must be scalar; loss: {loss}")
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        if update_ops is None:
            update_ops = set(context.get_default_graph().get_collection(GraphKeys.UPDATE_OPS))
        if update_ops:
            loss = with_dependencies(list(update_ops), loss)
        summary_names = _checked_summaries(summaries)
        rate = _learning_rate(learning_rate, learning_rate_decay_fn, global_step)
        if "learning_rate" in summary_names and learning_rate is not None and learning_rate_decay_fn is not None:
            scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate)
        pairs = chosen.compute_gradients(
            loss, trainable_variables() if variables is None else list(variables),
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )  # fmt: skip
        if gradient_noise_scale is not None:
            pairs = _noisy(pairs, gradient_noise_scale)
        if gradient_multipliers is not None:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        if "global_gradient_norm" in summary_names:
            add_norm("gradient_norm", pairs)
        pairs = _clipped(pairs, clip_gradients)
        if "loss" in summary_names:
            scalar("loss", loss)
        add_each(pairs, summary_names)
        if clip_gradients is not None and ("global_gradient_norm" in summary_names or "gradient_norm" in summary_names):
            add_norm("clipped_gradient_norm", pairs)
        updates = chosen.apply_gradients(
            pairs, global_step=global_step if increment_global_step else None, name="train"
        )
        return with_dependencies([updates], loss)


def _checked_summaries(summaries: Sequence[str] | None) -> Sequence[str]:
    if summaries is None:
        return "loss", "learning_rate", "global_gradient_norm"
    for summary in summaries:
        if summary not in OPTIMIZER_SUMMARIES:
            raise ValueError(f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {summary}.")
    return summaries


def _learning_rate(learning_rate: Any, decay_fn: Any, global_step: Any) -> Any:
    if learning_rate is None:
        return None
    if isinstance(learning_rate, (Tensor, Variable)):
        rate: Any = learning_rate
    elif isinstance(learning_rate, (int, float)):
        if learning_rate < 0.0:
            raise ValueError(f"Invalid learning_rate {learning_rate}.")
        rate = get_variable("learning_rate", [], trainable=False, initializer=Constant(float(learning_rate)))
    else:
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type {type(learning_rate)}"
        )
    return decay_fn(rate, global_step) if decay_fn is not None else rate


def _optimizer(optimizer: Any, rate: Any) -> Any:
    if isinstance(optimizer, Optimizer):
        return optimizer
    if isinstance(optimizer, str):
        if rate is None:
            raise ValueError(f"Learning rate is None, but should be specified if optimizer is string ({optimizer}).")
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if isinstance(optimizer, type) and issubclass(optimizer, Optimizer):
        if rate is None:
            raise ValueError(f"Learning rate is None, but should be specified if optimizer is class ({optimizer}).")
        return optimizer(learning_rate=rate)  # type: ignore[call-arg]
    if callable(optimizer):
        instance = optimizer(rate) if rate is not None else optimizer()
        if isinstance(instance, Optimizer):
            return instance
        raise ValueError(f"Unrecognized optimizer: function should return subclass of Optimizer. Got {instance}.")
    raise ValueError(
        f"Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of Optimizer or "
        f"function with one argument. Got {optimizer}."
    )


def _map(pair: tuple[Any, Any], change: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The gradient's values changed, dense or sparse."""
    grad, var = pair
    if grad is None:
        return grad, var
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(change(grad.values), grad.indices, grad.dense_shape), var
    return change(grad), var


def _noisy(pairs: GradsAndVars, scale: float) -> GradsAndVars:
    def add_noise(values: Any) -> Any:
        return values + truncated_normal(array.shape(values)) * scale

    return [_map(pair, add_noise) for pair in pairs]


def multiply_gradients(grads_and_vars: GradsAndVars, gradient_multipliers: Mapping[Any, Any]) -> GradsAndVars:
    """Gradients times factors given by variable or by its name.

    Args:
      grads_and_vars: A list of pairs (gradient, variable).
      gradient_multipliers: A dictionary from variables, or their names, to factors. It must not be empty.

    Returns:
      A list of pairs (gradient, variable).

    >>> x = tf.Variable([3.0, 4.0])
    >>> pairs = tf.contrib.training.multiply_gradients([(tf.constant([1.0, 2.0]), x)], {x: 10.0})
    >>> tf.Session().run(pairs[0][0])
    array([10., 20.], dtype=float32)
    """
    if not isinstance(gradient_multipliers, Mapping) or not gradient_multipliers:
        raise ValueError("`gradient_multipliers` must be a non-empty dictionary.")
    multiplied = []
    for grad, var in grads_and_vars:
        key = var if var in gradient_multipliers else var.op.name if var.op.name in gradient_multipliers else var.name
        if key in gradient_multipliers:
            if grad is None:
                raise ValueError("Requested multiple of `None` gradient.")
            factor = gradient_multipliers[key]
            multiplied.append(_map((grad, var), lambda v, f=factor: v * math.cast(f, v.dtype)))  # type: ignore[misc]
        else:
            multiplied.append((grad, var))
    return multiplied


def clip_gradient_norms(gradients_to_variables: GradsAndVars, max_norm: float) -> GradsAndVars:
    """Each gradient by itself to a norm of at most ``max_norm``.

    Args:
      gradients_to_variables: A list of pairs (gradient, variable).
      max_norm: The largest norm.

    Returns:
      A list of pairs (gradient, variable).

    >>> x = tf.Variable([0.0, 0.0])
    >>> pairs = tf.contrib.training.clip_gradient_norms([(tf.constant([3.0, 4.0]), x)], max_norm=1.0)
    >>> tf.Session().run(pairs[0][0]).round(3)
    array([0.6, 0.8], dtype=float32)
    """
    return [_map(pair, lambda v: clip.clip_by_norm(v, max_norm)) for pair in gradients_to_variables]


def clip_gradient_norms_fn(max_norm: float) -> Callable[[GradsAndVars], GradsAndVars]:
    """A function that clips each gradient of a list of (gradient, variable) to the norm.

    Args:
      max_norm: The largest norm.

    Returns:
      A function for `transform_grads_fn` of `tf.contrib.training.create_train_op`.

    >>> x = tf.Variable([0.0, 0.0])
    >>> pairs = tf.contrib.training.clip_gradient_norms_fn(1.0)([(tf.constant([3.0, 4.0]), x)])
    >>> tf.Session().run(pairs[0][0]).round(3)
    array([0.6, 0.8], dtype=float32)
    """
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


def _clipped(pairs: GradsAndVars, how: Any) -> Any:
    if how is None:
        return pairs
    if callable(how):
        return how(pairs)
    if not isinstance(how, (int, float)):
        raise ValueError(f"Unknown type {type(how)} for clip_gradients")
    grads, variables = zip(*pairs, strict=True)
    clipped, _ = clip.clip_by_global_norm(grads, float(how))
    return list(zip(clipped, variables, strict=True))


_USE_GLOBAL_STEP = 0


def create_train_op(
    total_loss: Any, optimizer: Any, global_step: Any = _USE_GLOBAL_STEP, update_ops: Any = None,
    variables_to_train: Any = None, transform_grads_fn: Any = None, summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False, check_numerics: bool = True,
) -> Tensor:  # fmt: skip
    """``contrib.training.create_train_op``: an op that trains one step and gives the loss.

    Args:
      total_loss: The loss to minimise.
      optimizer: The optimizer.
      global_step: The variable that counts steps; the default is the graph's, None counts none.
      update_ops: The operations to run before the loss is computed; None for the collection `tf.GraphKeys.UPDATE_OPS`.
      variables_to_train: The variables to change; None for `tf.trainable_variables()`.
      transform_grads_fn: A function from the list of pairs (gradient, variable) to a new one; None for none.
      summarize_gradients: True adds a histogram and the norm of each gradient.
      gate_gradients: How gradients wait for each other, as of `tf.train.Optimizer.compute_gradients`.
      aggregation_method: How gradients are added up, as of `tf.gradients`.
      colocate_gradients_with_ops: True places gradients with the operations they are of.
      check_numerics: True makes a loss that is not finite an error.

    Returns:
      The loss, whose computation trains one step.

    >>> x = tf.Variable([3.0, 4.0])
    >>> train_op = tf.contrib.training.create_train_op(tf.nn.l2_loss(x), tf.train.GradientDescentOptimizer(0.1))
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(train_op)
    np.float32(12.5)
    """
    if global_step is _USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    graph = context.get_default_graph()
    registered = graph.get_collection(GraphKeys.UPDATE_OPS)
    chosen = registered if update_ops is None else list(update_ops)
    if chosen:
        total_loss = with_dependencies(list(chosen), total_loss)
    variables = get_trainable_variables() if variables_to_train is None else list(variables_to_train)
    grads = optimizer.compute_gradients(
        total_loss, variables, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )  # fmt: skip
    if transform_grads_fn is not None:
        grads = transform_grads_fn(grads)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(grads)
    updates = optimizer.apply_gradients(grads, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = check_finite(total_loss, "LossTensor is inf or nan")
        with control_dependencies([updates]):
            train_op = identity(total_loss)
    if train_op not in graph.get_collection_ref(GraphKeys.TRAIN_OP):
        graph.add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


def slim_create_train_op(
    total_loss: Any, optimizer: Any, global_step: Any = _USE_GLOBAL_STEP, update_ops: Any = None,
    variables_to_train: Any = None, clip_gradient_norm: float = 0, summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False, gradient_multipliers: Any = None, check_numerics: bool = True,
) -> Tensor:  # fmt: skip
    """``slim.learning.create_train_op``: an op that trains one step, with factors and a norm for the gradients.

    Args:
      total_loss: The loss to minimise.
      optimizer: The optimizer.
      global_step: The variable that counts steps; the default is the graph's, None counts none.
      update_ops: The operations to run before the loss is computed; None for the collection `tf.GraphKeys.UPDATE_OPS`.
      variables_to_train: The variables to change; None for `tf.trainable_variables()`.
      clip_gradient_norm: The largest norm of each gradient; 0 for no bound.
      summarize_gradients: True adds a histogram and the norm of each gradient.
      gate_gradients: How gradients wait for each other, as of `tf.train.Optimizer.compute_gradients`.
      aggregation_method: How gradients are added up, as of `tf.gradients`.
      colocate_gradients_with_ops: True places gradients with the operations they are of.
      gradient_multipliers: A dictionary from variables, or their names, to factors of their gradients; None for none.
      check_numerics: True makes a loss that is not finite an error.

    Returns:
      The loss, whose computation trains one step.

    >>> x = tf.Variable([3.0, 4.0])
    >>> optimizer = tf.train.GradientDescentOptimizer(0.1)
    >>> train_op = tf.contrib.slim.learning.create_train_op(tf.nn.l2_loss(x), optimizer, clip_gradient_norm=1.0)
    """

    def transform(grads: GradsAndVars) -> GradsAndVars:
        if gradient_multipliers:
            grads = multiply_gradients(grads, gradient_multipliers)
        return clip_gradient_norms(grads, clip_gradient_norm) if clip_gradient_norm > 0 else grads

    return create_train_op(
        total_loss, optimizer, global_step, update_ops, variables_to_train, transform, summarize_gradients,
        gate_gradients, aggregation_method, colocate_gradients_with_ops, check_numerics,
    )  # fmt: skip


def adaptive_clipping_fn(
    std_factor: float = 2.0, decay: float = 0.95, static_max_norm: float | None = None, global_step: Any = None,
    report_summary: bool = False, epsilon: float = 1e-8, name: str | None = None,
) -> Callable[[GradsAndVars], GradsAndVars]:  # fmt: skip
    """A function that clips gradients whose global norm is unusually large, for `optimize_loss`.

    Args:
      std_factor: How many standard deviations of the logarithm above its mean a norm may be.
      decay: How much of the averages stays in each step.
      static_max_norm: A norm that is never exceeded; None for none.
      global_step: The number of steps so far, with which the decay starts lower; None for a constant decay.
      report_summary: Whether to add a summary of the largest norm.
      epsilon: A small number, that logarithms are of positive numbers.
      name: The variable scope of the averages; None for `AdaptiveMaxNorm`.

    Returns:
      A function from pairs (gradient, variable) to such pairs.

    >>> clip = tf.contrib.layers.adaptive_clipping_fn()
    >>> x = tf.Variable([3.0])
    >>> [(gradient, variable)] = clip([(tf.constant([1.0]), x)])
    """

    def clipped(grads_and_vars: GradsAndVars) -> GradsAndVars:
        pairs = list(grads_and_vars)
        norm = clip.global_norm([grad for grad, _ in pairs])
        most, log_mean = _adaptive_norm(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            scalar("global_norm/adaptive_max_gradient_norm", most)
        factor = where(math.less(norm, most), creation.ones_like(norm), division.divide(math.exp(log_mean), norm))
        if static_max_norm is not None:
            factor = math.minimum(division.divide(static_max_norm, norm), factor)
        return [(_times(grad, factor), variable) for grad, variable in pairs]

    return clipped


def _times(grad: Any, factor: Any) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(math.multiply(grad.values, factor), grad.indices, grad.dense_shape)
    return None if grad is None else math.multiply(grad, factor)


def _adaptive_norm(norm: Any, std_factor: float, decay: Any, step: Any, epsilon: float, name: str | None) -> Any:
    """The largest usual norm, and the mean of the logarithms."""
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        logarithm = math.log(math.add(norm, epsilon))
        if step is not None:
            count = math.cast(step, "float32")
            decay = math.minimum(decay, division.divide(count, math.add(count, 1.0)))

        def average(title: str, value: Any) -> Any:
            mean_variable = get_variable(title, value.shape, value.dtype, initializer=Constant(0.0), trainable=False)
            return assign_moving_average(mean_variable, value, decay, zero_debias=False)

        mean = average("mean", logarithm)
        squares = average("sq_mean", math.square(logarithm))
        deviation = math.sqrt(math.maximum(epsilon, math.subtract(squares, math.square(mean))))
        return math.exp(math.add(mean, math.multiply(std_factor, deviation))), mean

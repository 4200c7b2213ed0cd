"""contrib.layers' normalizers: batch_norm, layer_norm, instance_norm, group_norm, unit_norm."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.library.contrib import outputs as collecting
from headrace.library.contrib.arg_scope import add_arg_scope
from headrace.library.contrib.layers import channels
from headrace.library.contrib.variables import model_variable
from headrace.library.control.dependency import identity, with_dependencies
from headrace.library.layers.scoped.normalization import BatchNormalization
from headrace.library.layers.scoped.thin import ONES, ZEROS
from headrace.library.network import normalization as nn
from headrace.library.numeric import reduction
from headrace.library.state.smart_cond import smart_cond
from headrace.library.state.variable_scope import variable_scope
from headrace.library.tensor import array
from headrace.library.train.moving_averages import assign_moving_average


class _BatchNormalization(BatchNormalization):
    """Keeps its updates apart from the graph's UPDATE_OPS, for a caller that says where they go."""

    _batch_weights: Any = None
    _zero_debias = False

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        self._updates.append(updates)

    def _moments(self, inputs: Any, axes: list[int], keepdims: bool) -> tuple[Any, Any]:
        if self._batch_weights is None:
            return super()._moments(inputs, axes, keepdims)
        weights = convert_to_tensor(self._batch_weights)
        return nn.weighted_moments(
            inputs, axes, array.reshape(weights, [-1] + [1] * (inputs.shape.ndims - 1)), keepdims=keepdims
        )

    def _moved(self, average: Any, value: Any, momentum: Any, training: Any) -> Any:
        """The mean, if asked to, is corrected for having started at zero; that counts the steps of training only."""
        if not self._zero_debias or average is not self.moving_mean:
            return super()._moved(average, value, momentum, training)
        return smart_cond(
            training, lambda: assign_moving_average(average, value, self.momentum), lambda: identity(average)
        )


@add_arg_scope
def batch_norm(
    inputs: Any, decay: float = 0.999, center: bool = True, scale: bool = False, epsilon: float = 0.001,
    activation_fn: Any = None, param_initializers: Any = None, param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS, is_training: Any = True, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True,
    batch_weights: Any = None, fused: bool | None = None, data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False, scope: Any = None, renorm: bool = False, renorm_clipping: Any = None,
    renorm_decay: float = 0.99, adjustment: Any = None,
) -> Any:  # fmt: skip
    """Batch normalization; no scale (gamma) by default.

    The averages' updates go to ``updates_collections``, to be run with the training op; None runs them immediately, with
    every evaluation of the output while training.

    Args:
      inputs: A tensor [batch, ..., channels] of known rank, or as `data_format` says.
      decay: How much of the moving averages stays in each step.
      center: True adds a trained `beta`.
      scale: True multiplies by a trained `gamma`.
      epsilon: A small number that is added to the variance.
      activation_fn: A function of the output; None for none.
      param_initializers: A dictionary with what variables start from: `beta`, `gamma`, `moving_mean`, `moving_variance`.
      param_regularizers: A dictionary with functions from `beta` and `gamma` to losses; None for none.
      updates_collections: The collection for the updates of the moving averages; None runs them with the output.
      is_training: True normalises by the batch, False by the moving averages: a bool, or a bool scalar tensor.
      reuse: True to use variables that exist; None or False to make them.
      variables_collections: Collections for the variables: a list, or a dictionary with a list for each name of a variable.
      outputs_collections: The collections to add the output to; None for none.
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      batch_weights: A weight for each example, [batch]; None for equal weights.
      fused: True for the fused op, which is for images; None uses it where it can be.
      data_format: "NHWC" (channels last) or "NCHW" (channels first).
      zero_debias_moving_mean: True corrects the moving mean for its start at zero.
      scope: The variable scope, or its name; None for a name made of the layer's.
      renorm: True for batch renormalisation (Ioffe, 2017).
      renorm_clipping: A dictionary with the bounds `rmax`, `rmin` and `dmax` of its corrections; None for none.
      renorm_decay: How much of the averages of the renormalisation stays in each step.
      adjustment: A function from the shape of `inputs` to a factor and a summand for the normalised values, while training;
        None for none.

    Returns:
      A tensor of the shape of `inputs`.

    >>> tf.contrib.layers.batch_norm(tf.zeros([8, 4, 4, 3]), is_training=True).shape.as_list()
    [8, 4, 4, 3]
    """
    layout = channels(data_format)
    if batch_weights is not None and fused:
        raise ValueError("fused=True is not currently supported with batch_weights")
    initializers, regularizers = param_initializers or {}, param_regularizers or {}
    getter = collecting.model_variable_getter()
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank")
        layer = _BatchNormalization(
            axis=1 if layout == "channels_first" else -1, momentum=decay, epsilon=epsilon, center=center, scale=scale,
            beta_initializer=initializers.get("beta", ZEROS), gamma_initializer=initializers.get("gamma", ONES),
            moving_mean_initializer=initializers.get("moving_mean", ZEROS),
            moving_variance_initializer=initializers.get("moving_variance", ONES),
            beta_regularizer=regularizers.get("beta"), gamma_regularizer=regularizers.get("gamma"),
            renorm=renorm, renorm_clipping=renorm_clipping, renorm_momentum=renorm_decay, adjustment=adjustment,
            fused=fused if rank == 4 and batch_weights is None else False, trainable=trainable, name=sc.name, _scope=sc,
            _reuse=reuse,
        )  # fmt: skip
        layer._batch_weights, layer._zero_debias = batch_weights, zero_debias_moving_mean
        values = layer.apply(inputs, training=is_training)
        for variable, name in (
            (layer.beta, "beta"), (layer.gamma, "gamma"), (layer.moving_mean, "moving_mean"),
            (layer.moving_variance, "moving_variance"),
        ):  # fmt: skip
            collecting.add_variable(variable, variables_collections, name)
        if updates_collections is None:
            values = with_dependencies(layer._updates, values) if layer._updates else values
        else:
            for update in layer._updates:
                context.get_default_graph().add_to_collections(updates_collections, update)
        if activation_fn is not None:
            values = activation_fn(values)
        return collecting.collect_named_outputs(outputs_collections, sc.name, values)


def _parameters(
    shape: list[Any], dtype: Any, center: bool, scale: bool, initializers: Any, variables_collections: Any,
    trainable: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """Variables (beta, gamma), None for one that is not wanted."""
    variables = []
    for name, learned, default in (("beta", center, ZEROS), ("gamma", scale, ONES)):
        variables.append(
            model_variable(
                name, shape=shape, dtype=dtype, initializer=(initializers or {}).get(name, default),
                collections=collecting.variable_collections(variables_collections, name), trainable=trainable,
            )
            if learned
            else None
        )  # fmt: skip
    return variables[0], variables[1]


@add_arg_scope
def layer_norm(
    inputs: Any, center: bool = True, scale: bool = True, activation_fn: Any = None, reuse: Any = None,
    variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True,
    begin_norm_axis: int = 1, begin_params_axis: int = -1, scope: Any = None,
) -> Any:  # fmt: skip
    """Each example to mean beta and deviation gamma, over the axes from ``begin_norm_axis`` on (Ba et al., 2016).

    Args:
      inputs: A tensor of known rank, with a batch in front.
      center: True adds a trained `beta`.
      scale: True multiplies by a trained `gamma`.
      activation_fn: A function of the output; None for none.
      reuse: True to use variables that exist; None or False to make them.
      variables_collections: Collections for the variables: a list, or a dictionary with a list for each name of a variable.
      outputs_collections: The collections to add the output to; None for none.
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      begin_norm_axis: The first axis that is normalised over.
      begin_params_axis: The first axis that `beta` and `gamma` have.
      scope: The variable scope, or its name; None for a name made of the layer's.

    Returns:
      A tensor of the shape of `inputs`.

    >>> tf.contrib.layers.layer_norm(tf.zeros([2, 4, 3])).shape.as_list()
    [2, 4, 3]
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        first = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or first >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) must be < rank(inputs) "
                f"({rank})"
            )
        sizes = inputs.shape.as_list()[begin_params_axis:]
        if None in sizes:
            raise ValueError(f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {sizes}")
        beta, gamma = _parameters(
            sizes, inputs.dtype.base_dtype, center, scale, None, variables_collections, trainable
        )  # fmt: skip
        mean, variance = nn.moments(inputs, list(range(first, rank)), keepdims=True)
        epsilon = 1e-3 if inputs.dtype.base_dtype == dtypes.float16 else 1e-12
        values = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        values.set_shape(inputs.shape)
        if activation_fn is not None:
            values = activation_fn(values)
        return collecting.collect_named_outputs(outputs_collections, sc.name, values)


@add_arg_scope
def instance_norm(
    inputs: Any, center: bool = True, scale: bool = True, epsilon: float = 1e-6, activation_fn: Any = None,
    param_initializers: Any = None, reuse: Any = None, variables_collections: Any = None,
    outputs_collections: Any = None, trainable: bool = True, data_format: str = "NHWC", scope: Any = None,
) -> Any:  # fmt: skip
    """Each channel of each example to mean beta and deviation gamma, over the other axes (Ulyanov et al., 2016).

    Args:
      inputs: A tensor [batch, ..., channels] of known rank, or as `data_format` says.
      center: True adds a trained `beta`.
      scale: True multiplies by a trained `gamma`.
      epsilon: A small number that is added to the variance.
      activation_fn: A function of the output; None for none.
      param_initializers: A dictionary with what variables start from: `beta` and `gamma`; None for zeros and ones.
      reuse: True to use variables that exist; None or False to make them.
      variables_collections: Collections for the variables: a list, or a dictionary with a list for each name of a variable.
      outputs_collections: The collections to add the output to; None for none.
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      data_format: "NHWC" (channels last) or "NCHW" (channels first).
      scope: The variable scope, or its name; None for a name made of the layer's.

    Returns:
      A tensor of the shape of `inputs`.

    >>> tf.contrib.layers.instance_norm(tf.zeros([2, 4, 4, 3])).shape.as_list()
    [2, 4, 4, 3]
    """
    channels(data_format)
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        axis = 1 if data_format == "NCHW" else rank - 1
        size = inputs.shape.as_list()[axis]
        if size is None:
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {inputs.shape}.")
        beta, gamma = _parameters(
            [size], inputs.dtype.base_dtype, center, scale, param_initializers, variables_collections, trainable
        )
        spread = [size if i == axis else 1 for i in range(rank)]
        if data_format == "NCHW":
            beta = array.reshape(beta, spread) if beta is not None else None
            gamma = array.reshape(gamma, spread) if gamma is not None else None
        mean, variance = nn.moments(inputs, [i for i in range(1, rank) if i != axis], keepdims=True)
        values = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon, name="instancenorm")
        values.set_shape(inputs.shape)
        if activation_fn is not None:
            values = activation_fn(values)
        return collecting.collect_named_outputs(outputs_collections, sc.name, values)


@add_arg_scope
def group_norm(
    inputs: Any, groups: int = 32, channels_axis: int = -1, reduction_axes: Any = (-3, -2), center: bool = True,
    scale: bool = True, epsilon: float = 1e-6, activation_fn: Any = None, param_initializers: Any = None,
    reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None, trainable: bool = True,
    scope: Any = None, mean_close_to_zero: bool = False,
) -> Any:  # fmt: skip
    """Groups of channels normalised together, for each example (Wu and He, 2018).

    Args:
      inputs: A tensor of known rank, with a batch in front.
      groups: The number of groups, which must divide the number of channels.
      channels_axis: The axis of the channels.
      reduction_axes: The other axes that are normalised over.
      center: True adds a trained `beta`.
      scale: True multiplies by a trained `gamma`.
      epsilon: A small number that is added to the variance.
      activation_fn: A function of the output; None for none.
      param_initializers: A dictionary with what variables start from: `beta` and `gamma`; None for zeros and ones.
      reuse: True to use variables that exist; None or False to make them.
      variables_collections: Collections for the variables: a list, or a dictionary with a list for each name of a variable.
      outputs_collections: The collections to add the output to; None for none.
      trainable: False keeps the variables out of `tf.trainable_variables()`.
      scope: The variable scope, or its name; None for a name made of the layer's.
      mean_close_to_zero: Accepted and not used: the variance is always computed from differences to the mean.

    Returns:
      A tensor of the shape of `inputs`.

    >>> tf.contrib.layers.group_norm(tf.zeros([2, 4, 4, 6]), groups=3).shape.as_list()
    [2, 4, 4, 6]
    """
    with variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        dims = inputs.shape.as_list()
        rank = len(dims)
        axis = channels_axis % rank
        reduced = [a % rank for a in reduction_axes]
        size = dims[axis]
        if size is None:
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension: {dims}")
        if axis in reduced:
            raise ValueError("reduction_axes must not include channels_axis")
        if size < groups or size % groups:
            raise ValueError(f"Invalid groups {groups} for {size} channels.")
        beta, gamma = _parameters(
            [size], inputs.dtype.base_dtype, center, scale, param_initializers, variables_collections, trainable
        )
        whole: Any = array.shape(inputs)
        sizes = [whole[i] if d is None else d for i, d in enumerate(dims)]
        split = array.reshape(inputs, [*sizes[:axis], groups, size // groups, *sizes[axis + 1 :]])
        axes = [a + 1 if a > axis else a for a in reduced] + [axis + 1]
        mean, variance = nn.moments(split, axes, keepdims=True)
        spread = [1] * axis + [groups, size // groups] + [1] * (rank - axis - 1)
        beta = array.reshape(beta, spread) if beta is not None else None
        gamma = array.reshape(gamma, spread) if gamma is not None else None
        values = nn.batch_normalization(split, mean, variance, beta, gamma, epsilon, name="groupnorm")
        values = array.reshape(values, whole if None in dims else dims)
        values.set_shape(inputs.shape)
        if activation_fn is not None:
            values = activation_fn(values)
        return collecting.collect_named_outputs(outputs_collections, sc.name, values)


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """Vectors along ``dim`` scaled to length one.

    Args:
      inputs: A tensor of floats of known rank.
      dim: The axis, at least 0.
      epsilon: A small number that is added to the sum of squares.
      scope: The variable scope, or its name; None for `UnitNorm`.

    Returns:
      A tensor of the shape of `inputs`.

    >>> tf.Session().run(tf.contrib.layers.unit_norm([[3.0, 4.0]], dim=1)).round(3)
    array([[0.6, 0.8]], dtype=float32)
    """
    with variable_scope(scope, "UnitNorm", [inputs]):
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if not rank or dim < 0 or dim >= rank:
            raise ValueError(f"dim must be in [0, {rank}) for inputs of shape {inputs.shape}, got {dim}")
        squares = reduction.reduce_sum(raw_ops.Square(inputs), [dim], keepdims=True)
        return raw_ops.RealDiv(inputs, raw_ops.Sqrt(raw_ops.AddV2(squares, epsilon)), name="div")

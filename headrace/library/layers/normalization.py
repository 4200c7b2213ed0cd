"""The batch normalization layer.

While training, the batch's own mean and variance normalise it and ops that move the averages are added to the layer's updates,
to be run with the training op; otherwise the averages normalise.  A tensor ``training`` chooses at every step.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape, as_shape
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.layers import initializers
from headrace.library.layers import weight_arguments as weight
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.renorm import Renorm, checked_clipping, composed
from headrace.library.layers.spec import InputSpec
from headrace.library.layers.train_phase import training_or_phase
from headrace.library.network import normalization
from headrace.library.numeric import math, reduction
from headrace.library.state.smart_cond import smart_cond, smart_constant_value
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization
from headrace.library.tensor import array, creation
from headrace.library.train.moving_averages import assign_moving_average


class BatchNormalization(Layer):
    """Each channel to mean ``beta`` and deviation ``gamma`` (Ioffe and Szegedy, 2015).

    ``fused`` None uses the one-kernel form for images (rank 4, axis 1 or 3); its averages follow the unbiased variance.
    ``renorm`` corrects the batch toward slower averages, ``virtual_batch_size`` normalises parts of the batch on their
    own, ``adjustment`` is a function of the inputs' shape that gives a scale and a bias to apply while training.

    Args:
      axis: The axis of the channels, or several axes.
      momentum: How much of an average is kept at each step.
      epsilon: A small number added to the variance.
      center: Whether ``beta`` is added.
      scale: Whether ``gamma`` multiplies.
      beta_initializer, gamma_initializer: What makes the first values: an initializer, or its name.
      moving_mean_initializer, moving_variance_initializer: What makes the first averages.
      beta_regularizer, gamma_regularizer: Functions of a weight that give a loss, or None.
      beta_constraint, gamma_constraint: Functions that an optimizer applies to a weight after each update, or None.
      renorm: Whether the batch is corrected toward slower averages.
      renorm_clipping: Limits of the correction: a dictionary with some of "rmax", "rmin" and "dmax".
      renorm_momentum: How much of the slower averages is kept at each step.
      fused: Whether one kernel does it all; None where that can be.
      trainable: Whether an optimizer changes ``gamma`` and ``beta``.
      virtual_batch_size: The size of the parts of a batch that are normalised on their own; None for the whole.
      adjustment: A function of the inputs' shape that gives a scale and a bias, or None.
      name: A name for the layer.
      **kwargs: What every layer takes, such as ``dtype``.

    >>> layer = tf.keras.layers.BatchNormalization()
    >>> y = layer(tf.constant([[1.0], [3.0]]), training=True)
    >>> with tf.Session() as session:
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(y).round(2).tolist()
    [[-1.0], [1.0]]
    """

    def __init__(
        self, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
        beta_initializer: Any = "zeros", gamma_initializer: Any = "ones", moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones", beta_regularizer: Any = None, gamma_regularizer: Any = None,
        beta_constraint: Any = None, gamma_constraint: Any = None, renorm: bool = False, renorm_clipping: Any = None,
        renorm_momentum: float = 0.99, fused: bool | None = None, trainable: bool = True,
        virtual_batch_size: int | None = None, adjustment: Any = None, name: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, trainable=trainable, **kwargs)
        special = {"renorm": renorm, "virtual_batch_size": virtual_batch_size, "adjustment": adjustment}
        for what, value in special.items():
            if value and fused:
                raise ValueError(f"Passing both `fused=True` and `{what}` is not supported")
        if adjustment is not None and virtual_batch_size is not None:
            raise ValueError("When using virtual_batch_size, adjustment cannot be specified")
        if not isinstance(axis, (int, list, tuple)):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        self.axis: Any = axis if isinstance(axis, int) else list(axis)
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        weight.keep_arguments(self, "beta", beta_initializer, beta_regularizer, beta_constraint)
        weight.keep_arguments(self, "gamma", gamma_initializer, gamma_regularizer, gamma_constraint)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        self.supports_masking = True
        self.fused = False if any(special.values()) else fused
        self.renorm = renorm
        self.renorm_clipping = checked_clipping(renorm_clipping) if renorm else {}
        self.renorm_momentum = renorm_momentum
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment
        self._renorm: Any = None
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    # ---- building

    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape)
        if shape.ndims is None:
            raise ValueError(f"Input has undefined rank: {shape}")
        self._set_axes(shape.ndims)
        sizes = {a: shape.as_list()[a] for a in self.axis}
        if None in sizes.values():
            raise ValueError(f"Input has undefined `axis` dimension. Input shape: {shape}, axis: {self.axis}")
        self.input_spec = InputSpec(ndim=shape.ndims, axes=sizes)
        # One axis: a vector; several: a tensor that broadcasts against the inputs.
        several = [sizes.get(i, 1) for i in range(shape.ndims)]
        if self.virtual_batch_size is not None:  # a further dimension, second, numbers the virtual batches
            if 0 in self.axis:
                raise ValueError(
                    "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot include 0"
                )
            several.insert(1, 1)
            self.axis = [a + 1 for a in self.axis]
        single = len(sizes) == 1 and self.virtual_batch_size is None
        self._add_variables([next(iter(sizes.values()))] if single else several)
        self.built = True

    def _set_axes(self, rank: int) -> None:
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        self.axis = [a + rank if a < 0 else a for a in axes]
        if any(not 0 <= a < rank for a in self.axis) or len(set(self.axis)) != len(self.axis):
            raise ValueError(f"Invalid axis: {axes} for inputs of rank {rank}")
        can_fuse = rank == 4 and self.axis in ([1], [3])
        if self.fused and not can_fuse:
            raise ValueError(
                f"Fused batch normalization takes inputs of rank 4 and axis 1 or 3; got rank {rank} and axis {self.axis}"
            )
        self.fused = can_fuse if self.fused is None else bool(self.fused)

    def _add_variables(self, shape: list[int]) -> None:
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        element_type = dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype
        if self.scale:
            self.gamma = weight.make(self, "gamma", shape, element_type)
        if self.center:
            self.beta = weight.make(self, "beta", shape, element_type)
        self._add_averages(shape, element_type)

    def _add_averages(self, shape: list[int], dtype: Any) -> None:
        self.moving_mean = self._average("moving_mean", shape, dtype, self.moving_mean_initializer)
        self.moving_variance = self._average("moving_variance", shape, dtype, self.moving_variance_initializer)
        if self.renorm:
            zeros = initializers.get("zeros")
            self._renorm = Renorm(
                lambda name, size, dtype: self._average(name, size, dtype, zeros), shape, dtype, self.renorm_momentum,
                self.renorm_clipping,
            )  # fmt: skip

    def _average(self, name: str, shape: list[int], dtype: Any, initializer: Any) -> Any:
        return self.add_weight(
            name=name, shape=shape, dtype=dtype, initializer=initializer, trainable=False,
            synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.MEAN,
        )  # fmt: skip

    # ---- calling

    def call(self, inputs: Any, training: Any = None) -> Tensor:  # type: ignore[override]
        inputs = convert_to_tensor(inputs)
        training = training_or_phase(training)
        outputs = self._fused(inputs, training) if self.fused else self._plain(inputs, training)
        outputs.set_shape(inputs.shape)
        return outputs

    def _fused(self, inputs: Tensor, training: Any) -> Tensor:
        layout = "NHWC" if self.axis == [3] else "NCHW"
        size = self.moving_mean.shape.as_list()
        gamma = self.gamma if self.scale else constant(1.0, dtypes.float32, shape=size)
        beta = self.beta if self.center else constant(0.0, dtypes.float32, shape=size)

        def of_batch() -> Any:
            return normalization.fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=layout)

        def of_averages() -> Any:
            return normalization.fused_batch_norm(
                inputs, gamma, beta, mean=self.moving_mean, variance=self.moving_variance, epsilon=self.epsilon,
                is_training=False, data_format=layout,
            )  # fmt: skip

        outputs, mean, variance = smart_cond(training, of_batch, of_averages)
        self._follow(mean, variance, training)
        return outputs

    def _plain(self, inputs: Tensor, training: Any) -> Tensor:
        if self.virtual_batch_size is None:
            return self._normalized(inputs, training)
        rest = inputs.shape.as_list()[1:]
        split = array.reshape(inputs, [self.virtual_batch_size, -1, *rest])
        return array.reshape(self._normalized(split, training), [-1, *rest])

    def _normalized(self, inputs: Tensor, training: Any) -> Tensor:
        rank = len(inputs.shape)
        virtual = self.virtual_batch_size is not None
        rest = [i for i in range(rank) if i not in self.axis and not (virtual and i == 1)]
        last = rest == list(range(rank - 1))
        sizes = [inputs.shape.as_list()[i] if i in self.axis else 1 for i in range(rank)]

        def fit(value: Any) -> Any:
            if value is None:
                return None
            value = convert_to_tensor(value)
            return value if last or value.shape.ndims == rank else array.reshape(value, sizes)

        scale, offset = fit(self.gamma), fit(self.beta)
        if smart_constant_value(training) is False:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            if self.adjustment is not None:
                scale, offset = self._adjusted(inputs, training, scale, offset)
            moments = self._moments(inputs, rest, virtual or len(self.axis) > 1)
            batch = [math.cast(m, self.moving_mean.dtype.base_dtype) for m in moments]
            averages = (self.moving_mean, self.moving_variance)
            mean, variance = smart_cond(training, lambda: batch, lambda: [convert_to_tensor(a) for a in averages])
            seen = batch
            if self._renorm is not None:
                r, d, new_mean, new_variance, moved = self._renorm.correct(*batch, self.epsilon, training)
                seen = [new_mean, new_variance]
                scale, offset = composed(fit(r), fit(d), scale, offset)
                for variable, value in moved:
                    value = reduction.reduce_mean(value, 1, keepdims=True) if virtual and value.shape.ndims else value
                    self.add_update(variable.assign(value), inputs=True)
            if virtual:
                seen = [reduction.reduce_mean(m, 1, keepdims=True) for m in seen]
            self._follow(seen[0], seen[1], training)
        return normalization.batch_normalization(inputs, fit(mean), fit(variance), offset, scale, self.epsilon)

    def _moments(self, inputs: Tensor, axes: list[int], keepdims: bool) -> tuple[Tensor, Tensor]:
        return normalization.moments(inputs, axes, keepdims=keepdims)

    def _adjusted(self, inputs: Tensor, training: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
        """With the scale and bias the user's function gives while training."""
        by, bias = self.adjustment(array.shape(inputs))
        by = smart_cond(training, lambda: by, lambda: creation.ones_like(by))
        bias = smart_cond(training, lambda: bias, lambda: creation.zeros_like(bias))
        return composed(by, bias, scale, offset)

    def _follow(self, mean: Tensor, variance: Tensor, training: Any) -> None:
        """The averages move a little toward the batch's values; not at all (momentum 1) while not training."""
        static_training = smart_constant_value(training)
        if static_training is False:
            return
        momentum: Any = self.momentum
        if static_training is None:
            momentum = smart_cond(training, lambda: constant(float(self.momentum)), lambda: constant(1.0))
        for average, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            self.add_update(self._moved(average, value, momentum, training), inputs=True)

    def _moved(self, average: Any, value: Tensor, momentum: Any, training: Any) -> Any:
        """The op that moves one average."""
        return assign_moving_average(average, value, momentum, zero_debias=False)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        config = {
            **super().get_config(), "axis": self.axis, "momentum": self.momentum, "epsilon": self.epsilon,
            "center": self.center, "scale": self.scale, **weight.config(self, "beta", "gamma"),
            "moving_mean_initializer": initializers.serialize(self.moving_mean_initializer),
            "moving_variance_initializer": initializers.serialize(self.moving_variance_initializer),
        }  # fmt: skip
        if self.renorm:
            config |= {
                "renorm": True, "renorm_clipping": self.renorm_clipping, "renorm_momentum": self.renorm_momentum,
            }  # fmt: skip
        if self.virtual_batch_size is not None:
            config["virtual_batch_size"] = self.virtual_batch_size
        return config

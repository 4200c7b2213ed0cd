"""contrib.layers.gdn: generalized divisive normalization (Balle, Laparra, Simoncelli, 2016)."""

from __future__ import annotations

from typing import Any

from headrace.autodiff.custom import custom_gradient
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.layers.base import Layer
from headrace.library.linalg.matrix import matmul
from headrace.library.numeric import math
from headrace.library.state.initializers import Constant
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where


@custom_gradient
def _at_least(x: Any, bound: Any) -> Any:
    """The greater of two; the gradient also passes where it moves ``x`` towards what is allowed."""

    def gradient(grad: Any) -> Any:
        passes = math.logical_or(math.greater_equal(x, bound), math.less(grad, 0.0))
        return where(passes, grad, creation.zeros_like(grad)), None

    return math.maximum(x, bound), gradient


class GDN(Layer):
    """Divides each channel by ``sqrt(beta + sum of gamma times the squares of all channels)``.

    Args:
      inverse: Whether to multiply instead.
      beta_min: The smallest value of beta.
      gamma_init: What the diagonal of gamma starts from.
      reparam_offset: A small number that keeps gradients away from zero.
      data_format: "channels_last" or "channels_first".
      activity_regularizer: A function of the output whose result is a loss; None for none.
      trainable: Whether beta and gamma are trained.
      name: A name for the layer.
      **kwargs: Further arguments of a layer of `tf.layers`.

    >>> tf.contrib.layers.GDN()(tf.ones([1, 4, 4, 3])).shape.as_list()
    [1, 4, 4, 3]
    """

    def __init__(
        self, inverse: bool = False, beta_min: float = 1e-6, gamma_init: float = 0.1, reparam_offset: float = 2**-18,
        data_format: str = "channels_last", activity_regularizer: Any = None, trainable: bool = True,
        name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        if data_format not in ("channels_last", "channels_first"):
            raise ValueError(f"data_format must be 'channels_last' or 'channels_first', got {data_format!r} {at()}")
        self.inverse = inverse
        self._beta_min, self._gamma_init, self._offset = beta_min, gamma_init, reparam_offset
        self.data_format = data_format

    def build(self, input_shape: Any) -> None:
        """Makes beta and gamma, as square roots."""
        axis = 1 if self.data_format == "channels_first" else -1
        size = input_shape.as_list()[axis]
        if size is None:
            raise ValueError(f"The channel dimension of the inputs to `GDN` must be defined, got {input_shape} {at()}")
        pedestal = self._offset**2
        rows = range(size)
        start = [[(self._gamma_init * (i == j) + pedestal) ** 0.5 for j in rows] for i in rows]
        root = (1.0 + pedestal) ** 0.5
        self.reparam_beta = self.add_weight("reparam_beta", [size], initializer=Constant(root))
        self.reparam_gamma = self.add_weight("reparam_gamma", [size, size], initializer=Constant(start))
        self.built = True

    def _positive(self, variable: Any, least: float) -> Tensor:
        pedestal = self._offset**2
        value = _at_least(math.add(variable, 0.0), (least + pedestal) ** 0.5)
        return math.square(value) - pedestal

    def call(self, inputs: Any) -> Tensor:
        """The normalised inputs."""
        first = self.data_format == "channels_first"
        rank = inputs.shape.ndims
        values = array.transpose(inputs, [0, *range(2, rank), 1]) if first else inputs
        beta = self._positive(self.reparam_beta, self._beta_min)
        gamma = self._positive(self.reparam_gamma, 0.0)
        size = self.reparam_beta.shape[0].value
        sums = matmul(array.reshape(math.square(values), [-1, size]), gamma) + beta
        norm = array.reshape(math.sqrt(sums) if self.inverse else math.rsqrt(sums), array.shape(values))
        outputs = values * norm
        if first:
            outputs = array.transpose(outputs, [0, rank - 1, *range(1, rank - 1)])
        outputs.set_shape(inputs.shape)
        return outputs


def gdn(
    inputs: Any, inverse: bool = False, beta_min: float = 1e-6, gamma_init: float = 0.1, reparam_offset: float = 2**-18,
    data_format: str = "channels_last", activity_regularizer: Any = None, trainable: bool = True,
    name: str | None = None, reuse: Any = None,
) -> Tensor:  # fmt: skip
    """Divides each channel by ``sqrt(beta + sum of gamma times the squares of all channels)``; see `GDN`.

    Args:
      inputs: A tensor with a known number of channels.
      inverse: Whether to multiply instead.
      beta_min: The smallest value of beta.
      gamma_init: What the diagonal of gamma starts from.
      reparam_offset: A small number that keeps gradients away from zero.
      data_format: "channels_last" or "channels_first".
      activity_regularizer: A function of the output whose result is a loss; None for none.
      trainable: Whether beta and gamma are trained.
      name: A name for the layer.
      reuse: True to use variables that exist.

    Returns:
      A tensor of the shape of `inputs`.

    >>> tf.contrib.layers.gdn(tf.ones([1, 4, 4, 3])).shape.as_list()
    [1, 4, 4, 3]
    """
    layer = GDN(
        inverse, beta_min, gamma_init, reparam_offset, data_format, activity_regularizer, trainable, name,
        _scope=name, _reuse=reuse,
    )  # fmt: skip
    return layer.apply(inputs)

"""tf.layers' batch normalization: its updates go to the graph's UPDATE_OPS, and it does not train unless told to."""

from __future__ import annotations

from typing import Any

from headrace.graph.operation import Tensor
from headrace.library.layers import normalization
from headrace.library.layers.base import Layer
from headrace.library.layers.scoped.thin import ONES, ZEROS, thin


@thin(beta_initializer=ZEROS, gamma_initializer=ONES, moving_mean_initializer=ZEROS, moving_variance_initializer=ONES)
class BatchNormalization(normalization.BatchNormalization, Layer):
    """Each channel to mean ``beta`` and deviation ``gamma`` (Ioffe and Szegedy, 2015).

    >>> tf.layers.BatchNormalization()(tf.zeros([8, 3]), training=True).shape.as_list()
    [8, 3]
    """

    def call(self, inputs: Any, training: Any = False) -> Tensor:
        return super().call(inputs, training=training)

    def _add_averages(self, shape: list[int], dtype: Any) -> None:
        scope = self._scope
        if scope is None:
            super()._add_averages(shape, dtype)
            return
        partitioner = scope.partitioner
        scope.set_partitioner(None)  # averages are read whole
        try:
            super()._add_averages(shape, dtype)
        finally:
            scope.set_partitioner(partitioner)


def batch_normalization(
    inputs: Any, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True,
    scale: bool = True, beta_initializer: Any = ZEROS, gamma_initializer: Any = ONES,
    moving_mean_initializer: Any = ZEROS, moving_variance_initializer: Any = ONES, beta_regularizer: Any = None,
    gamma_regularizer: Any = None, beta_constraint: Any = None, gamma_constraint: Any = None, training: Any = False,
    trainable: bool = True, name: str | None = None, reuse: Any = None, renorm: bool = False,
    renorm_clipping: Any = None, renorm_momentum: float = 0.99, fused: bool | None = None,
    virtual_batch_size: int | None = None, adjustment: Any = None,
) -> Any:  # fmt: skip
    """Batch normalization; run the averages' updates, which are in ``tf.GraphKeys.UPDATE_OPS``, with the training op.

    Args:
      inputs: A tensor of known rank.
      axis: The axis of the channels, or several axes.
      momentum: How much of an average is kept at each step.
      epsilon: A small number added to the variance.
      center: Whether ``beta`` is added.
      scale: Whether ``gamma`` multiplies.
      beta_initializer, gamma_initializer: What makes the first values: an initializer, or its name.
      moving_mean_initializer, moving_variance_initializer: What makes the first averages.
      beta_regularizer, gamma_regularizer: Functions of a weight that give a loss, or None.
      beta_constraint, gamma_constraint: Functions that an optimizer applies to a weight after each update, or None.
      training: Whether to normalise by the batch: a bool, or a scalar tensor of bool.
      trainable: Whether an optimizer changes ``gamma`` and ``beta``.
      name: A name for the layer.
      reuse: Whether to reuse the variables of an earlier layer of the same name.
      renorm: Whether the batch is corrected toward slower averages.
      renorm_clipping: Limits of the correction: a dictionary with some of "rmax", "rmin" and "dmax".
      renorm_momentum: How much of the slower averages is kept at each step.
      fused: Whether one kernel does it all; None where that can be.
      virtual_batch_size: The size of the parts of a batch that are normalised on their own; None for the whole.
      adjustment: A function of the inputs' shape that gives a scale and a bias, or None.

    Returns:
      A tensor of the type and shape of `inputs`.

    >>> x = tf.layers.batch_normalization(tf.zeros([8, 3]), training=True)
    >>> with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    ...     loss = tf.reduce_sum(x)
    >>> [v.name for v in tf.trainable_variables()]
    ['batch_normalization/gamma:0', 'batch_normalization/beta:0']
    """
    layer = BatchNormalization(
        axis=axis, momentum=momentum, epsilon=epsilon, center=center, scale=scale, beta_initializer=beta_initializer,
        gamma_initializer=gamma_initializer, moving_mean_initializer=moving_mean_initializer,
        moving_variance_initializer=moving_variance_initializer, beta_regularizer=beta_regularizer,
        gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint, gamma_constraint=gamma_constraint,
        renorm=renorm, renorm_clipping=renorm_clipping, renorm_momentum=renorm_momentum, fused=fused,
        trainable=trainable, virtual_batch_size=virtual_batch_size, adjustment=adjustment, name=name, _reuse=reuse,
        _scope=name,
    )  # fmt: skip
    return layer.apply(inputs, training=training)

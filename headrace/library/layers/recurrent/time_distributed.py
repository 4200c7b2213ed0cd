"""TimeDistributed: a layer applied to every step of sequences."""

from __future__ import annotations

import inspect
from typing import Any

from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.backend.rnn import run_steps
from headrace.library.layers.recurrent.state import merged_steps, split_steps
from headrace.library.layers.recurrent.wrapper import Wrapper
from headrace.library.layers.spec import InputSpec
from headrace.library.numeric import reduction


class TimeDistributed(Wrapper):
    """Applies a layer to every step of sequences, with the same weights.

    Args:
      layer: The layer.
      **kwargs: What every layer takes, such as ``name``.

    >>> dense = tf.keras.layers.Dense(4)
    >>> tf.keras.layers.TimeDistributed(dense)(tf.zeros([2, 5, 3])).shape.as_list()
    [2, 5, 4]
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True
        ours = type(layer).__module__.startswith("headrace.")
        self._all_together = ours and not getattr(layer, "stateful", False)  # the steps as one large batch

    def build(self, input_shape: Any = None) -> None:
        shape = as_shape(input_shape)
        if shape.ndims is None or shape.ndims < 3:
            raise ValueError(
                f"`TimeDistributed` needs inputs of rank 3 or more, [batch, time, ...]; got {shape} {at()}"
            )
        self.input_spec = InputSpec(shape=(None, None, *shape.as_list()[2:]))
        super().build(_of_step(shape))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs of all steps.

        Args:
          input_shape: The shape of the inputs.

        Returns:
          A `tf.TensorShape`.
        """
        shape = as_shape(input_shape)
        inner = as_shape(self.layer.compute_output_shape(_of_step(shape))).as_list()
        return TensorShape([inner[0], shape.as_list()[1], *inner[1:]])

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:  # type: ignore[override]
        """Applies the layer to every step; see `__call__`."""
        inputs = convert_to_tensor(inputs)
        names = inspect.signature(self.layer.call).parameters
        options = {"training": training} if "training" in names else {}
        if self._by_step(inputs):
            outputs = run_steps(
                lambda x, _: (self.layer(x, **options), []),
                inputs,
                [],
                mask=mask,
                input_length=inputs.shape.as_list()[1],
            )[1]
        else:
            if "mask" in names and mask is not None:
                options["mask"] = merged_steps(convert_to_tensor(mask))
            inner = self.layer(merged_steps(inputs), **options)
            outputs = nest.map_structure(lambda t: split_steps(inputs, t), inner)
        return outputs

    def _by_step(self, inputs: Tensor) -> bool:
        """Whether the steps go through the layer one by one: it has a batch of its own size then."""
        return inputs.shape.as_list()[0] is not None and not self._all_together

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs: what the layer makes of that of each step.

        Args:
          inputs: The inputs of a call.
          mask: Their mask, or None.

        Returns:
          A tensor, or None.
        """
        inputs = convert_to_tensor(inputs)
        if self._by_step(inputs):
            return mask
        inner_mask = None if mask is None else merged_steps(convert_to_tensor(mask))
        found = self.layer.compute_mask(merged_steps(inputs), inner_mask)
        if found is not None:
            return split_steps(inputs, found)
        if mask is None:
            return None
        for _ in range(2, mask.shape.ndims):
            mask = reduction.reduce_any(mask, axis=-1)
        return mask


def _of_step(shape: TensorShape) -> TensorShape:
    dims = shape.as_list()
    return TensorShape([dims[0], *dims[2:]])

"""Model: tf.keras.Model."""

from __future__ import annotations

from headrace.library.keras.engine.network import Network
from headrace.library.keras.training.trainer import Trainer


class Model(Trainer, Network):
    """Layers that are trained, evaluated and saved together.

    Made of inputs and outputs it is the graph of layers between them: ``Model(inputs, outputs)``.  A subclass makes its
    layers in ``__init__`` and uses them in a ``call`` of its own.

    Args:
      inputs: A tensor made by `tf.keras.Input`, or a list or dictionary of them.
      outputs: A tensor that layers made of the inputs, or a structure of them.
      name: The name of the model; None for that of the class, with a number.

    >>> x = tf.keras.Input(shape=(3,), name="x")
    >>> model = tf.keras.Model(inputs=x, outputs=x * 2.0)
    >>> model.name, [layer.name for layer in model.layers]
    ('model', ['x', 'tf_op_layer_mul'])
    """

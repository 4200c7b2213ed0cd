"""Sequential: a stack of layers, each of which takes what the one before it makes."""

from __future__ import annotations

import copy
from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.library import nest
from headrace.library.keras.engine.model import Model
from headrace.library.layers.base_layer import Layer
from headrace.library.layers.input_layer import Input, InputLayer
from headrace.library.layers.registry import deserialize, serialize


class Sequential(Model):
    """A stack of layers.

    It is built at once if its first layer says the shape of its input (`input_shape`, or an `InputLayer`), else at its
    first call.

    Args:
      layers: A list of layers; more can be added later.
      name: The name of the model; None for "sequential", with a number.

    >>> model = tf.keras.Sequential([tf.keras.layers.InputLayer(input_shape=(3,)), tf.keras.layers.Layer()])
    >>> model.output_shape
    (None, 3)
    """

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self.supports_masking = True
        for layer in layers if isinstance(layers, (list, tuple)) else [layers] if layers else []:
            self.add(layer)

    @property
    def layers(self) -> list[Any]:
        """The layers, without the one that stands for the input."""
        layers = super().layers
        return layers[1:] if layers and isinstance(layers[0], InputLayer) else layers

    @property
    def dynamic(self) -> bool:
        """Whether a layer has to run eagerly."""
        return any(layer.dynamic for layer in self.layers)

    def add(self, layer: Any) -> None:
        """Adds a layer on top of the stack.

        Args:
          layer: A layer, or a model.

        >>> model = tf.keras.Sequential()
        >>> model.add(tf.keras.layers.Layer(name="first"))
        >>> [layer.name for layer in model.layers]
        ['first']
        """
        history = getattr(layer, "_keras_history", None)
        if history is not None and isinstance(history.layer, InputLayer):
            layer = history.layer
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer!r}")
        self._check_name(layer)
        self.built = False
        if not self._layers:
            self._add_first(layer)
        elif self.outputs:
            self._extend(layer)
        else:
            self._layers.append(layer)

    def _check_name(self, layer: Any) -> None:
        if any(layer.name == other.name and other is not layer for other in self.layers):
            raise ValueError(
                f'All layers added to a Sequential model should have unique names. Name "{layer.name}" is already the name '
                "of a layer in this model. Update the `name` argument to pass a unique name."
            )

    def _add_first(self, layer: Any) -> None:
        if not isinstance(layer, InputLayer):
            shape, dtype = input_shape_and_dtype(layer)
            if shape is None:
                self._layers.append(layer)
                return
            layer(Input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input"))
        outputs = _only_output(layer._inbound_nodes[-1].outputs)
        self._init_graph_network(_sources(outputs), outputs)

    def _extend(self, layer: Any) -> None:
        self._init_graph_network(self._nested_inputs, _only_output(layer(self.outputs[0])))

    def pop(self) -> None:
        """Removes the layer on top of the stack.

        >>> model = tf.keras.Sequential([tf.keras.layers.Layer()])
        >>> model.pop()
        >>> model.layers
        []
        """
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        removed = self._layers.pop()
        if not self.layers:
            self._layers.clear()
            self.inputs = self.outputs = None
            self.built = self._is_graph_network = False
            self._inbound_nodes.clear()
        elif self._is_graph_network:
            last = self.layers[-1]
            last._outbound_nodes = [node for node in last._outbound_nodes if node.layer is not removed]
            self._init_graph_network(self._nested_inputs, last._inbound_nodes[-1].outputs)

    def build(self, input_shape: Any = None) -> None:
        """Makes the variables of all layers, for inputs of a shape.

        Args:
          input_shape: The shape of the input with the axis of the batch; not needed if the first layer says it.

        >>> model = tf.keras.Sequential([tf.keras.layers.Layer()])
        >>> model.build((None, 3))
        >>> model.built
        True
        """
        if self._is_graph_network:
            self.built = True
            return
        if input_shape is None:
            raise ValueError("You must provide an `input_shape` argument.")
        super().build(input_shape)
        dims = TensorShape(input_shape).tuple if not isinstance(input_shape, list) else None
        self._build_input_shape = tuple(dims) if dims is not None else input_shape

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Calls the layers one after the other.

        Args:
          inputs: A tensor.
          training: Whether layers train; None if nobody says.
          mask: The mask of the input.

        Returns:
          The output of the last layer.
        """
        if self._is_graph_network:
            return super().call(inputs, training=training, mask=mask)
        outputs = inputs
        for layer in self.layers:
            kwargs: dict[str, Any] = {}
            if "mask" in layer._call_names:
                kwargs["mask"] = mask
            if "training" in layer._call_names:
                kwargs["training"] = training
            outputs = _only_output(layer(outputs, **kwargs))
            mask = getattr(outputs, "_keras_mask", None)
        return outputs

    def _maybe_build(self, inputs: Any) -> None:
        if not self.built and not self._is_graph_network and hasattr(inputs, "shape"):
            dims = inputs.shape.tuple
            self._build_input_shape = None if dims is None else tuple(dims)
        super()._maybe_build(inputs)

    def _build_layer(self, shapes: Any) -> None:
        """Nothing to build before the layers are called, which build themselves."""

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the output for inputs of a shape.

        Args:
          input_shape: A shape.

        Returns:
          A shape.

        >>> x = tf.keras.layers.InputLayer(input_shape=(3,))
        >>> tf.keras.Sequential([x]).compute_output_shape((5, 3))
        (5, 3)
        """
        for layer in self.layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the output for an input.

        Args:
          inputs: The input of a call.
          mask: Its mask, or None.

        Returns:
          A mask, or None.
        """
        return getattr(self.call(inputs, mask=mask), "_keras_mask", None)

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """The predictions for some inputs, as `predict` gives them.

        Args:
          x: The inputs.
          batch_size: The number of examples to predict together.
          verbose: 1 to show a bar of progress.

        Returns:
          An array of probabilities.
        """
        return self.predict(x, batch_size, verbose)  # type: ignore[attr-defined]

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """The likeliest class of each input.

        Args:
          x: The inputs.
          batch_size: The number of examples to predict together.
          verbose: 1 to show a bar of progress.

        Returns:
          An array of ints: the index of the greatest output, or whether the only output is over one half.
        """
        probabilities = self.predict(x, batch_size=batch_size, verbose=verbose)  # type: ignore[attr-defined]
        if probabilities.shape[-1] > 1:
            return probabilities.argmax(axis=-1)
        return (probabilities > 0.5).astype("int32")

    def get_config(self) -> dict[str, Any]:
        """What makes a model like this one, as plain data.

        Returns:
          A dictionary.

        >>> sorted(tf.keras.Sequential([tf.keras.layers.Layer()], name="same").get_config())
        ['layers', 'name']
        """
        layers = [serialize(layer) for layer in self.layers]
        if self._is_graph_network and layers and "batch_input_shape" not in layers[0]["config"]:
            layers[0]["config"]["batch_input_shape"] = self._layers[0]._batch_input_shape
        config: dict[str, Any] = {"name": self.name, "layers": copy.deepcopy(layers)}
        if self._build_input_shape is not None:
            config["build_input_shape"] = self._build_input_shape
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
        """A new model, from what `get_config` gives; its variables have new values.

        Args:
          config: A dictionary, or a list of configurations of layers.
          custom_objects: The user's own classes and functions by the names that `config` has for them.

        Returns:
          A model.

        >>> model = tf.keras.Sequential([tf.keras.layers.Layer()], name="same")
        >>> tf.keras.Sequential.from_config(model.get_config()).name
        'same'
        """
        named = isinstance(config, dict)
        model = cls(name=config["name"] if named else None)
        for data in config["layers"] if named else config:
            model.add(deserialize(data, custom_objects=custom_objects))
        shape = config.get("build_input_shape") if named else None
        if not model.inputs and shape:
            model.build(shape)
        return model


def input_shape_and_dtype(layer: Any) -> tuple[Any, Any]:
    """What a layer that begins a model says of its input; a model says what its first layer says."""
    while isinstance(layer, Model) and layer.layers:
        first = layer._layers[0] if layer._layers else layer.layers[0]
        layer = first if isinstance(first, (InputLayer, Layer)) else layer.layers[0]
    dtype = getattr(layer, "dtype", None)
    return getattr(layer, "_batch_input_shape", None), None if dtype is None else dtypes.as_dtype(dtype).name


def _only_output(outputs: Any) -> Any:
    flat = nest.flatten(outputs)
    if len(flat) != 1:
        raise ValueError(
            "All layers in a Sequential model should have a single output tensor. For multi-output layers, use the "
            "functional API."
        )
    return flat[0] if isinstance(outputs, (list, tuple)) else outputs


def _sources(tensor: Any) -> Any:
    layer, node_index, _ = tensor._keras_history
    node = layer._inbound_nodes[node_index]
    return tensor if node.is_input else _sources(node.keras_inputs[0])

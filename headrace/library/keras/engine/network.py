"""Network: layers that are used together, as a graph from inputs to outputs or by a ``call`` of the user's own.

A graph of layers is run anew on other inputs by calling its layers in the order of topology.py.  How a model trains, is
saved and shown is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.body import FuncGraph
from headrace.graph.convert import convert_to_tensor
from headrace.library import log, nest
from headrace.library.backend.config import floatx
from headrace.library.backend.keras_tensor import int_shape, is_tensor, unnested
from headrace.library.keras.engine import graph_config, summary
from headrace.library.keras.engine.added_layers import AddLoss, AddMetric
from headrace.library.keras.engine.topology import Topology, map_topology, source
from headrace.library.keras.saving.savable import Savable
from headrace.library.layers.added import runs_eagerly
from headrace.library.layers.base_layer import Layer, default, map_shapes
from headrace.library.layers.history import add_missing_history
from headrace.library.layers.node import Node
from headrace.library.layers.reach import reachable_from
from headrace.library.layers.spec import InputSpec
from headrace.library.layers.tracking import members, unique
from headrace.library.train.saver.object_graph import is_trackable


class Network(Savable, Layer):
    """Layers that are used together; see `tf.keras.Model`, which adds training."""

    _OWN = Layer._OWN | {
        "inputs", "outputs", "_nested_inputs", "_nested_outputs", "_layers", "_topology", "_input_layers",
        "_output_layers", "input_names", "output_names", "_build_input_shape", "_added_ends",
    }  # fmt: skip
    _compute_output_and_mask_jointly = True
    _set_inputs: Callable[[Any, Any], None] | None = None  # of models that train

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) == 2 or (len(args) == 1 and "outputs" in kwargs) or {"inputs", "outputs"} <= set(kwargs):
            self._init_graph_network(*args, **kwargs)
        else:
            self._init_subclassed(*args, **kwargs)

    def _base_init(self, name: str | None, **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.supports_masking = False
        self._is_graph_network = False
        self._layers: list[Any] = []
        self._topology: Topology | None = None
        self.inputs: Any = None
        self.outputs: Any = None
        self.input_names: Any = None
        self.output_names: Any = None
        self._build_input_shape: Any = None

    def _init_subclassed(self, name: str | None = None, **kwargs: Any) -> None:
        for key in kwargs:
            if key not in ("trainable", "dtype", "dynamic", "autocast"):
                raise TypeError("Keyword argument not understood:", key)
        self._base_init(name, **kwargs)

    def _init_graph_network(
        self, inputs: Any, outputs: Any, name: str | None = None, trainable: bool = True, **kwargs: Any
    ) -> None:
        if kwargs:
            raise TypeError(f"Keyword arguments not understood: {list(kwargs)}")
        if "_is_graph_network" not in self.__dict__:
            self._base_init(name, trainable=trainable)
        self._nested_inputs = _alone(inputs)
        self._nested_outputs = _alone(outputs)
        self.inputs = nest.flatten(inputs)
        self.outputs = nest.flatten(outputs)
        self._check_ends()
        self._is_graph_network = True
        self.built = True
        self._added_ends: list[Any] = []
        self._topology = map_topology(self.inputs, self.outputs)
        self._layers = list(self._topology.layers)
        self._input_layers = [t._keras_history.layer for t in self.inputs]
        self._output_layers = [t._keras_history.layer for t in self.outputs]
        self._inbound_nodes.clear()
        Node(self, self._nested_inputs, (), {}, self._nested_outputs, connect=False)
        self._set_names()

    def _check_ends(self) -> None:
        add_missing_history(self.outputs, in_call=True)
        if len({id(t) for t in self.inputs}) != len(self.inputs):
            raise ValueError(
                "The list of inputs passed to the model is redundant. All inputs should only appear once. Found: "
                f"{self.inputs}"
            )
        for t in self.inputs:
            if not hasattr(t, "_keras_history"):
                raise ValueError(
                    f"Input tensors to a {type(self).__name__} must come from `tf.keras.Input`. Received: {t} (missing "
                    f"previous layer metadata). {at()}"
                )
            if not source(t).is_input:
                log.warning(
                    '%s inputs must come from `tf.keras.Input` (thus holding past layer metadata), they cannot be the output '
                    'of a previous non-Input layer. Here, a tensor specified as input to "%s" was not an Input tensor, it '
                    "was generated by layer %s: %s", type(self).__name__, self.name, t._keras_history.layer.name, t.name,
                )  # fmt: skip
        for t in self.outputs:
            if not hasattr(t, "_keras_history"):
                raise ValueError(
                    f"Output tensors to a {type(self).__name__} must be the output of a `tf.keras.layers.Layer` (thus "
                    f"holding past layer metadata). Found: {t} {at()}"
                )

    def _set_names(self) -> None:
        self.input_names = [layer.name for layer in self._input_layers]
        names: list[str] = []
        seen: dict[str, int] = {}
        for layer in self._output_layers:  # a layer with several outputs gives each a name of its own
            count = seen[layer.name] = seen.get(layer.name, 0) + 1
            names.append(layer.name if count == 1 else f"{layer.name}_{count - 1}")
        self.output_names = names

    def __setattr__(self, name: str, value: Any) -> None:
        if "_is_graph_network" not in self.__dict__ and next(members(value), None) is not None:
            raise RuntimeError(
                f"It looks like you are subclassing `Model` and you forgot to call `super().__init__()` in "
                f"{type(self).__name__}. Always start with this line."
            )
        super().__setattr__(name, value)

    # ---- what it holds

    def _sub_layers(self) -> list[Any]:
        return unique([*self.__dict__.get("_layers", ()), *super()._sub_layers()])

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        if self._is_graph_network or hasattr(self, "add"):  # by number: those with weights have one of their own
            with_weights = 0
            for i, layer in enumerate(self.layers):
                if layer.weights:
                    yield f"layer_with_weights-{with_weights}", layer
                    with_weights += 1
                yield f"layer-{i}", layer
        yield from super()._checkpoint_children()
        optimizer = getattr(self, "optimizer", None)
        if is_trackable(optimizer):
            yield "optimizer", optimizer

    @property
    def layers(self) -> list[Any]:
        """The layers of the model: of a graph of layers ordered from inputs to outputs."""
        return [layer for layer in self._sub_layers() if not hasattr(layer, "update_state")]

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """A layer of the model, by its name or its index.

        Args:
          name: The name of the layer.
          index: Its number in the property `layers`, which goes before a name.

        Returns:
          A layer.

        >>> x = tf.keras.Input([2], name="x")
        >>> tf.keras.Model(x, x + 1.0).get_layer(index=0).name
        'x'
        """
        layers = self.layers
        if index is not None:
            if len(layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has {len(layers)} layers."
                )
            return layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}. The model has: {', '.join(layer.name for layer in layers)}")

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that training changes, layer by layer; none if the model is frozen."""
        self._check_built()
        if not self.trainable:
            return []
        own = [v for v in self._own_variables() if v.trainable]
        return unique([*self._gathered("trainable_weights"), *own])

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that training leaves alone, layer by layer; all of them if the model is frozen."""
        self._check_built()
        own = self._own_variables()
        fixed = [*self._gathered("non_trainable_weights"), *(v for v in own if not v.trainable)]
        if self.trainable:
            return unique(fixed)
        return unique([*self._gathered("trainable_weights"), *(v for v in own if v.trainable), *fixed])

    @property
    def weights(self) -> list[Any]:
        """All variables, layer by layer."""
        self._check_built()
        return unique([*self._gathered("weights"), *self._own_variables()])

    def _own_variables(self) -> list[Any]:
        return [*self._trainable_weights, *self._non_trainable_weights, *self._held_variables()]

    def _check_built(self) -> None:
        """Refuses to say what variables there are before they are made."""

    @property
    def updates(self) -> list[Any]:
        """The operations that run with each step of training, but for those of calls outside the model."""
        if not self.trainable and not self.stateful:
            return []
        updates = unique(super().updates)
        if not self._is_graph_network:
            return updates
        free = {u for layer in self._flatten_layers() for u, yes in layer._unconditional_updates.items() if yes}
        reached = reachable_from(self._all_inputs(), updates)
        return [u for u in updates if u in reached or u in free]

    @property
    def losses(self) -> list[Any]:
        """The terms that the layers add to the loss, but for those of calls outside the model."""
        losses = super().losses
        if runs_eagerly() or not self._is_graph_network:
            return losses
        free = [loss for loss in losses if getattr(loss, "_unconditional_loss", True)]
        reached = reachable_from(self._all_inputs(), losses)
        return unique([loss for loss in losses if loss in reached] + free)

    def _all_inputs(self) -> list[Any]:
        return [t for node in self._inbound_nodes for t in nest.flatten(node.input_tensors)]

    @property
    def state_updates(self) -> list[Any]:
        """The updates of layers that keep something from one batch to the next."""
        return [u for layer in self.layers if layer.stateful for u in layer.updates]

    def reset_states(self) -> None:
        """Makes layers that keep something from one batch to the next forget it.

        >>> x = tf.keras.Input([2])
        >>> tf.keras.Model(x, x + 1.0).reset_states()
        """
        for layer in self.layers:
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    @property
    def input_spec(self) -> Any:  # type: ignore[override]
        """What the model accepts."""
        if self.__dict__.get("_manual_input_spec") is not None:
            return self.__dict__["_manual_input_spec"]
        if not self.__dict__.get("_is_graph_network") or isinstance(self._nested_inputs, dict):
            return None
        shapes = [int_shape(t) for t in self.inputs]
        specs = [InputSpec(shape=None if shape is None else (None, *shape[1:])) for shape in shapes]
        return specs[0] if len(specs) == 1 else specs

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        self.__dict__["_manual_input_spec"] = value

    # ---- calling

    @default
    def build(self, input_shape: Any) -> None:
        """Makes the variables of a model with a ``call`` of its own, for inputs of a shape.

        Args:
          input_shape: The shape of the inputs with the axis of the batch: a tuple, a list of tuples, or a
            `tf.TensorShape`.

        >>> class Shift(tf.keras.Model):
        ...     def call(self, inputs):
        ...         return inputs + 1.0
        >>> model = Shift()
        >>> model.build((None, 3))
        >>> model.built
        True
        """
        if self._is_graph_network:
            self.built = True
            return
        if input_shape is None:
            raise ValueError(
                "Input shape must be defined when calling build on a model subclass network: a tuple, a list of tuples or a "
                "TensorShape."
            )
        if not self.built:
            self._build_on_placeholders(input_shape)
        self._build_input_shape = input_shape
        self.built = True

    def _build_on_placeholders(self, input_shape: Any) -> None:
        """Calls the model in a graph of its own, for the variables that this makes."""
        outer = context.get_default_graph()
        before = {layer: (len(layer._losses), len(layer._updates)) for layer in self._flatten_layers()}
        body = FuncGraph("the body in which a model is built", outer, name="build_graph")
        with body.as_default():
            inputs = map_shapes(lambda shape: body.add_arg(dtypes.as_dtype(floatx()), shape), input_shape)
            try:
                self.call(inputs)
            except (ValueError, TypeError) as error:
                raise ValueError(
                    "You cannot build your model by calling `build` if your layers do not support float type inputs, or if "
                    "`call` needs more than the inputs. Instead, call your model on data that it can take (on real tensor "
                    f"data of the right dtype). The error was: {error}"
                ) from error
        for layer in self._flatten_layers():  # what was added belongs to that graph
            losses, updates = before.get(layer, (0, 0))
            del layer._losses[losses:], layer._updates[updates:]

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:  # type: ignore[override]
        """Runs the layers of the graph on other inputs; a subclass of `tf.keras.Model` has a ``call`` of its own.

        Args:
          inputs: A tensor or a structure of tensors, like the inputs that the model was made with.
          training: Whether layers train; None if nobody says.
          mask: The masks of the inputs.

        Returns:
          A structure of tensors like the outputs that the model was made with.

        >>> x = tf.keras.Input([2])
        >>> model = tf.keras.Model(x, x + 1.0)
        >>> model.call(tf.zeros([3, 2])).shape.as_list()
        [3, 2]
        """
        if not self._is_graph_network:
            raise NotImplementedError(
                f"When subclassing the `Model` class, you should implement a `call` method: {type(self).__name__} has none."
            )
        return self._run_internal_graph(inputs, training, mask)

    def _run_internal_graph(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        assert self._topology is not None
        values = self._bound_inputs(inputs, mask)
        for node in self._topology.nodes():
            if node.is_input or any(id(t) not in values for t in node.keras_inputs):
                continue
            outputs = self._call_again(node, values, training)
            values.update(zip(map(id, nest.flatten(node.outputs)), nest.flatten(outputs), strict=False))
        return nest.pack_sequence_as(self._nested_outputs, [values[id(t)] for t in self.outputs])

    def _bound_inputs(self, inputs: Any, mask: Any) -> dict[int, Any]:
        """The tensors of the graph that are known: its inputs."""
        if isinstance(self._nested_inputs, dict) and isinstance(inputs, dict):
            inputs = {key: inputs[key] for key in self._nested_inputs if key in inputs}
        flat: list[Any] = [t if is_tensor(t) else convert_to_tensor(t) for t in nest.flatten(inputs)]
        if len(flat) != len(self.inputs):
            raise ValueError(
                f"The model {self.name} takes {len(self.inputs)} inputs ({', '.join(self.input_names)}), but was called with "
                f"{len(flat)}: {inputs} {at()}"
            )
        if mask is not None:
            for tensor, one in zip(flat, nest.flatten(mask), strict=True):
                if one is not None:
                    tensor._keras_mask = one
        for expected, tensor in zip(self.inputs, flat, strict=True):
            if not tensor.shape.is_compatible_with(expected.shape):
                log.warning(
                    "Model was constructed with shape %s for input %s, but it was re-called on a Tensor with incompatible "
                    "shape %s.", expected.shape, expected, tensor.shape,
                )  # fmt: skip
        return dict(zip(map(id, self.inputs), flat, strict=True))

    def _call_again(self, node: Node, values: dict[int, Any], training: Any) -> Any:
        def value(item: Any) -> Any:
            return values.get(id(item), item) if hasattr(item, "_keras_history") else item

        layer = node.layer
        inputs = nest.map_structure(value, node.inputs)
        args = nest.map_structure(value, node.call_args)
        kwargs = {key: nest.map_structure(value, item) for key, item in node.call_kwargs.items()}
        if training is not None and "training" in layer._call_names and not layer._passed("training", args, kwargs):
            kwargs["training"] = training
        return layer(inputs, *args, **kwargs)

    def _after_call(self, inputs: Any, outputs: Any) -> None:
        if self._set_inputs is not None and not self.inputs and not context.executing_eagerly():
            self._set_inputs(inputs, outputs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The masks of the outputs for some inputs.

        Args:
          inputs: Inputs of a call.
          mask: Their masks, or None.

        Returns:
          A structure of masks like the outputs, or None.
        """
        if not self._is_graph_network:
            return None
        outputs = self._run_internal_graph(inputs, mask=mask)
        return nest.map_structure(lambda t: getattr(t, "_keras_mask", None), outputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shapes of the outputs for inputs of some shapes.

        Args:
          input_shape: A shape, or a list of shapes.

        Returns:
          A `tf.TensorShape`, or a structure of them like the outputs.

        >>> x = tf.keras.Input([3])
        >>> tf.keras.Model(x, x).compute_output_shape((5, 3)).as_list()
        [5, 3]
        """
        if not self._is_graph_network or self._topology is None:
            return super().compute_output_shape(input_shape)
        shapes = dict(zip(map(id, self.inputs), _shapes(input_shape), strict=True))
        for node in self._topology.nodes():
            if node.is_input or any(id(t) not in shapes for t in node.keras_inputs):
                continue
            given = nest.map_structure(lambda t: shapes[id(t)], node.inputs)
            made = node.layer.compute_output_shape(unnested(given))
            flat = _shapes(made)
            shapes.update(zip(map(id, nest.flatten(node.outputs)), flat, strict=False))
        return nest.pack_sequence_as(self._nested_outputs, [shapes[id(t)] for t in self.outputs])

    # ---- losses and metrics of a graph of layers

    @property
    def _graph_network_add_loss(self) -> Any:  # type: ignore[override]
        return self._add_graph_loss if self.__dict__.get("_is_graph_network") else None

    @property
    def _graph_network_add_metric(self) -> Any:  # type: ignore[override]
        return self._add_graph_metric if self.__dict__.get("_is_graph_network") else None

    def _add_graph_loss(self, loss: Any) -> None:
        """A loss made of the model's tensors becomes a layer, so that it is there when the model runs on other inputs."""
        add_missing_history([loss], in_call=True)
        layer = AddLoss(unconditional=False)
        if hasattr(loss, "_keras_history"):
            self._insert(layer(loss))
        else:
            self._losses.append(loss)

    def _add_graph_metric(self, value: Any, aggregation: Any, name: Any) -> None:
        add_missing_history([value], in_call=True)
        layer = AddMetric(aggregation, name)
        self._insert(layer(value))

    def _insert(self, tensor: Any) -> None:
        """Adds a layer that no output needs, and what leads to it, to the graph."""
        self._added_ends.append(tensor)
        found = map_topology(self.inputs, [*self.outputs, *self._added_ends])
        self._topology = found
        known = {id(one) for one in self._layers}
        self._layers.extend(one for one in found.layers if id(one) not in known)

    # ---- plain data

    def get_config(self) -> dict[str, Any]:
        """What makes a model like this one, as plain data.

        Returns:
          A dictionary.

        >>> x = tf.keras.Input([2], name="x")
        >>> sorted(tf.keras.Model(x, x, name="same").get_config())
        ['input_layers', 'layers', 'name', 'output_layers']
        """
        if not self._is_graph_network:
            raise NotImplementedError(f"A model with a `call` of its own has no configuration: {type(self).__name__}")
        return graph_config.to_config(self)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """A new model, from what `get_config` gives; its variables have new values.

        Args:
          config: A dictionary.
          custom_objects: The user's own classes and functions by the names that `config` has for them.

        Returns:
          A model.

        >>> x = tf.keras.Input([2], name="x")
        >>> model = tf.keras.Model(x, x, name="same")
        >>> tf.keras.Model.from_config(model.get_config()).name
        'same'
        """
        inputs, outputs, layers = graph_config.from_config(config, custom_objects)
        model = cls(inputs=inputs, outputs=outputs, name=config.get("name"))
        graph_config.connect_rest(model, layers)
        return model

    def _updated_config(self) -> dict[str, Any]:
        return {
            "class_name": type(self).__name__, "config": self.get_config(), "keras_version": graph_config.KERAS_VERSION,
            "backend": "tensorflow",
        }  # fmt: skip

    def to_json(self, **kwargs: Any) -> str:
        """What makes a model like this one, as JSON; `tf.keras.models.model_from_json` reads it.

        Args:
          **kwargs: Further arguments of `json.dumps`.

        Returns:
          A string.

        >>> x = tf.keras.Input([2], name="x")
        >>> text = tf.keras.Model(x, x, name="same").to_json()
        >>> tf.keras.models.model_from_json(text).name
        'same'
        """
        return graph_config.to_json(self._updated_config(), **kwargs)

    def to_yaml(self, **kwargs: Any) -> str:
        """What makes a model like this one, as YAML; `tf.keras.models.model_from_yaml` reads it.

        Args:
          **kwargs: Further arguments of `yaml.dump`.

        Returns:
          A string.
        """
        return graph_config.to_yaml(self._updated_config(), **kwargs)

    def summary(self, line_length: int | None = None, positions: Any = None, print_fn: Any = None) -> None:
        """Prints a table of the layers, the shapes of their outputs and the numbers of their parameters.

        Args:
          line_length: The width of the table.
          positions: Where the columns end, as shares of the width or as numbers of characters.
          print_fn: What prints a line; None for `print`.

        >>> x = tf.keras.Input([2], name="x")
        >>> lines = []
        >>> tf.keras.Model(x, x, name="same").summary(print_fn=lines.append)
        >>> lines[0]
        'Model: "same"'
        """
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or calling `fit()` with some "
                "data, or specify an `input_shape` argument in the first layer(s) for automatic build."
            )
        summary.print_summary(self, line_length, positions, print_fn)


def _alone(structure: Any) -> Any:
    return structure[0] if isinstance(structure, list) and len(nest.flatten(structure)) == 1 else structure


def _shapes(shape: Any) -> list[TensorShape]:
    """The shapes in what a user gives as one or more of them."""
    return nest.flatten(map_shapes(lambda one: one, shape))

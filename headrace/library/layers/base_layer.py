"""Layer: tf.keras.layers.Layer, the base class of all layers, models, metrics and recurrent cells.

A subclass overrides ``build(input_shape)``, which makes the variables with ``add_weight``, and ``call(inputs)``.  A call on
tensors that layers made is remembered as a node (node.py), which is what models are made of.  What layers hold, add and
know of their calls is in the classes that Layer is made of; how `tf.layers` differs is in base.py.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.backend.config import floatx
from headrace.library.backend.graph import get_graph, in_keras_graph
from headrace.library.backend.keras_tensor import is_symbolic
from headrace.library.backend.naming import unique_object_name
from headrace.library.backend.phase import learning_phase, learning_phase_is_set
from headrace.library.layers import mask as masks
from headrace.library.layers import regularizers
from headrace.library.layers.added import Adding
from headrace.library.layers.call_context import call_context, entered
from headrace.library.layers.history import add_missing_history
from headrace.library.layers.node import Connected, Node
from headrace.library.layers.spec import check_inputs
from headrace.library.layers.weights import Weighted
from headrace.library.numeric import math
from headrace.library.scope import init_scope, name_scope
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable import Variable
from headrace.library.tensor import array
from headrace.library.train.saver.objects import objects_changed

_F = TypeVar("_F", bound=Callable[..., Any])
_KEYWORDS = (
    "activity_regularizer", "autocast", "batch_input_shape", "batch_size", "experimental_autocast", "implementation",
    "input_dim", "input_shape", "weights",
)  # fmt: skip


def default(method: _F) -> _F:
    """Marks a method of Layer itself, so that one can see whether a subclass has its own."""
    method._is_default = True  # type: ignore[attr-defined]
    return method


def snake_case(name: str) -> str:
    """``SeparableConv2D`` -> ``separable_conv2d``."""
    parts = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub("([a-z])([A-Z])", r"\1_\2", parts).lower()
    return snake if not snake.startswith("_") else f"private{snake}"


class Layer(Weighted, Adding, Connected):
    """A function with variables: made once, built at its first call, and called as often as wanted.

    Building is not thread-safe; one layer belongs to the graph of its first call.

    Args:
      trainable: Whether training changes its variables.
      name: Its name; None for that of the class, with a number.
      dtype: The dtype of its variables; None for that of the first input.
      dynamic: Whether `call` has to run eagerly.
      **kwargs: `input_shape` or `batch_input_shape` (and `batch_size`) for the first layer of a model, `weights` to
        begin with, `activity_regularizer`, a function of the output whose result is a loss.

    >>> class Scale(tf.keras.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.scale = self.add_weight("scale", shape=[input_shape[-1]], initializer="ones")
    ...     def call(self, inputs):
    ...         return inputs * self.scale
    >>> layer = Scale()
    >>> y = layer(tf.zeros([4, 3]))
    >>> layer.name, y.shape.as_list(), [w.name for w in layer.weights]
    ('scale', [4, 3], ['scale/scale:0'])
    """

    _OWN: ClassVar[frozenset[str]] = frozenset({
        "_callable_losses", "_eager_losses", "_inbound_nodes", "_initial_weights", "_losses", "_metrics",
        "_non_trainable_weights", "_outbound_nodes", "_tracked_attributes", "_trainable_weights",
        "_unconditional_updates", "_updates", "input_spec",
    })  # fmt: skip
    _compute_output_and_mask_jointly = False
    _remembers_all_calls = False  # also those on tensors that no layer made
    _name: str
    _batch_input_shape: Any
    input_spec: Any

    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, dynamic: bool = False, **kwargs: Any
    ) -> None:
        for key in kwargs:
            if key not in _KEYWORDS:
                raise TypeError("Keyword argument not understood:", key)
        attributes = self.__dict__
        attributes.setdefault("_tracked_attributes", {})
        attributes.setdefault("_trainable_weights", [])
        attributes.setdefault("_non_trainable_weights", [])
        for own in ("_losses", "_eager_losses", "_callable_losses", "_updates", "_metrics"):
            attributes[own] = []
        attributes["_unconditional_updates"] = {}
        attributes["_inbound_nodes"], attributes["_outbound_nodes"] = [], []
        self._trainable = trainable
        self._stateful = False
        self.built = False
        self.supports_masking = False
        self.input_spec = None
        self._dynamic = dynamic
        self._autocast = kwargs.get("autocast", kwargs.get("experimental_autocast", False))
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self._activity_regularizer = regularizers.get(kwargs.get("activity_regularizer"))
        self._initial_weights = kwargs.get("weights")
        self._init_set_name(name)
        self._set_batch_input_shape(kwargs)

    def _init_set_name(self, name: Any, zero_based: bool = True) -> None:
        self._name = name or unique_object_name(snake_case(type(self).__name__), zero_based=zero_based)

    def _set_batch_input_shape(self, kwargs: dict[str, Any]) -> None:
        if "input_dim" in kwargs and "input_shape" not in kwargs:
            kwargs["input_shape"] = (kwargs["input_dim"],)
        if kwargs.get("batch_input_shape") is not None:
            self._batch_input_shape = tuple(kwargs["batch_input_shape"])
        elif kwargs.get("input_shape") is not None:
            shape = kwargs["input_shape"]
            rest = tuple(TensorShape(shape).as_list()) if isinstance(shape, TensorShape) else tuple(shape)
            self._batch_input_shape = (kwargs.get("batch_size"), *rest)

    # ---- to be overridden

    @default
    def build(self, input_shape: Any) -> None:
        """Makes the variables; called once, before the first `call`.

        Args:
          input_shape: The shape of the input, a `tf.TensorShape`, or a structure of them if there are several.

        >>> class Scale(tf.keras.layers.Layer):
        ...     def build(self, input_shape):
        ...         self.scale = self.add_weight("scale", shape=[input_shape[-1]])
        ...         super().build(input_shape)
        >>> layer = Scale()
        >>> layer.build([None, 3])
        >>> layer.built, layer.scale.shape.as_list()
        (True, [3])
        """
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """What the layer computes; layers are called as functions, and call this.

        Args:
          inputs: A tensor, or a structure of tensors.
          *args, **kwargs: Further arguments; `training` and `mask` are given by Keras if the layer asks for them.

        Returns:
          A tensor, or a structure of tensors.

        >>> layer = tf.keras.layers.Layer()
        >>> x = tf.ones([2])
        >>> layer.call(x) is x
        True
        """
        return inputs

    @default
    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the output.

        Args:
          inputs: The inputs of a call.
          mask: Their masks, or None.

        Returns:
          A mask for each output, or None.

        >>> tf.keras.layers.Layer().compute_mask(tf.ones([2]))
        """
        if self.supports_masking:
            return mask
        if any(one is not None for one in nest.flatten(mask)):
            raise TypeError(f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}")
        return None

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the output for inputs of a shape.

        Args:
          input_shape: A shape, or a structure of shapes.

        Returns:
          A `tf.TensorShape`, or a structure of them.
        """
        if context.executing_eagerly():
            return self._shape_of_outputs(input_shape)
        raise NotImplementedError(f"{type(self).__name__} does not say its output shape: override compute_output_shape")

    def _shape_of_outputs(self, input_shape: Any) -> Any:
        """The shape of the output, by calling the layer in a graph of its own."""
        self._maybe_build_for(input_shape)
        body = FuncGraph(
            "the body that tells the shapes of a layer's outputs", context.get_default_graph(), name="shapes"
        )
        element_type = dtypes.as_dtype(self._dtype or floatx())
        with body.as_default():
            inputs = map_shapes(lambda shape: body.add_arg(element_type, shape), input_shape)
            outputs = self.call(inputs)
        return nest.map_structure(lambda t: t.shape, outputs)

    def _maybe_build_for(self, input_shape: Any) -> None:
        if not self.built:
            self.build(map_shapes(lambda shape: shape, input_shape))
            self.built = True

    @default
    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data.

        Returns:
          A dictionary.

        >>> tf.keras.layers.Layer(name="same").get_config()
        {'name': 'same', 'trainable': True, 'dtype': None}
        """
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self._dtype
        if self._dynamic:
            config["dynamic"] = True
        names = [name for name in inspect.getfullargspec(type(self).__init__).args if name != "dynamic"]
        if hasattr(self.get_config, "_is_default") and any(name not in (*config, "self") for name in names):
            raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A new layer, from what `get_config` gives.

        Args:
          config: A dictionary.

        Returns:
          A layer.

        >>> tf.keras.layers.Layer.from_config({"name": "same"}).name
        'same'
        """
        return cls(**config)

    # ---- calling

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer at the first call, then calls it on tensors.

        Args:
          inputs: A tensor or a structure of tensors; arrays and numbers become tensors.
          *args, **kwargs: Further arguments of `call`.

        Returns:
          What `call` returns.
        """
        if "_inbound_nodes" not in self.__dict__:
            raise RuntimeError(f"You must call `super().__init__()` in the constructor of {type(self).__name__}.")
        inputs = nest.map_structure(_as_input, inputs)
        flat = nest.flatten(inputs)
        symbolic = bool(flat) and all(is_symbolic(t) for t in flat)
        if symbolic and context.executing_eagerly():
            with get_graph().as_default():
                return self._called(inputs, flat, args, kwargs, symbolic)
        return self._called(inputs, flat, args, kwargs, symbolic)

    def _called(self, inputs: Any, flat: list[Any], args: Any, kwargs: dict[str, Any], symbolic: bool) -> Any:
        given_args, given = args, dict(kwargs)  # what the caller passed: a model passes it again
        input_masks = masks.collected(self, inputs, args, kwargs)
        if input_masks is not None and "mask" in self._call_names and not self._passed("mask", args, kwargs):
            kwargs["mask"] = input_masks
        training = self._training_value(args, kwargs)
        if symbolic:
            add_missing_history(flat)
        in_keras = symbolic and in_keras_graph(context.get_default_graph())
        with entered(self, inputs, training, in_keras) as outer:
            if not symbolic and not outer.in_call:
                self._clear_losses()
            with name_scope(self._name_scope()):
                check_inputs(self.input_spec, inputs, self.name)
                self._maybe_build(inputs)
                outputs = self.call(inputs, *args, **kwargs)
                if outputs is None:
                    raise ValueError(
                        "A layer's `call` method should return a Tensor or a list of Tensors, not None (layer: "
                        f"{self.name}). {at()}"
                    )
                if symbolic:
                    outputs = self._remember_call(inputs, flat, given_args, given, outputs)
                self._regularize_activity(inputs, outputs)
                masks.set_masks(self, inputs, outputs, input_masks)
                self._after_call(inputs, outputs)
        return outputs

    def _after_call(self, inputs: Any, outputs: Any) -> None:
        """What a subclass does when a call is over."""

    def _remember_call(self, inputs: Any, flat: list[Any], args: Any, kwargs: dict[str, Any], outputs: Any) -> Any:
        """Remembers the call, if layers made the inputs."""
        from_layers = all(hasattr(t, "_keras_history") for t in flat)
        if not (from_layers or self._remembers_all_calls):
            return outputs
        if from_layers:  # an input that is handed on stays the output of the layer that made it
            ids = {id(t) for t in flat}
            outputs = nest.map_structure(lambda t: self._copied(t) if id(t) in ids else t, outputs)
        Node(self, inputs, args, kwargs, outputs)
        return outputs

    def _copied(self, tensor: Any) -> Any:
        with name_scope(self.name):
            return raw_ops.Identity(tensor)

    def _training_value(self, args: Any, kwargs: dict[str, Any]) -> Any:
        """Whether to train: as the caller says, else as the layer around says, else as the learning phase says.

        Puts the value into ``kwargs`` for a layer that wants it.
        """
        named = "training" in self._call_names
        if self._passed("training", args, kwargs):
            value = self._argument("training", args, kwargs)
            if not named and not self._takes_any:
                kwargs.pop("training")
            if value is not None:
                return value
        value = call_context().training
        if value is None and (learning_phase_is_set() or in_keras_graph(context.get_default_graph())):
            value = learning_phase()
        if named and value is not None and self._argument_place("training", args) is None:
            kwargs["training"] = bool(value) if isinstance(value, int) else value
        return value

    def _as_input_shapes(self, inputs: Any) -> Any:
        flat = nest.flatten(inputs)
        return nest.map_structure(lambda t: t.shape, inputs) if all(hasattr(t, "shape") for t in flat) else None

    def _maybe_build(self, inputs: Any) -> None:
        if not self.built:
            flat = nest.flatten(inputs)
            if self._dtype is None and flat and hasattr(flat[0], "dtype"):
                self._dtype = dtypes.as_dtype(flat[0].dtype).base_dtype.name
            if not hasattr(self.build, "_is_default"):
                self._build_layer(self._as_input_shapes(inputs))
            self.built = True
            objects_changed(self)
        if self._initial_weights is not None:
            initial, self._initial_weights = self._initial_weights, None
            self.set_weights(initial)

    def _build_layer(self, shapes: Any) -> None:
        """Builds the layer; where ops run eagerly outside, there."""
        graph = context.get_default_graph()
        root = getattr(graph, "root", graph)
        if root.executing_eagerly and graph is not root:
            with init_scope():
                self.build(shapes)
        else:
            self.build(shapes)

    def _name_scope(self) -> str | None:
        """The name scope that a call opens."""
        return self.name

    def _regularize_activity(self, inputs: Any, outputs: Any) -> None:
        if self._activity_regularizer is None:
            return
        with name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                sizes: Any = array.shape(output)
                self.add_loss(loss / math.cast(sizes[0], loss.dtype), inputs=inputs)

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the layer, the older way.

        Args:
          inputs: A tensor or a structure of tensors.
          *args, **kwargs: Further arguments of `call`.

        Returns:
          What `call` returns.

        >>> tf.keras.layers.Layer().apply(tf.ones([2])).shape.as_list()
        [2]
        """
        return self(inputs, *args, **kwargs)

    # ---- the arguments of ``call``

    @property
    def _call_names(self) -> tuple[str, ...]:
        return call_arguments(self)[0]

    @property
    def _takes_any(self) -> bool:
        return call_arguments(self)[1]

    def _argument_place(self, name: str, args: Any) -> int | None:
        names = self._call_names
        place = names.index(name) - 1 if name in names else len(args)
        return place if place < len(args) else None

    def _passed(self, name: str, args: Any, kwargs: dict[str, Any]) -> bool:
        return name in kwargs or self._argument_place(name, args) is not None

    def _argument(self, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        place = self._argument_place(name, args)
        return kwargs[name] if place is None else args[place]

    # ---- what it has

    def _flatten_layers(self, recursive: bool = True, include_self: bool = True) -> list[Any]:
        """The layer and those in it, each once, outer ones first."""
        found: dict[int, Any] = {id(self): self} if include_self else {}
        waiting = self._sub_layers()
        while waiting:
            layer = waiting.pop(0)
            if id(layer) in found or layer is self or not isinstance(layer, Layer):
                continue
            found[id(layer)] = layer
            if recursive:
                waiting[:0] = layer._sub_layers()
        return list(found.values())

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the layer."""
        return self._name

    @property
    def dtype(self) -> str | None:
        """The dtype of the variables; None before the layer is built, if none was given."""
        return self._dtype

    @property
    def dynamic(self) -> bool:
        """Whether the layer or one in it has to run eagerly."""
        return any(layer._dynamic for layer in self._flatten_layers())

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        """Whether the layer or one in it keeps something from one batch to the next."""
        return any(layer._stateful for layer in self._flatten_layers())

    @stateful.setter
    def stateful(self, value: bool) -> None:
        self._stateful = value

    @property
    def trainable(self) -> bool:  # type: ignore[override]
        """Whether training changes the variables; setting it sets that of the layers in it too."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self._sub_layers():
            layer.trainable = value

    @property
    def activity_regularizer(self) -> Any:
        """The function of the output whose result is a loss."""
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Any) -> None:
        self._activity_regularizer = regularizer

    def _float_dtype(self) -> DType:
        """The layer's dtype, which must be a floating (or complex) one."""
        element_type = dtypes.as_dtype(self._dtype or dtypes.float32)
        if not (element_type.is_floating or element_type.is_complex):
            raise TypeError(
                f"Unable to build `{type(self).__name__}` layer with non-floating point dtype {element_type!r} {at()}"
            )
        return element_type


_arguments: dict[Any, tuple[tuple[str, ...], bool]] = {}


def call_arguments(layer: Any) -> tuple[tuple[str, ...], bool]:
    """The names of the arguments of a layer's ``call``, and whether it takes any others by name."""
    call = layer.call
    function = getattr(call, "__func__", call)
    key = getattr(function, "__code__", None)
    if key is None or hasattr(function, "__wrapped__"):
        return _inspected(call)
    if key not in _arguments:
        _arguments[key] = _inspected(call)
    return _arguments[key]


def _inspected(call: Any) -> tuple[tuple[str, ...], bool]:
    parameters = inspect.signature(call).parameters.values()
    named = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)


def _as_input(value: Any) -> Any:
    if isinstance(value, (np.ndarray, float, int, Variable, PartitionedVariable)):
        return convert_to_tensor(value)
    return value


def map_shapes(function: Callable[[TensorShape], Any], shape: Any) -> Any:
    """What a function makes of each shape in what a user gives as one or more of them."""
    if isinstance(shape, dict):
        return {key: map_shapes(function, one) for key, one in shape.items()}
    several = isinstance(shape, (list, tuple)) and any(isinstance(one, (list, tuple, TensorShape)) for one in shape)
    return [map_shapes(function, one) for one in shape] if several else function(TensorShape(shape))

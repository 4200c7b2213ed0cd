"""Layer: an object that makes its variables when first called and uses the same ones ever after.

A subclass overrides ``build(input_shape)``, which makes the variables with ``add_weight``, and ``call(inputs)``.
Names are TF1's: the scope is chosen at the first call (``dense``, ``dense_1``... or the given name), variables are
``<scope>/<weight>``, and ops go under the name scope that this first call opened.  Regularization losses and updates go
to the graph's collections as well as to the layer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor, default_session
from headrace.library import nest
from headrace.library.layers.reach import reachable_from
from headrace.library.layers.spec import InputSpec as InputSpec
from headrace.library.layers.spec import check_inputs
from headrace.library.numeric import math
from headrace.library.scope import colocate_with, name_scope
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization
from headrace.library.state.variable_scope import VariableScope, get_variable, variable_scope
from headrace.library.state.variables import global_variables
from headrace.library.tensor import array

_NAMES_KEY = ("__layer_names",)


def snake_case(name: str) -> str:
    """``SeparableConv2D`` -> ``separable_conv2d``."""
    parts = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub("([a-z])([A-Z])", r"\1_\2", parts).lower()
    return snake if not snake.startswith("_") else f"private{snake}"


def _unique_layer_name(base: str) -> str:
    """``base_1``, ``base_2``...: names of layer objects, counted for each graph apart from the names of scopes."""
    stores = context.get_default_graph().get_collection_ref(_NAMES_KEY)
    if not stores:
        stores.append({})
    stores[0][base] = stores[0].get(base, 0) + 1
    return f"{base}_{stores[0][base]}"


class Layer:
    """Base class of layers.  Building is not thread-safe; one layer belongs to the graph of its first call."""

    trainable: bool = True
    input_spec: Any = None
    dynamic = False

    def __init__(self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        self._activity_regularizer = kwargs.pop("activity_regularizer", None)
        for key in kwargs:
            if key not in ("autocast", "batch_input_shape", "batch_size", "dynamic", "input_shape", "weights"):
                raise TypeError("Keyword argument not understood:", key)
        self.trainable = trainable
        self.built = False
        self.input_spec = None
        self.stateful = False
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self._set_name(name)
        self._graph = context.get_default_graph()
        self._scope: VariableScope | None = None
        self._current_scope: VariableScope | None = None
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        self._calls: list[tuple[Any, Any]] = []
        if scope:
            with variable_scope(scope) as captured:
                self._scope = captured

    def _set_name(self, name: Any) -> None:
        snake = snake_case(type(self).__name__)
        if isinstance(name, VariableScope):
            self._name, self._base_name = _unique_layer_name(snake), name.name
        elif name:
            self._name = self._base_name = name
        else:
            self._name, self._base_name = _unique_layer_name(snake), snake

    # ---- to be overridden

    def build(self, input_shape: Any) -> None:
        """Makes the variables for inputs of this shape; sets ``self.built``."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The layer's output for ``inputs``."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output for inputs of a shape."""
        raise NotImplementedError(f"{type(self).__name__} does not say its output shape")

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments as plain data; layers with more arguments extend it."""
        config: dict[str, Any] = {"name": self._name, "trainable": self.trainable}
        return {**config, "dtype": self._dtype} if self._dtype else config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)

    # ---- calling

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer at the first call, then ``call``s it in the layer's scope."""
        self._set_scope(kwargs.pop("scope", None))
        with self._entered(reuse=True if self.built else self._reuse):
            inputs = nest.map_structure(self._as_input, inputs)
            check_inputs(self.input_spec, inputs, self._name)
            if not self.built:
                self._build_for(inputs)
            outputs = self.call(inputs, *args, **kwargs)
            self._regularize_activity(outputs)
        if not context.executing_eagerly():
            self._calls.append((inputs, outputs))
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Same as calling the layer."""
        return self(inputs, *args, **kwargs)

    def _as_input(self, value: Any) -> Any:
        if isinstance(value, (np.ndarray, float, int, Variable, PartitionedVariable)):
            return convert_to_tensor(value)
        return value

    def _build_for(self, inputs: Any) -> None:
        first = nest.flatten(inputs)
        graph = getattr(first[0], "graph", self._graph) if first else self._graph
        self._graph = getattr(graph, "root", graph)  # variables made in a body belong to the graph around it
        if self._dtype is None and first and hasattr(first[0], "dtype"):
            self._dtype = dtypes.as_dtype(first[0].dtype).base_dtype.name
        if all(hasattr(x, "shape") for x in first):
            shapes = nest.map_structure(lambda x: x.shape, inputs)
        else:
            shapes = None
        self.build(shapes)
        self.built = True
        check_inputs(self.input_spec, inputs, self._name)

    def _set_scope(self, scope: Any = None) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            opened = variable_scope(scope if scope is not None else self._base_name)
        else:
            opened = variable_scope(scope, default_name=self._base_name)
        with opened as captured:
            self._scope = captured

    @contextmanager
    def _entered(self, reuse: Any) -> Iterator[None]:
        """The layer's variable scope, and the name scope it opened when it was first entered."""
        assert self._scope is not None
        outer = self._current_scope
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            with name_scope(scope.original_name_scope or None):
                yield
        self._current_scope = outer if outer is not None else self._scope

    def _regularize_activity(self, outputs: Any) -> None:
        if self._activity_regularizer is None:
            return
        with name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                sizes: Any = array.shape(output)
                count = math.cast(sizes[0], loss.dtype)
                self.add_loss(loss / count, inputs=True)

    # ---- variables

    def add_weight(
        self, name: str, shape: Any, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
        trainable: bool | None = None, constraint: Any = None, use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE, partitioner: Any = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """A variable of the layer: created in its scope, or shared if the layer reuses one.

        ``regularizer(variable)`` is added to the layer's losses and to REGULARIZATION_LOSSES, once per variable.
        """
        for key in kwargs:
            if key not in ("experimental_autocast",):
                raise TypeError(f"Unknown keyword argument: {key}")
        if synchronization == VariableSynchronization.ON_READ:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
                    "variables. You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        trainable = True if trainable is None else trainable
        self._set_scope(None)
        before = set(global_variables()) if regularizer is not None else set()
        with self._entered(reuse=self.built or self._reuse):
            variable = get_variable(
                name, shape=shape, dtype=dtypes.as_dtype(dtype or self._dtype or dtypes.float32),
                initializer=initializer, trainable=trainable and self.trainable, constraint=constraint,
                partitioner=partitioner, use_resource=use_resource, synchronization=synchronization,
                aggregation=aggregation,
            )  # fmt: skip
            parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
            if regularizer is not None:
                for part in parts:
                    if part not in before:
                        self._regularize(name, part, regularizer)
        weights = self._trainable_weights if trainable else self._non_trainable_weights
        weights.extend(part for part in parts if part not in weights)
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """The older name of ``add_weight``."""
        return self.add_weight(*args, **kwargs)

    def _regularize(self, name: str, variable: Any, regularizer: Callable[[Any], Any]) -> None:
        if context.executing_eagerly():  # computed again whenever the losses are asked for
            self._losses.append(lambda: regularizer(variable))
            return
        with colocate_with(variable), name_scope(f"{name}/Regularizer"):
            loss = regularizer(variable)
        if loss is not None:
            self.add_loss(loss)

    # ---- losses and updates

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds tensors (or functions that make them) to the layer's losses and to REGULARIZATION_LOSSES."""
        for loss in nest.flatten(losses):
            if loss is None:
                continue
            if context.executing_eagerly():
                if callable(loss):
                    self._losses.append(loss)
                continue  # a value of this call only: keeping one a call would never end
            tensor = convert_to_tensor(loss() if callable(loss) else loss)
            self._losses.append(tensor)
            _add_once(GraphKeys.REGULARIZATION_LOSSES, tensor)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds ops that should run with each training step to the layer's updates and to UPDATE_OPS."""
        for update in nest.flatten(updates):
            op = update() if callable(update) and not isinstance(update, (Tensor, Operation)) else update
            if context.executing_eagerly():
                continue  # it has run
            self._updates.append(op)
            _add_once(GraphKeys.UPDATE_OPS, op)

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on ``inputs``; with None, those that depend on no input of the layer."""
        return self._depending(self.losses, inputs)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on ``inputs``; with None, those that depend on no input of the layer."""
        return self._depending(self.updates, inputs)

    def _depending(self, items: list[Any], inputs: Any) -> list[Any]:
        if inputs is None:
            reached = reachable_from([i for inputs, _ in self._calls for i in nest.flatten(inputs)], items)
            return [item for item in items if item not in reached]
        reached = reachable_from(nest.flatten(inputs), items)
        return [item for item in items if item in reached]

    @property
    def losses(self) -> list[Any]:
        return [loss() if callable(loss) else loss for loss in self._losses]

    @property
    def updates(self) -> list[Any]:
        return list(self._updates) if self.trainable or self.stateful else []

    # ---- what it has

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> str | None:
        return self._dtype

    @property
    def graph(self) -> Any:
        return self._graph

    @property
    def scope_name(self) -> str:
        """The name of the layer's variable scope; known once it has been called."""
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been used yet. The scope '
                "name is determined the first time the layer instance is called. You must therefore call the layer "
                "before querying `scope_name`."
            )
        return self._scope.name

    @property
    def activity_regularizer(self) -> Any:
        return self._activity_regularizer

    @property
    def trainable_weights(self) -> list[Any]:
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        if self.trainable:
            return list(self._non_trainable_weights)
        return self._trainable_weights + self._non_trainable_weights

    @property
    def weights(self) -> list[Any]:
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_variables(self) -> list[Any]:
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        return self.weights

    def count_params(self) -> int:
        """How many numbers the variables hold."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self._name}, but the layer isn't built. You can build it "
                f"manually via: `{self._name}.build(batch_input_shape)`."
            )
        return sum(int(np.prod(v.shape.as_list())) for v in self.weights)

    def get_weights(self) -> list[np.ndarray]:
        """The variables' values in the default session."""
        if self._graph.executing_eagerly:
            return [v.numpy() for v in self.weights]
        return default_session(None, self._graph, "get_weights").run(self.weights)

    def set_weights(self, weights: list[Any]) -> None:
        """Sets the variables, in the order of ``weights``, in the default session."""
        if len(weights) != len(self.weights):
            raise ValueError(f"Layer {self._name} has {len(self.weights)} weights, but got {len(weights)} values")
        session = None if self._graph.executing_eagerly else default_session(None, self._graph, "set_weights")
        for variable, value in zip(self.weights, weights, strict=True):
            variable.load(value, session)

    # ---- what it was called with

    def _call_at(self, node_index: int, part: int) -> Any:
        if not 0 <= node_index < len(self._calls):
            raise ValueError(f"Layer {self._name} has been called {len(self._calls)} times; there is no {node_index}")
        return self._calls[node_index][part]

    def get_input_at(self, node_index: int) -> Any:
        return self._call_at(node_index, 0)

    def get_output_at(self, node_index: int) -> Any:
        return self._call_at(node_index, 1)

    def get_input_shape_at(self, node_index: int) -> Any:
        return nest.map_structure(lambda t: tuple(t.shape.as_list()), self._call_at(node_index, 0))

    def get_output_shape_at(self, node_index: int) -> Any:
        return nest.map_structure(lambda t: tuple(t.shape.as_list()), self._call_at(node_index, 1))

    def _single_call(self, what: str) -> int:
        if not self._calls:
            raise AttributeError(f"Layer {self._name} has never been called and thus has no defined {what}.")
        if len(self._calls) > 1:
            raise AttributeError(f"Layer {self._name} has been called several times: use get_{what}_at(node_index).")
        return 0

    @property
    def input(self) -> Any:
        return self.get_input_at(self._single_call("input"))

    @property
    def output(self) -> Any:
        return self.get_output_at(self._single_call("output"))

    @property
    def input_shape(self) -> Any:
        return self.get_input_shape_at(self._single_call("input_shape"))

    @property
    def output_shape(self) -> Any:
        return self.get_output_shape_at(self._single_call("output_shape"))

    # ---- for subclasses

    def _float_dtype(self) -> DType:
        """The layer's dtype, which must be a floating (or complex) one."""
        dtype = dtypes.as_dtype(self._dtype or dtypes.float32)
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(
                f"Unable to build `{type(self).__name__}` layer with non-floating point dtype {dtype!r} {at()}"
            )
        return dtype


def _add_once(collection: str, item: Any) -> None:
    graph = item.graph
    if not any(item is member for member in graph.get_collection_ref(collection)):
        graph.add_to_collection(collection, item)

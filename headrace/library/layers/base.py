"""tf.layers.Layer: a layer that keeps its variables in a variable scope, as TensorFlow 1 did before Keras.

Names are TF1's: the scope is chosen at the first call (``dense``, ``dense_1``... or the given name), variables are
``<scope>/<weight>``, and ops go under the name scope that this first call opened.  Regularization losses and updates go
to the graph's collections as well as to the layer.  All else is as in `tf.keras.layers.Layer` (base_layer.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from headrace.core import dtypes
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Operation
from headrace.library import nest
from headrace.library.backend.keras_tensor import is_tensor
from headrace.library.backend.naming import unique_object_name
from headrace.library.backend.session import track_variable
from headrace.library.layers.base_layer import Layer as KerasLayer
from headrace.library.layers.base_layer import snake_case
from headrace.library.layers.spec import InputSpec as InputSpec
from headrace.library.scope import colocate_with, name_scope
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization, trainable_value
from headrace.library.state.variable_scope import VariableScope, get_variable, variable_scope
from headrace.library.state.variables import global_variables


class Layer(KerasLayer):
    """Base class of the layers of `tf.layers`.  Building is not thread-safe; one layer belongs to the graph of its first call.

    Args:
      trainable: Whether training changes its variables.
      name: Its name, or a variable scope; None for that of the class, with a number.
      dtype: The dtype of its variables; None for that of the first input.
      **kwargs: `activity_regularizer`, a function of the output whose result is a loss.

    >>> class Scale(tf.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.scale = self.add_weight("scale", shape=[input_shape[-1]])
    ...     def call(self, inputs):
    ...         return inputs * self.scale
    >>> with tf.variable_scope("block"):
    ...     y = Scale()(tf.zeros([4, 3]))
    >>> [v.name for v in tf.trainable_variables()]
    ['block/scale/scale:0']
    """

    _remembers_all_calls = True

    def __init__(self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._graph = context.get_default_graph()
        self._scope: VariableScope | None = None
        self._current_scope: VariableScope | None = None
        if scope:
            with variable_scope(scope) as captured:
                self._scope = captured

    def _init_set_name(self, name: Any, zero_based: bool = False) -> None:
        snake = snake_case(type(self).__name__)
        if isinstance(name, VariableScope):
            self._name, self._base_name = unique_object_name(snake), name.name
        elif name:
            self._name = self._base_name = name
        else:
            self._name, self._base_name = unique_object_name(snake), snake

    # ---- calling

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer at the first call, then ``call``s it in the layer's scope."""
        self._set_scope(kwargs.pop("scope", None))
        with self._entered(reuse=True if self.built else self._reuse):
            return super().__call__(inputs, *args, **kwargs)

    def _name_scope(self) -> str | None:
        assert self._current_scope is not None
        return self._current_scope.original_name_scope or None

    def _build_layer(self, shapes: Any) -> None:
        graph = context.get_default_graph()
        self._graph = getattr(graph, "root", graph)  # variables made in a body belong to the graph around it
        self.build(shapes)

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
        """The layer's variable scope."""
        assert self._scope is not None
        outer = self._current_scope
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            yield
        self._current_scope = outer if outer is not None else self._scope

    # ---- variables

    def add_weight(  # type: ignore[override]  # the order of arguments is that of tf.layers
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
        trainable = trainable_value(synchronization, trainable)
        self._set_scope(None)
        before = set(global_variables()) if regularizer else set()
        with self._entered(reuse=self.built or self._reuse), name_scope(self._name_scope()):
            variable = get_variable(
                name, shape=shape, dtype=dtypes.as_dtype(dtype or self._dtype or dtypes.float32),
                initializer=initializer, trainable=trainable and self.trainable, constraint=constraint,
                partitioner=partitioner, use_resource=use_resource, synchronization=synchronization,
                aggregation=aggregation,
            )  # fmt: skip
            parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
            if regularizer:  # {} and what else is false is none
                for part in parts:
                    if part not in before:
                        self._regularize(name, part, regularizer)
        weights = self._trainable_weights if trainable else self._non_trainable_weights
        weights.extend(part for part in parts if part not in weights)
        for part in parts:
            track_variable(part)
        return variable

    def _regularize(self, name: str, variable: Any, regularizer: Callable[[Any], Any]) -> None:
        if context.executing_eagerly():  # computed again whenever the losses are asked for
            super().add_loss(partial(regularizer, variable))
            return
        with colocate_with(variable), name_scope(f"{name}/Regularizer"):
            loss = regularizer(variable)
        if loss is not None:
            self.add_loss(loss)

    # ---- losses and updates

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds tensors (or functions that make them) to the layer's losses and to REGULARIZATION_LOSSES."""
        if context.executing_eagerly():
            super().add_loss(losses, inputs)
            return
        before = len(self._losses)
        super().add_loss(
            [loss() if callable(loss) and not is_tensor(loss) else loss for loss in nest.flatten(losses)], inputs
        )
        for loss in self._losses[before:]:
            _add_once(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds ops that should run with each training step to the layer's updates and to UPDATE_OPS."""
        before = len(self._updates)
        super().add_update(nest.flatten(updates), inputs)
        for update in self._updates[before:]:
            _add_once(GraphKeys.UPDATE_OPS, update)

    def _as_update(self, update: Any) -> Any:
        return update() if callable(update) and not is_tensor(update) and not isinstance(update, Operation) else update

    # ---- what it has

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


def _add_once(collection: str, item: Any) -> None:
    graph = item.graph
    if not any(item is member for member in graph.get_collection_ref(collection)):
        graph.add_to_collection(collection, item)

"""Steps: functions of the arrays of a batch that train, test or predict.

In a graph a step is one prepared call of the session; eagerly it is a `tf.function`, traced for batches of any size, or
with ``run_eagerly`` the Python code itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.tensor_spec import TensorSpec
from headrace.eager.tape import GradientTape
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.backend.graph import graph_state
from headrace.library.backend.keras_tensor import is_placeholder
from headrace.library.backend.session import get_session
from headrace.library.control.replica import outside
from headrace.library.function.function import Function
from headrace.library.keras.optimizers.tf_optimizer import TFOptimizer
from headrace.library.keras.training.ends import takes_training
from headrace.library.layers.reach import reachable_from
from headrace.library.scope import name_scope

Step = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list[Any]]


class GraphSteps:
    """The steps of a model in a graph, made when they are first asked for."""

    def __init__(self, model: Any, compiled: Any) -> None:
        self._model, self._compiled = model, compiled
        self._made: dict[Any, tuple[list[Any], list[Any]]] = {}  # mode and weights -> fetches, feeds
        self._values: dict[tuple[bool, ...], tuple[Any, list[Any]]] = {}  # by weights -> loss, metrics
        self._calls: weakref.WeakKeyDictionary[Any, dict[Any, Callable[..., Any]]] = weakref.WeakKeyDictionary()
        self._graph = model.outputs[0].graph

    def get(self, mode: str, weighted: tuple[bool, ...] = ()) -> Step:
        """The step that does "train", "test" or "predict" for batches with these sample weights."""
        with self._graph.as_default(), outside():  # programs call fit in the scope that they made the model in
            fetches, feeds = self._nodes(mode, weighted)
            session = get_session(fetches)
        calls = self._calls.setdefault(session, {})
        if (mode, weighted) not in calls:
            calls[mode, weighted] = session.make_callable(fetches, feeds)
        call, last = calls[mode, weighted], sum(isinstance(fetch, Tensor) for fetch in fetches)
        phase = [mode == "train"] if feeds and feeds[-1] is self._phase() else []

        def step(xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[Any]) -> list[Any]:
            found: list[Any] = call(*xs, *ys, *(w for w in ws if w is not None), *phase)
            return found[:last]

        return step

    def fetches(self, mode: str) -> list[Any]:
        """What a step of "train" or "test" runs where inputs and targets are tensors that nobody feeds: the loss comes first."""
        return self._training_nodes(mode, tuple(False for _ in self._compiled.trained))[0]

    def _phase(self) -> Any:
        phase = graph_state(self._graph).phase
        return phase if isinstance(phase, Tensor) else None

    def _nodes(self, mode: str, weighted: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
        if (mode, weighted) not in self._made:
            inputs = [t for t in self._model.inputs if is_placeholder(t)]
            if mode == "predict":
                fetches: list[Any] = [*self._model.outputs, *self._model.state_updates]
                given: list[Any] = []
            else:
                fetches, given = self._training_nodes(mode, weighted)
            feeds = [*inputs, *given]
            phase = self._phase()
            if phase is not None and mode == "train" and set(fetches) & set(reachable_from([phase], fetches)):
                feeds.append(phase)
            self._made[mode, weighted] = fetches, feeds
        return self._made[mode, weighted]

    def _training_nodes(self, mode: str, weighted: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
        model = self._model
        targets, weights = self._compiled.placeholders(weighted)
        if weighted not in self._values:
            more = depending(model, model.losses, lambda loss: getattr(loss, "_unconditional_loss", True))
            self._values[weighted] = self._compiled.loss_and_results(model.outputs, targets, weights, more)
        loss, shown = self._values[weighted]
        given = [t for t, e in zip(targets, self._compiled.trained, strict=True) if not e.given_target]
        given += [w for w in weights if w is not None]
        own = {id(m) for m in (*self._compiled.metrics, *self._compiled.loss_metrics)}
        of_layers = [m._call_result for m in model.metrics if id(m) not in own and m._call_result is not None]
        fetches = [loss, *shown, *of_layers]
        if mode == "train":
            with name_scope("training"):
                fetches += model.optimizer.get_updates(loss=loss, params=model._collected_trainable_weights)
            free = {u for layer in model._flatten_layers() for u, yes in layer._unconditional_updates.items() if yes}
            fetches += depending(model, model.updates, lambda update: update in free)
        else:
            fetches += model.state_updates
        return fetches, given


def depending(model: Any, items: Sequence[Any], is_free: Callable[[Any], bool]) -> list[Any]:
    """The losses or updates of this use of the model: those that its inputs reach, and those that depend on no input."""
    reached = reachable_from(model.inputs, items)
    return [item for item in items if item in reached or is_free(item)]


class EagerSteps:
    """The steps of a model where ops run eagerly."""

    def __init__(self, model: Any, compiled: Any, run_eagerly: bool) -> None:
        self._model, self._compiled, self._run_eagerly = model, compiled, run_eagerly
        self._made: dict[Any, Step] = {}

    def get(self, mode: str, weighted: tuple[bool, ...] = ()) -> Step:
        """The step that does "train", "test" or "predict" for batches with these sample weights."""
        if (mode, weighted) not in self._made:
            self._made[mode, weighted] = self._make(mode, weighted)
        return self._made[mode, weighted]

    def _make(self, mode: str, weighted: tuple[bool, ...]) -> Step:
        inputs = len(self._model.inputs)
        targets = 0 if mode == "predict" else len(self._compiled.trained)
        body = {"train": self._train, "test": self._test, "predict": self._predict}[mode]

        def unpacked(*tensors: Any) -> list[Any]:
            given = iter(tensors[inputs + targets :])
            weights = [next(given) if has else None for has in weighted]
            return body(tensors[:inputs], tensors[inputs : inputs + targets], weights)

        functions: dict[Any, Callable[..., Any]] = {}

        def step(xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[Any]) -> list[Any]:
            tensors = [convert_to_tensor(a) for a in (*xs, *ys, *(w for w in ws if w is not None))]
            if self._run_eagerly:
                return [r.numpy() for r in unpacked(*tensors)]
            key = tuple((t.dtype, tuple(t.shape.as_list()[1:])) for t in tensors)
            if key not in functions:
                specs = [TensorSpec((None, *rest), dtype) for dtype, rest in key]
                functions[key] = Function(unpacked, f"{mode}_step", specs)
            return [r.numpy() for r in functions[key](*tensors)]

        return step

    def _outputs(self, xs: Sequence[Any], training: bool) -> list[Any]:
        model = self._model
        structure = model._nested_inputs if model._is_graph_network else model._training_structure
        inputs = nest.pack_sequence_as(structure, list(xs))
        given = {"training": training} if takes_training(self._model) else {}
        self._model._clear_losses()  # those of the call before, which may be another trace
        return nest.flatten(self._model(inputs, **given))

    def _values(self, outputs: list[Any], ys: Sequence[Any], ws: Sequence[Any]) -> tuple[Any, list[Any]]:
        loss, shown = self._compiled.loss_and_results(outputs, ys, ws, self._model.losses)
        own = {id(m) for m in (*self._compiled.metrics, *self._compiled.loss_metrics)}
        return loss, [*shown, *(m.result() for m in self._model.metrics if id(m) not in own)]

    def _train(self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[Any]) -> list[Any]:
        model = self._model
        with GradientTape() as tape:
            loss, shown = self._values(self._outputs(xs, True), ys, ws)
        variables = model.trainable_weights
        grads = tape.gradient(loss, variables)
        if not isinstance(model.optimizer, TFOptimizer):
            grads = model.optimizer._clipped(grads)
        model.optimizer.apply_gradients(list(zip(grads, variables, strict=True)))
        return [loss, *shown]

    def _test(self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[Any]) -> list[Any]:
        loss, shown = self._values(self._outputs(xs, False), ys, ws)
        return [loss, *shown]

    def _predict(self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[Any]) -> list[Any]:
        return self._outputs(xs, False)

"""How strategies make variables: copies on several devices, or one that replicas share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Tensor
from headrace.library.distribute.variable import (
    DistributedVariable,
    MirroredVariable,
    SharedVariable,
    SyncOnReadVariable,
)
from headrace.library.scope import device
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization


def marked(variable: Any, strategy: Any) -> Any:
    """The variable, known as one of the strategy."""
    variable._distribute_strategy = strategy
    return variable


def made_together(
    strategy: Any, devices: Sequence[str], next_creator: Callable[..., Any], arguments: dict[str, Any]
) -> DistributedVariable:
    """A variable with a copy on each of the devices."""
    arguments, collections, trainable = _prepared(arguments)
    synchronization = arguments["synchronization"]
    if synchronization is VariableSynchronization.NONE:
        raise ValueError(
            f"The variable {arguments.get('name')!r} is made with VariableSynchronization.NONE in the scope of a strategy that "
            f"mirrors variables: AUTO, ON_WRITE and ON_READ are accepted {at()}"
        )
    on_read = synchronization is VariableSynchronization.ON_READ
    copies: list[Any] = []
    for number, name in enumerate(devices):
        with context.get_default_graph().colocate_with(None, ignore_existing=True), device(name):
            copies.append(next_creator(**(_after_first(arguments, copies[0], number) if copies else arguments)))
    variable_class: type[DistributedVariable] = SyncOnReadVariable if on_read else MirroredVariable
    return _collected(variable_class(strategy, copies, arguments["aggregation"]), collections, trainable)


def made_shared(strategy: Any, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> DistributedVariable:
    """A variable that the replicas of this process share."""
    arguments, collections, trainable = _prepared(arguments)
    copy = next_creator(**arguments)
    return _collected(SharedVariable(strategy, [copy], arguments["aggregation"]), collections, trainable)


def _prepared(arguments: dict[str, Any]) -> tuple[dict[str, Any], list[Any], bool]:
    """The arguments for copies, which are in no collection; the collections of the whole, and whether it is trained."""
    synchronization = arguments.get("synchronization") or VariableSynchronization.AUTO
    collections = arguments.get("collections")
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    trainable = arguments.get("trainable")
    trainable = synchronization is not VariableSynchronization.ON_READ if trainable is None else trainable
    changed: dict[str, Any] = {
        "collections": [], "caching_device": None, "trainable": trainable, "synchronization": synchronization,
        "aggregation": arguments.get("aggregation") or VariableAggregation.NONE,
    }  # fmt: skip
    return arguments | changed, collections, trainable


def _after_first(arguments: dict[str, Any], first: Any, number: int) -> dict[str, Any]:
    """The arguments of a further copy, which begins as the first does."""

    def initial_value() -> Tensor:
        return raw_ops.Identity(first.value() if context.executing_eagerly() else first.initial_value)

    name = f"{first.name.split(':')[0]}/replica_{number}/"
    return arguments | {"name": name, "initial_value": initial_value, "dtype": None, "variable_def": None}


def _collected(variable: DistributedVariable, collections: list[Any], trainable: bool) -> DistributedVariable:
    """The variable, put into collections in the place of its copies."""
    if context.executing_eagerly():
        return variable
    graph = variable.primary.graph
    trained = graph.get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
    trained[:] = [other for other in trained if all(other is not copy for copy in variable.values)]
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
        collections.append(GraphKeys.TRAINABLE_VARIABLES)
    graph.add_to_collections(collections, variable)
    return variable

"""Graph: a growing set of named operations with the scopes under which new ones are made.

Owns: names, scopes (name, device, control, colocation, gradient override), collections, seeds, look-up.
Does not know: how ops are called (``build``), how they run.  Thread-safe for concurrent building of one graph, as far as
TF1 is: scopes are per thread, the node table is under a lock.
"""

from __future__ import annotations

import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.core.device import DeviceSpec
from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.source import Source, at, user_source
from headrace.graph import context
from headrace.graph.added_attr import AddedAttrs, added, checked_attr_scope, checked_kernel_labels
from headrace.graph.element_name import element_by_name
from headrace.graph.infer import infer_shapes, rule_error, shape_error
from headrace.graph.operation import Operation, Tensor
from headrace.graph.picture import graph_html, graph_svg
from headrace.graph.scope import ColocationScope, ControlScope, DeviceScope, ThreadScopes, setting
from headrace.graph.text import to_text

_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class Graph:
    """A dataflow graph.  Building wrong things raises TypeError or ValueError at the user's line.

    >>> graph = tf.Graph()
    >>> with graph.as_default():
    ...     x = tf.constant(1.0, name='x')
    >>> graph.get_tensor_by_name('x:0') is x
    True
    """

    executing_eagerly = False  # True for the context that runs ops immediately (eager/context.py)
    quick = False  # True while, besides, dtypes and attributes alone decide how an op is run
    prefix = ""  # of the names that its nodes have in plans: a function's, whose names are its own
    reads_anew = False  # whether each use of a variable is a read of its own: in functions, whose effects are in order

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._nodes: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._mutations = 0
        self._state_homes: dict[Any, dict[Operation, str]] = {}  # where sessions on servers have put what makes state
        self._collections: dict[Any, list[Any]] = {}
        self._finalized = False
        self._seed: int | None = None
        self._scopes = ThreadScopes()
        self._device_lines: dict[Operation, Source] = {}  # of nodes made in ``device`` blocks
        self._gradient_overrides: dict[str, str] = {}
        self._added_attrs: list[AddedAttrs] = []  # attributes of nodes that are made now, outermost scope first
        self._original: Operation | None = None  # what nodes that are made now stand for
        self._container = ""
        self._producer = sys.maxsize  # the lowest version of the GraphDefs that were imported
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self.building_function = False
        self.saves_generators = False  # whether random ops go on after a restore where they were
        self.adopts_ops = False  # whether an op called eagerly on tensors of this graph becomes a node of it
        self._control_flow_context: Any = None  # what a program has entered to hear of new nodes
        self._function_numbers = itertools.count()  # of functions with names of this graph
        self._traces: dict[Any, Any] = {}  # the functions called here, as bodies (library/function.py)

    # ---- making nodes

    def call(self, op_def: OpDef, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs the op immediately: only for contexts that execute eagerly."""
        raise NotImplementedError("a graph does not run ops when they are called")

    def constant(self, value: Any, dtype: DType | None) -> Tensor:
        """Makes a constant immediately: only for contexts that execute eagerly."""
        raise NotImplementedError("a graph has constants only as nodes")

    def wrong_dtype(self, message: str) -> Exception:
        """What to raise for a tensor of a dtype that an op does not take."""
        return TypeError(message)

    def create_op(
        self, op_type: str | OpDef, inputs: Sequence[Tensor], dtypes: Sequence[DType] | None = None,
        input_types: Any = None, name: str | None = None, attrs: dict[str, Any] | None = None, op_def: Any = None,
        compute_shapes: bool = True, compute_device: bool = True,
    ) -> Operation:  # fmt: skip
        """Adds one node.  ``dtypes`` are the output dtypes; ``attrs`` are complete and already checked."""
        definition = REGISTRY.get(op_type) if isinstance(op_type, str) else op_type
        self._check_not_finalized()
        inputs = [self._own(t, definition.name) for t in inputs]
        attrs = {} if attrs is None else attrs
        if self._container and attrs.get("container") == "":
            attrs = {**attrs, "container": self._container}
        if self._gradient_overrides and "_gradient_op_type" not in attrs:
            override = self._gradient_overrides.get(definition.name)
            if override is not None:
                attrs = {**attrs, "_gradient_op_type": override}
        if self._added_attrs:
            attrs = {**attrs, **added(self._added_attrs, definition.name)}
        output_dtypes = list(dtypes or ())
        try:
            shapes = infer_shapes(definition, inputs, attrs, len(output_dtypes))
        except Exception as e:
            if (problem := rule_error(definition, e)) is None:
                raise
            raise ValueError(shape_error(definition, name, inputs, attrs, problem, user_source(2))) from None
        scopes = self._scopes
        with self._lock:
            full_name = self._node_name(name or definition.name.lstrip("_"))
            controls = self._current_controls(inputs)
            node = Operation(self, len(self._nodes), full_name, definition, inputs, attrs, controls, user_source(2))
            node._outputs = tuple(
                Tensor(node, i, dtype, shape)
                for i, (dtype, shape) in enumerate(zip(output_dtypes, shapes, strict=True))
            )
            node.original_op = self._original
            self._nodes.append(node)
            self._by_name[full_name] = node
            for t in inputs:
                if not t._consumers or t._consumers[-1] is not node:
                    t._consumers.append(node)
        if definition.traits.saves_generators and not self.saves_generators:
            self.saves_generators = True
            self._mutated()  # plans that were made before may let a compiler draw
        for scope in scopes.control:
            scope.note(node)
        if scopes.devices:
            self._apply_device(node)
        if scopes.colocation:
            self._apply_colocation(node)
        if self._control_flow_context is not None:
            self._control_flow_context.AddOp(node)
        return node

    def _own(self, tensor: Tensor, op_type: str) -> Tensor:
        """The tensor as an input of a node of this graph.  A function's graph captures foreign tensors here."""
        if not isinstance(tensor, Tensor):
            raise TypeError(f"input of {op_type} must be a Tensor, got {tensor!r}")
        if tensor.op.graph is not self:
            if tensor.op.graph.executing_eagerly:
                raise RuntimeError(
                    f"Attempting to capture an EagerTensor without building a function: {tensor!r}, used by the {op_type} "
                    f"(at {user_source(3)}). Give the graph its value: tf.constant(tensor.numpy())."
                )
            raise ValueError(_foreign(tensor, op_type))
        return tensor

    def _node_name(self, name: str) -> str:
        if name.endswith("/"):  # the caller gives a name already made unique by a scope
            full = self.checked_name(name)[:-1]
            if full in self._by_name:
                self._names_in_use.setdefault(full.lower(), 1)  # a name given with "/" may never have been asked for
                full = self._unique(full)
            return full
        return self.unique_name(self.checked_name(name))

    def checked_name(self, name: str) -> str:
        """The name a node is to be given in the current scope (or, ending in "/", as it is); ValueError if not valid."""
        whole = name.endswith("/")
        pattern = _SCOPE_NAME if self._scopes.name and not whole else _OP_NAME
        if not pattern.match(name[:-1] if whole else name):
            raise ValueError(f"'{name}' is not a valid node name: it must match {pattern.pattern} {at()}")
        return name

    def _mutated(self) -> None:
        self._mutations += 1

    @property
    def version(self) -> int:
        """Grows whenever a node is added."""
        return len(self._nodes)

    # ---- names

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """``name`` under the current scope, with ``_1``, ``_2``... appended if taken (case-insensitively)."""
        prefix = self._scopes.name
        return self._unique(f"{prefix}/{name}" if prefix else name, mark_as_used)

    def _unique(self, name: str, mark_as_used: bool = True) -> str:
        with self._lock:
            used = self._names_in_use
            key = name.lower()
            count = used.get(key, 0)
            if mark_as_used:
                used[key] = count + 1
            if count > 0:
                base = key
                candidate = key
                while candidate in used:
                    candidate = f"{base}_{count}"
                    count += 1
                if mark_as_used:
                    used[candidate] = 1
                name = f"{name}_{count - 1}"
            return name

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes names made inside; ``name`` ending in "/" re-enters that very scope; None or "" leaves all scopes."""
        if name:
            if not isinstance(name, str):
                raise TypeError(f"name_scope takes a string, got {name!r}")
            pattern = _SCOPE_NAME if self._scopes.name or name.endswith("/") else _OP_NAME
            if not pattern.match(name):
                raise ValueError(f"'{name}' is not a valid scope name: it must match {pattern.pattern}")
        old = self._scopes.name
        if not name:
            new = ""
        elif name.endswith("/"):
            new = name[:-1]
        else:
            new = self.unique_name(name)
        self._scopes.name = new
        try:
            yield f"{new}/" if new else ""
        finally:
            self._scopes.name = old

    def get_name_scope(self) -> str:
        """The name of the scope that is open now, without a "/" at the end; "" for the root."""
        return self._scopes.name

    # ---- control dependencies

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Nodes made inside run after the given ones; ``None`` clears the outer dependencies."""
        scopes = self._scopes
        old = scopes.control
        if control_inputs is None:
            scopes.control = []
        else:
            ops = []
            for item in _sequence(control_inputs):
                try:
                    element = self.as_graph_element(_component(item))
                except TypeError as e:
                    raise TypeError(f"{e} {at()}") from None
                ops.append(element.op if isinstance(element, Tensor) else element)
            scopes.control = [*old, ControlScope(ops)]
        try:
            yield
        finally:
            scopes.control = old

    def _current_controls(self, inputs: Sequence[Tensor]) -> list[Operation]:
        control = self._scopes.control
        if not control:
            return []
        ops: list[Operation] = []
        producers = {t.op for t in inputs}
        for scope in control:
            if any(scope.knows(p) for p in producers):
                continue
            ops.extend(op for op in scope.ops if op not in producers and op not in ops)
        return ops

    def _control_dependencies_for_inputs(self, inputs: Sequence[Tensor]) -> list[Operation]:
        return self._current_controls(inputs)

    # ---- devices and colocation

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Nodes made inside go to the device; partial names merge with outer scopes; ``None`` clears them."""
        with setting(self._scopes, "devices", [*self._scopes.devices, DeviceScope(device_name_or_function)]):
            yield

    def devices_of(self, inner: Graph) -> Any:
        """For what is made here instead of in a body: the ``device`` blocks that are open in the body hold, if there are any."""
        return setting(self._scopes, "devices", inner._scopes.devices or self._scopes.devices)

    def device_line(self, node: Operation) -> Source | None:
        """The line of the innermost ``device`` block that gave the node its device; None if there was none."""
        return self._device_lines.get(node) if node._device else None

    def _apply_device(self, node: Operation) -> None:
        for scope in reversed(self._scopes.devices):
            if scope.spec is None and scope.function is None:
                break
            self._device_lines.setdefault(node, scope.source)
            if scope.function is not None:
                chosen = scope.function(node)
                device = chosen.to_string() if isinstance(chosen, DeviceSpec) else chosen
                node._device = DeviceSpec.from_string(device or "").to_string()
            elif scope.spec is not None:
                node._device = scope.merged(node._device)

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Nodes made inside are placed with ``op``; ``None`` with ``ignore_existing`` clears outer colocations."""
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        target: Operation | None = None
        if op is not None:
            handle = getattr(op, "handle", None)  # of a resource variable, for which a read of it stands elsewhere
            op = handle if isinstance(handle, Tensor) else op
            element = op if isinstance(op, (Operation, Tensor)) else self.as_graph_element(op)
            target = element if isinstance(element, Operation) else element.op
        scopes = self._scopes
        old_devices, old_colocation = scopes.devices, scopes.colocation
        scopes.devices = []
        scopes.colocation = [] if ignore_existing else scopes.colocation
        if target is not None:
            scopes.colocation = [*scopes.colocation, ColocationScope(target)]
        try:
            yield
        finally:
            scopes.devices, scopes.colocation = old_devices, old_colocation

    @contextmanager
    def colocate_with_name(self, name: str) -> Iterator[None]:
        """Nodes made inside are placed with the node that will be called ``name``, itself included."""
        outer = self._scopes.colocation  # which wins, as in TF1
        with setting(self._scopes, "colocation", outer or [ColocationScope(name)]):
            yield

    def _apply_colocation(self, node: Operation) -> None:
        groups: list[str] = []
        for scope in self._scopes.colocation:
            groups.extend(scope.groups())
            if scope.device:
                node._device = scope.device
        node.colocation = tuple(sorted(set(groups)))

    # ---- other scopes

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Ops of these types made inside use the gradients registered under the given names."""
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for key, value in op_type_map.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError(f"gradient_override_map maps strings to strings, got {key!r}: {value!r}")
        with setting(self, "_gradient_overrides", {**self._gradient_overrides, **op_type_map}):
            yield

    def _attr_scope(self, attr_map: dict[str, Any]) -> Any:
        """Nodes made inside have these attributes: AttrValues, or functions of a NodeDef; None takes one away again."""
        return self._adding(checked_attr_scope(attr_map))

    def _kernel_label_map(self, op_to_kernel_label_map: dict[str, str]) -> Any:
        """Nodes of these types made inside have the attribute ``_kernel``, which chooses nothing: an op has one kernel."""
        return self._adding(checked_kernel_labels(op_to_kernel_label_map))

    def _adding(self, attrs: AddedAttrs) -> Any:
        return setting(self, "_added_attrs", [*self._added_attrs, attrs])

    def _get_control_flow_context(self) -> Any:
        """The context that a program has entered (``ControlFlowContext.Enter``); None for none."""
        return self._control_flow_context

    def _set_control_flow_context(self, ctx: Any) -> None:
        self._control_flow_context = ctx

    def _original_op(self, op: Operation) -> Any:
        """Nodes made inside stand for ``op``; errors name it too."""
        return setting(self, "_original", op)

    @contextmanager
    def container(self, container_name: str | None) -> Iterator[str | None]:
        """Stateful ops made inside keep their state in the named container; "" or None is the default one.

        Graphs whose sessions run on one server share what has the same name in the same container;
        ``Session.reset(target, [name])`` empties one.
        """
        with setting(self, "_container", container_name or ""):
            yield container_name

    def as_default(self) -> Any:
        """Makes this the default graph of the thread inside a ``with`` block."""
        return context.default_graph_scope(self)

    # ---- collections

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Adds a value to a collection."""
        self._check_not_finalized()
        with self._lock:
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Adds a value to several collections, or to one."""
        names = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The live list behind a collection; changing it changes the collection."""
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the collection; with ``scope``, only items whose name matches that regular expression."""
        with self._lock:
            items = list(self._collections.get(name, ()))
        if scope is None:
            return items
        pattern = re.compile(scope)
        return [x for x in items if hasattr(x, "name") and pattern.match(x.name)]

    def get_all_collection_keys(self) -> list[Any]:
        """The keys of all collections that are strings."""
        with self._lock:
            return [k for k in self._collections if isinstance(k, str)]

    @property
    def collections(self) -> list[Any]:
        """The keys of all collections that are strings."""
        return self.get_all_collection_keys()

    def clear_collection(self, name: Any) -> None:
        """Removes a collection with all its values."""
        self._check_not_finalized()
        with self._lock:
            self._collections.pop(name, None)

    # ---- look-up

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The Tensor or Operation that ``obj`` (an object or a name) stands for in this graph."""
        accepted = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        convert = getattr(obj, "_as_graph_element", None)
        element = convert() if convert else obj
        if isinstance(element, (str, bytes)):
            name = element.decode() if isinstance(element, bytes) else element
            return element_by_name(self._by_name, name, allow_tensor, allow_operation)
        if isinstance(element, Tensor) and allow_tensor:
            if element.graph is not self:
                raise ValueError(
                    f"Tensor {element} is not an element of this graph: it was made in {_home(element.op)} at "
                    f"{element.op.source}."
                )
            return element
        if isinstance(element, Operation) and allow_operation:
            if element.graph is not self:
                raise ValueError(
                    f"Operation {element.name} is not an element of this graph: it was made in {_home(element)} at "
                    f"{element.source}."
                )
            return element
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {accepted}. (got {obj!r})")

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of this name; KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        op: Operation = self.as_graph_element(name, allow_tensor=False)
        return op

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of this name, such as "x:0"; KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        tensor: Tensor = self.as_graph_element(name, allow_operation=False)
        return tensor

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were made."""
        return list(self._nodes)

    # ---- feeding, fetching, seeds, end of building

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Marks a tensor as one that may not be fed."""
        self._unfeedable.add(tensor)
        self._mutations += 1  # what sessions keep for feeds of it is not valid any more

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether the tensor may be fed."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Marks an operation as one that may not be fetched."""
        self._unfetchable.add(op)
        self._mutations += 1

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Whether the tensor or operation may be fetched."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    @property
    def seed(self) -> int | None:
        """The seed of random ops that have none of their own; None for random seeds."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def _last_id(self) -> int:
        return len(self._nodes)

    def finalize(self) -> None:
        """Forbids further additions, so that a training loop cannot grow the graph by mistake."""
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """Whether nothing more can be added."""
        return self._finalized

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError(f"Graph is finalized and cannot be modified. (at {user_source(2)})")

    def switch_to_thread_local(self) -> None:
        """TF1 compatibility: scopes are always per thread here."""

    # ---- text and messages

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """The graph as a GraphDef, with its functions; only nodes made after ``from_version``, if given."""
        ops = [op for op in self.get_operations() if from_version is None or op._id >= from_version]
        return _writers[0](ops, add_shapes, self._producer)

    @property
    def graph_def_versions(self) -> Any:
        """The version of the GraphDef format that `as_graph_def` writes, as a VersionDef."""
        return _writers[1](self.get_operations(), self._producer)

    def _node_def(self, op: Operation) -> Any:
        """One node as a NodeDef."""
        return next(node for node in _writers[0]([op]).node if node.name == op.name)

    def to_text(self) -> str:
        """One line a node; see graph/text.py."""
        return to_text(self._nodes)

    _repr_html_, _repr_svg_ = graph_html, graph_svg

    def __repr__(self) -> str:
        return f"<tf.{type(self).__name__} of {len(self._nodes)} nodes>"

    def __str__(self) -> str:
        return f"Graph with {len(self._nodes)} operations\n{self.to_text()}"


_writers: list[Callable[..., Any]] = []


def set_writers(*writers: Callable[..., Any]) -> None:
    """Called once by the module that writes GraphDefs, with what writes one and what gives its versions."""
    _writers[:] = writers


def _sequence(control_inputs: Any) -> Iterable[Any]:
    if isinstance(control_inputs, (Operation, Tensor, str)) or not hasattr(control_inputs, "__iter__"):
        raise TypeError(
            f"control_dependencies takes a list of operations and tensors, or None; got {control_inputs!r} {at()}"
        )
    return control_inputs  # type: ignore[no-any-return]


def _component(item: Any) -> Any:
    """A tensor that must be computed for ``item`` (an IndexedSlices counts by its values)."""
    return item.values if hasattr(item, "values") and hasattr(item, "indices") else item


def _home(op: Operation) -> str:
    graph: Any = op.graph
    if graph.building_function:
        return f"{graph.description} (made at {graph.source}), so that it has no value outside,"
    return "another graph"


def _foreign(tensor: Tensor, op_type: str) -> str:
    """Why a node here cannot use the tensor."""
    graph: Any = tensor.op.graph
    if graph.building_function:
        return (
            f"Tensor {tensor.name!r} (made at {tensor.op.source}) belongs to {graph.description} (made at {graph.source}) and "
            f"cannot be used by the {op_type} outside it (at {user_source(3)}). Return it from there and use the result."
        )
    return (
        f"Tensor {tensor.name!r} (made at {tensor.op.source}) must be from the same graph as the {op_type} "
        f"that uses it (at {user_source(3)}): it belongs to another tf.Graph. Build both under one "
        "`with graph.as_default():`, or create the tensor again after tf.reset_default_graph()."
    )


context.set_graph_factory(Graph)

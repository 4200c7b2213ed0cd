"""``function``: a Python function of tensors that becomes a graph, once for each signature of its arguments.

    @tf.function
    def step(x):
        return tf.reduce_sum(tf.matmul(x, w) ** 2)

Calling it makes one node in a graph, and runs immediately where ops run eagerly.  How the body is made is in ``trace``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import variant
from headrace.core.source import at, user_source
from headrace.core.tensor_spec import TensorSpec
from headrace.eager.tensor import EagerHandle, EagerTensor
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph
from headrace.graph.convert import convert_to_tensor
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.library import log, nest
from headrace.library.control.body import pack_tensors
from headrace.library.control.tensor_array import TensorArray
from headrace.library.function.trace import Spec, Trace, captured, hoist, lock, recursive_call, trace
from headrace.library.state.variable import Variable
from headrace.runtime.host.defaults import settings

_MANY = 5  # traces for one graph before a warning; then whenever the number has doubled


class _Arguments:
    """The arguments of one call: tensors, and all that decides which trace they need."""

    def __init__(self, structure: Any, leaves: list[Any], positions: list[int], specs: list[Spec], key: Any) -> None:
        self.structure = structure
        self.leaves = leaves
        self.positions = positions  # of the tensors among the leaves
        self.specs = specs
        self.key = key  # all but the shapes

    @property
    def tensors(self) -> list[Any]:
        return [self.leaves[i] for i in self.positions]

    @property
    def whole_key(self) -> Any:
        return self.key, tuple(s.shape.tuple for s in self.specs)

    def with_tensors(self, tensors: Sequence[Tensor]) -> tuple[Sequence[Any], dict[str, Any]]:
        leaves = list(self.leaves)
        for i, tensor in zip(self.positions, tensors, strict=True):
            leaves[i] = tensor
        args, kwargs = pack_tensors(self.structure, leaves)
        return args, kwargs


def _spec_of(leaf: Any) -> Spec | None:
    """What the leaf is passed as, if it is a tensor."""
    if isinstance(leaf, EagerHandle):
        return None
    if isinstance(leaf, (Tensor, TensorSpec)):
        return Spec(
            leaf.dtype.base_dtype, leaf.shape, (getattr(leaf, "name", None) or "arg").split(":")[0].split("/")[-1]
        )
    if isinstance(leaf, TensorArray):
        return Spec(leaf.flow.dtype.base_dtype, leaf.flow.shape, "array")
    return None


def _quick_key(args: Sequence[Any]) -> Any:
    """What decides the trace, if all arguments are eager tensors; else None."""
    key = []
    for arg in args:
        if type(arg) is not EagerTensor:
            return None
        key.append((arg._dtype_enum, arg._value.shape))
    return tuple(key)


def _value_key(leaf: Any) -> Any:
    """A Python value as part of a key: equal values of one type are the same."""
    if isinstance(leaf, (Variable, EagerHandle)):
        return "variable", id(leaf)
    try:
        hash(leaf)
    except TypeError:
        return type(leaf), id(leaf)
    return type(leaf), leaf


class Function:
    """A callable made by ``function``.  Thread-safe; traces are shared by all threads."""

    def __init__(
        self, python_function: Callable[..., Any], name: str, input_signature: Any = None, relax_shapes: bool = False,
    ) -> None:  # fmt: skip
        self._python_function = python_function
        self._name = name
        self._signature = inspect.signature(python_function)
        self._parameters = list(self._signature.parameters.values())
        self._relax_shapes = relax_shapes
        self._input_signature: Any = None if input_signature is None else self._checked_signature(input_signature)
        self._traces: dict[Any, Any] = {}  # for calls that run eagerly; a graph keeps its own
        self._quick: dict[Any, Trace] = {}  # traces whose arguments are tensors only, by dtypes and shapes
        plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in self._parameters)
        self._arity = len(self._parameters) if plain else -1
        self._count = 0
        self._held: list[Any] = []  # what keys tell apart by identity
        functools.update_wrapper(self, python_function)

    # ---- what it is

    @property
    def python_function(self) -> Callable[..., Any]:
        return self._python_function

    @property
    def input_signature(self) -> Any:
        return self._input_signature

    @property
    def trace_count(self) -> int:
        """How many times the Python function was made a graph."""
        return self._count

    def experimental_get_tracing_count(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<tf.function {self._name}, traced {self._count} times>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A method: each object has its own traces."""
        if instance is None:
            return self
        key = f"_function_{self._name}_{id(self):x}"
        method = getattr(instance, "__dict__", {}).get(key)
        if method is None:
            bound = self._python_function.__get__(instance, owner)
            method = Function(bound, self._name, self._input_signature, self._relax_shapes)
            instance.__dict__[key] = method
        return method

    # ---- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if settings().functions_eagerly:
            return self._python_function(*args, **kwargs)
        graph = context.get_default_graph()
        quick = None
        if graph.executing_eagerly and not kwargs and len(args) == self._arity:
            quick = _quick_key(args)
            traced = self._quick.get(quick)
            if traced is not None:
                return traced.call(args)
        arguments = self._arguments(args, kwargs)
        tensors = arguments.tensors
        if graph.building_function:
            tracing = recursive_call(self, arguments.key, tensors)
            if tracing is not None:
                return tracing.call(tensors, "")
        traced = self._find(graph, arguments)
        if quick is not None and self._input_signature is None:
            self._quick[quick] = traced
        return traced.call(tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments; ``tf.TensorSpec`` may stand for tensors."""
        if self._input_signature is not None and not args and not kwargs:
            args = tuple(self._input_signature)
        arguments = self._arguments(args, kwargs)
        return ConcreteFunction(self._find(context.get_default_graph(), arguments), arguments, self._name)

    def _arguments(self, args: Sequence[Any], kwargs: dict[str, Any]) -> _Arguments:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"{self._name}(): {e} {at()}") from None
        bound.apply_defaults()
        structure = (bound.args, bound.kwargs)
        if self._input_signature is not None:
            structure = (self._conform(bound.args, bound.kwargs), {})
        leaves = nest.flatten(structure, expand_composites=True)
        positions, specs, tokens = [], [], []  # type: tuple[list[int], list[Any], list[Any]]
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, (np.ndarray, np.generic)):
                leaf = leaves[i] = convert_to_tensor(leaf)
            if isinstance(leaf, Tensor) and leaf.dtype._is_ref_dtype and leaf.dtype._is_resource:
                tokens.append(leaf)  # the handle of a variable, which the body uses as it is
                continue
            spec = _spec_of(leaf)
            if spec is None:
                tokens.append(_value_key(leaf))
                continue
            if isinstance(leaf, TensorArray):
                leaves[i] = leaf.flow
            elif isinstance(leaf, Tensor) and leaf.dtype._is_ref_dtype:
                leaves[i] = raw_ops.Identity(leaf)
            positions.append(i)
            specs.append(spec)
            tokens.append(spec.dtype)
        if self._input_signature is not None:
            declared = nest.flatten(self._input_signature)
            specs = [Spec(s.dtype, s.shape, s.name or "arg") for s in declared]
        flat = len(leaves) == len(bound.args) and not bound.kwargs and variant not in tokens
        skeleton = (
            len(leaves) if flat else repr(nest.map_structure(lambda leaf: getattr(leaf, "element_spec", 0), structure))
        )
        return _Arguments(structure, leaves, positions, specs, (skeleton, tuple(tokens)))

    # ---- input_signature

    def _checked_signature(self, signature: Any) -> Any:
        if not isinstance(signature, (list, tuple)):
            raise TypeError(
                f"input_signature must be either a tuple or a list, received {type(signature).__name__}: {signature!r} {at()}"
            )
        for spec in nest.flatten(signature):
            if not isinstance(spec, TensorSpec):
                raise TypeError(f"input_signature takes tf.TensorSpec objects (nested), got {spec!r} {at()}")
        taken = [p for p in self._parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in self._parameters)
        if len(signature) > len(taken) and not variadic:
            raise TypeError(
                f"{self._name} takes {len(taken)} arguments ({', '.join(p.name for p in taken)}), its input_signature has "
                f"{len(signature)} {at()}"
            )
        return tuple(signature)

    def _conform(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The arguments as tensors of the signature; arguments beyond it must be defaults."""
        signature = self._input_signature
        if kwargs:
            raise ValueError(f"{self._name} has an input_signature: it takes no keyword-only arguments {at()}")
        inputs, beyond = args[: len(signature)], args[len(signature) :]
        defaults = [p.default for p in self._parameters[len(signature) : len(args)]]
        if any(a is not d for a, d in zip(beyond, defaults, strict=False)) or len(beyond) > len(defaults):
            raise TypeError(
                f"{self._name} takes {len(signature)} arguments as specified by its input_signature, got {len(args)} {at()}"
            )
        try:
            leaves = _leaves_like(inputs, signature)
        except ValueError:
            raise self._incompatible(inputs) from None
        tensors = []
        for spec, leaf in zip(nest.flatten(signature), leaves, strict=True):
            if isinstance(leaf, TensorSpec):
                tensor: Any = leaf
            else:
                try:
                    tensor = convert_to_tensor(leaf, None if isinstance(leaf, Tensor) else spec.dtype)
                except (TypeError, ValueError) as e:
                    raise ValueError(f"{self._incompatible(inputs)} ({e})") from None
            if tensor.dtype.base_dtype != spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
                raise self._incompatible(inputs)
            tensors.append(tensor)
        return (*nest.pack_sequence_as(list(signature), tensors), *beyond)

    def _incompatible(self, inputs: Sequence[Any]) -> ValueError:
        return ValueError(
            f"Python inputs incompatible with input_signature of {self._name}:\n  inputs: {tuple(inputs)}\n"
            f"  input_signature: {self._input_signature} {at()}"
        )

    # ---- traces

    def _store(self, graph: Graph) -> dict[Any, Trace]:
        return self._traces if graph.executing_eagerly else graph._traces.setdefault(self, {})

    def _find(self, graph: Graph, arguments: _Arguments) -> Trace:
        traced = self._lookup(graph, arguments)
        if traced is None:
            with lock:
                traced = self._lookup(graph, arguments) or self._make(graph, arguments)
        return traced

    def _lookup(self, graph: Graph, arguments: _Arguments) -> Trace | None:
        """The trace, made here or in a graph around this one."""
        key = arguments.whole_key
        while True:
            traced = self._store(graph).get(key)
            if traced is None and self._relax_shapes:
                relaxed = self._store(graph).get((arguments.key, "relaxed"))
                if relaxed is not None and all(
                    s.accepts(t) for s, t in zip(relaxed.specs, arguments.tensors, strict=True)
                ):
                    traced = relaxed
            if traced is not None or not isinstance(graph, FuncGraph):
                return traced
            graph = graph.outer_graph

    def _make(self, graph: Graph, arguments: _Arguments) -> Trace:
        specs = arguments.specs
        last: Any = self._store(graph).get("last")
        relax = False
        if self._relax_shapes and last is not None and last.key == arguments.key:
            specs = [s.joined(old.shape) for s, old in zip(specs, last.specs, strict=True)]
            relax = True
        traced = trace(
            self, self._python_function, self._name, arguments.key, specs, arguments.with_tensors, may_create=last is None,
            singletons=True,
        )  # fmt: skip
        hoist(traced)
        store = self._store(traced.body.outer_graph)
        store[(arguments.key, "relaxed") if relax else arguments.whole_key] = traced
        store["last"] = arguments  # type: ignore[assignment]
        self._held.extend(leaf for i, leaf in enumerate(arguments.leaves) if i not in arguments.positions)
        self._count += 2 if traced.created else 1
        self._report(len(store) - 1, last, arguments)
        return traced

    def _report(self, count: int, last: _Arguments | None, arguments: _Arguments) -> None:
        if count < _MANY or last is None or count % _MANY or (count // _MANY) & (count // _MANY - 1):
            return
        defined = inspect.unwrap(self._python_function).__code__ if inspect.isfunction(self._python_function) else None
        where = f" (defined at {defined.co_filename}:{defined.co_firstlineno})" if defined else ""
        log.warning(
            "%s%s has been traced %d times, which costs time and memory. The last call, at %s, needed a new trace: %s. Pass "
            "tensors instead of Python values that change, or fix the shapes with input_signature or "
            "experimental_relax_shapes=True.",
            self._name, where, count, user_source(2), _difference(last, arguments),
        )  # fmt: skip


def _leaves_like(value: Any, like: Any) -> list[Any]:
    """The parts of ``value`` that stand where ``like`` has leaves; ValueError if it is nested differently."""
    if not nest.is_sequence(like):
        return [value]
    if isinstance(like, dict):
        if not isinstance(value, dict) or set(value) != set(like):
            raise ValueError("other keys")
        return [leaf for key in sorted(like) for leaf in _leaves_like(value[key], like[key])]
    if not isinstance(value, (list, tuple)) or len(value) != len(like):
        raise ValueError("another number of items")
    return [leaf for g, spec in zip(value, like, strict=True) for leaf in _leaves_like(g, spec)]


def _difference(last: _Arguments, arguments: _Arguments) -> str:
    """How the arguments differ from those of the previous trace."""
    if last.key[0] != arguments.key[0]:
        return "its arguments are nested differently than before"
    for i, (old, new) in enumerate(zip(last.key[1], arguments.key[1], strict=False)):
        if old != new:
            return f"argument {i} is {_shown(new)}, before it was {_shown(old)}"
    for spec, old_spec in zip(arguments.specs, last.specs, strict=False):
        if spec.shape.tuple != old_spec.shape.tuple:
            return f"a tensor of shape {spec.shape} is passed, before it was {old_spec.shape}"
    return "it is called in another graph or body"


def _shown(token: Any) -> str:
    return f"{token[1]!r}" if isinstance(token, tuple) else f"a tensor of {token.name}"


class ConcreteFunction:
    """One trace of a function: a graph for arguments of fixed dtypes and shapes."""

    def __init__(self, traced: Trace, arguments: _Arguments, name: str) -> None:
        self._trace = traced
        self._arguments = arguments
        self._name = name

    @property
    def graph(self) -> FuncGraph:
        return self._trace.body

    @property
    def name(self) -> str:
        return self._trace.body.name

    @property
    def inputs(self) -> list[Tensor]:
        return self._trace.body.inputs

    @property
    def outputs(self) -> list[Tensor]:
        return self._trace.body.outputs[: self._trace.visible]

    @property
    def captured_inputs(self) -> list[Tensor]:
        return captured(self._trace.body)

    @property
    def structured_outputs(self) -> Any:
        tensors = iter(self.outputs)
        return pack_tensors(
            self._trace.structure, [next(tensors) if is_tensor else None for is_tensor in self._trace.are_tensors]
        )

    @property
    def structured_input_signature(self) -> Any:
        specs = iter(TensorSpec(s.shape, s.dtype, s.name) for s in self._trace.specs)
        leaves = list(self._arguments.leaves)
        for i in self._arguments.positions:
            leaves[i] = next(specs)
        return nest.pack_sequence_as(self._arguments.structure, leaves, expand_composites=True)

    def __call__(self, *tensors: Any) -> Any:
        """Takes the tensors among the function's arguments, in their order."""
        specs = self._trace.specs
        if len(tensors) != len(specs):
            raise TypeError(f"{self._name} takes {len(specs)} tensors here, got {len(tensors)} {at()}")
        inputs = [convert_to_tensor(t, s.dtype) for t, s in zip(tensors, specs, strict=True)]
        for tensor, spec in zip(inputs, specs, strict=True):
            if not spec.shape.is_compatible_with(tensor.shape):
                raise ValueError(f"{self._name} takes a tensor of shape {spec.shape} here, got {tensor.shape} {at()}")
        return self._trace.call(inputs)

    def __repr__(self) -> str:
        return f"<tf.ConcreteFunction {self.name}, {len(self.graph._nodes)} nodes>"


def function(
    func: Any = None, input_signature: Any = None, autograph: bool = True, experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False, experimental_compile: bool | None = None,
) -> Any:  # fmt: skip
    """Makes a Python function of tensors a graph: ``@tf.function``.

    It is traced once for each signature: dtypes, shapes and nesting of tensors, values of anything else.  Python code
    runs while tracing only; a choice or a loop that depends on a tensor is ``tf.cond`` or ``tf.while_loop`` (``autograph`` is
    accepted and changes nothing).  Side effects happen in the order they are written.  Variables are made on the first call.
    ``input_signature`` fixes the arguments, a list of ``tf.TensorSpec``; ``experimental_relax_shapes`` gives up dimensions
    that vary.  ``experimental_compile`` is accepted: hot steps are compiled anyway.

    Args:
      func: The function; None for a decorator with arguments, ``@tf.function(input_signature=...)``.
      input_signature: A list of `tf.TensorSpec`, one for each argument; None to trace once for each signature.
      autograph: Accepted as TensorFlow does; Python's own control flow is not converted.
      experimental_autograph_options: Accepted as TensorFlow does; it changes nothing.
      experimental_relax_shapes: Whether dimensions that vary between calls become unknown, for fewer traces.
      experimental_compile: Accepted as TensorFlow does; it changes nothing.

    Returns:
      A function with the arguments of `func`, or a decorator.

    >>> @tf.function
    ... def power(x, n):
    ...     return tf.cond(n > 0, lambda: x * power(x, n - 1), lambda: tf.ones_like(x))
    >>> y = power(tf.constant(2.0), tf.constant(10))
    >>> tf.Session().run(y)
    np.float32(1024.0)
    """

    def decorate(f: Any) -> Function:
        if not callable(f):
            raise TypeError(f"function takes a callable, got {f!r} {at()}")
        name = getattr(f, "__name__", None) or type(f).__name__
        name = "lambda" if name == "<lambda>" else name
        return Function(f, name, input_signature, bool(experimental_relax_shapes))

    return decorate if func is None else decorate(func)


def defun(
    func: Any = None, input_signature: Any = None, autograph: bool = True, experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:  # fmt: skip
    """``tf.contrib.eager.defun``: an older name of ``function``.

    Args:
      func: The function; None for a decorator with arguments.
      input_signature: A list of `tf.TensorSpec`, one for each argument; None to trace once for each signature.
      autograph: Accepted as TensorFlow does; Python's own control flow is not converted.
      experimental_autograph_options: Accepted as TensorFlow does; it changes nothing.
      experimental_relax_shapes: Whether dimensions that vary between calls become unknown, for fewer traces.

    Returns:
      A function with the arguments of `func`, or a decorator.

    >>> add = tf.contrib.eager.defun(lambda x, y: x + y)
    >>> print(tf.Session().run(add(1.0, 2.0)))
    3.0
    """
    return function(func, input_signature, autograph, experimental_autograph_options, experimental_relax_shapes)


def experimental_run_functions_eagerly(run_eagerly: bool) -> None:
    """Sets whether calls of what `tf.function` has made call the Python function itself, so that one can step through it.

    Args:
      run_eagerly: True or False.

    >>> @tf.function
    ... def twice(x):
    ...     print("called")
    ...     return 2 * x
    >>> tf.config.experimental_run_functions_eagerly(True)
    >>> with tf.eager_mode():
    ...     results = [twice(tf.constant(1)), twice(tf.constant(2))]
    called
    called
    >>> tf.config.experimental_run_functions_eagerly(False)
    """
    if run_eagerly not in (True, False):
        raise ValueError(
            f"experimental_run_functions_eagerly: run_eagerly must be True or False, got {run_eagerly!r} {at()}"
        )
    settings().functions_eagerly = bool(run_eagerly)

"""``Defun``: TF1's functions with declared types, ``@function.Defun(tf.float32, tf.float32)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from headrace.autodiff.function import CUSTOM
from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import context
from headrace.graph.body import FuncGraph
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.function.equal_body import equal_bodies
from headrace.library.function.trace import Spec, Trace, captured, hoist, lock, recursive_call, trace


class Defun:
    """Decorates a function of tensors of the given types; calling the result makes one node.

    ``func_name`` names it, ``python_grad_func(op, *grads)`` or ``grad_func`` (another Defun, of the arguments and the
    gradients of the results) is its gradient instead of the derivative, ``shape_func(op)`` gives the shapes of the results.
    Without types, they are those of the arguments of each call.

    Args:
      *input_types: The type of each argument; none to take those of each call.
      **kwargs: ``func_name``, ``grad_func``, ``python_grad_func``, ``shape_func`` and ``out_names``.  ``capture_by_value``
        and ``noinline`` are accepted and change nothing.

    >>> @tf.Defun(tf.float32, tf.float32)
    ... def product(x, y):
    ...     return x * y
    >>> tf.Session().run(product(3.0, 4.0))
    np.float32(12.0)
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._input_types = [dtypes.as_dtype(t) for t in input_types]
        self._options = {
            key: kwargs.pop(key, None)
            for key in ("func_name", "grad_func", "python_grad_func", "shape_func", "out_names")
        }
        kwargs.pop("capture_by_value", None)
        kwargs.pop("noinline", None)
        if kwargs:
            accepted = ", ".join([*self._options, "capture_by_value", "noinline"])
            raise TypeError(f"Defun has no argument {sorted(kwargs)[0]!r}; it has {accepted} {at()}")

    def __call__(self, func: Callable[..., Any]) -> DefinedFunction:
        if not callable(func):
            raise ValueError(f"function {func!r} must be callable {at()}")
        names = _argument_names(func)
        if self._input_types and names is not None:
            if len(names) < len(self._input_types):
                raise ValueError(f"The function has fewer arguments than the number of specified input types. {at()}")
            if len(names) > len(self._input_types):
                raise ValueError(f"The function has more arguments than the number of specified input types. {at()}")
        types = self._input_types if self._input_types or names == [] else None
        return DefinedFunction(func, types, names or [], **self._options)


def _argument_names(func: Callable[..., Any]) -> list[str] | None:
    """The parameters without a default; None if there may be any number."""
    parameters = inspect.signature(func).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        raise ValueError(f"Functions with keyword arguments not supported. {at()}")
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return [p.name for p in parameters if p.default is p.empty]


class DefinedFunction:
    """What ``Defun`` makes of a Python function.  Traced once in each graph, for each combination of types."""

    def __init__(
        self, func: Callable[..., Any], input_types: Sequence[DType] | None, names: Sequence[str],
        func_name: str | None = None, grad_func: Any = None, python_grad_func: Any = None, shape_func: Any = None,
        out_names: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        if grad_func is not None and python_grad_func is not None:
            raise ValueError(f"Gradient defined twice for function {func_name or func.__name__} {at()}")
        self._func = func
        self._types = input_types
        self._names = names
        self._name = func_name or getattr(func, "__name__", "function").replace("<lambda>", "lambda")
        self._given_name = func_name
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self._shape_func = shape_func
        self._out_names = list(out_names or [])
        self.__name__ = self._name
        self.__doc__ = func.__doc__

    @property
    def name(self) -> str:
        return self._name

    @property
    def python_function(self) -> Callable[..., Any]:
        return self._func

    @property
    def declared_input_types(self) -> list[DType]:
        return list(self._types or ())

    @property
    def grad_func_name(self) -> str | None:
        return None if self._grad_func is None else self._grad_func.name

    @property
    def python_grad_func(self) -> Any:
        return self._python_grad_func

    @property
    def captured_inputs(self) -> list[Tensor]:
        """What the body uses of the graph around it."""
        return captured(self._declared_trace().body)

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        body = self._declared_trace().body
        return [(op.name, op.type) for op in body._nodes if op.op_def.traits.stateful or op.op_def.traits.random]

    def set_grad_func(self, grad_func: Any) -> None:
        """The gradient, given after the function."""
        if self._grad_func is not None and self._grad_func is not grad_func:
            raise ValueError(f"{self._name} has the gradient {self._grad_func.name} already {at()}")
        self._grad_func = grad_func

    def add_to_graph(self, g: Any) -> None:
        """Builds the body in the given graph."""
        with g.as_default():
            self._declared_trace()

    def _declared_trace(self) -> Trace:
        if self._types is None:
            raise ValueError(f"{self._name} was defined without input types: they are known when it is called {at()}")
        return self._find(list(self._types))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = kwargs.pop("name", None)
        if kwargs:
            raise ValueError(f"Unknown keyword arguments: {sorted(kwargs)} {at()}")
        if self._types is not None and len(args) != len(self._types):
            raise ValueError(f"Expected number of arguments: {len(self._types)}, received: {len(args)} {at()}")
        declared: Sequence[DType | None] = self._types if self._types is not None else [None] * len(args)
        tensors = [convert_to_tensor(a, t) for a, t in zip(args, declared, strict=True)]
        types = [t.dtype.base_dtype for t in tensors]
        if context.get_default_graph().building_function:
            tracing = recursive_call(self, tuple(types), tensors)
            if tracing is not None:
                return tracing.call(tensors, name or self._name)
        result = self._find(types).call(tensors, name or self._name)
        if self._shape_func is not None:
            self._set_shapes(result)
        return result

    def _set_shapes(self, result: Any) -> None:
        outputs = [result] if isinstance(result, Tensor) else list(result)
        for tensor, shape in zip(outputs, self._shape_func(outputs[0].op), strict=True):
            tensor.set_shape(shape)

    def _find(self, types: list[DType]) -> Trace:
        key = tuple(types)
        graph: Any = context.get_default_graph()
        with lock:
            around = graph
            while True:
                traced: Trace | None = around._traces.get(self, {}).get(key)
                if traced is not None:
                    return traced
                if not isinstance(around, FuncGraph):
                    break
                around = around.outer_graph
            new = self._trace(types)
            hoist(new)
            new.body.outer_graph._traces.setdefault(self, {})[key] = new
            return new

    def _trace(self, types: list[DType]) -> Trace:
        names = [*self._names, *(f"arg{i}" for i in range(len(self._names), len(types)))]
        specs = [Spec(t, TensorSpec(None).shape, n) for t, n in zip(types, names, strict=False)]
        traced = trace(
            self, self._func, self._name, tuple(types), specs, lambda tensors: (tensors, {}), convert_result=_results,
            body_name=self._given_name or "",
        )  # fmt: skip
        same = self._same_function(tuple(types), traced)
        if same is not None:
            return same
        traced.body.called = self._name
        if self._python_grad_func is not None:
            traced.body.gradients[CUSTOM] = self._python_grad_func
        elif self._grad_func is not None:
            traced.body.gradients[CUSTOM] = self._through_grad_func
        return traced

    def _same_function(self, key: tuple[DType, ...], traced: Trace) -> Trace | None:
        """The trace of an equal function of this name; a name given by the user stands for one function of a graph."""
        graph: Any = context.get_default_graph()
        graph = getattr(graph, "root", graph)
        if self._given_name is None or graph.executing_eagerly:
            return None
        for other, traces in graph._traces.items():
            if not isinstance(other, DefinedFunction) or other is self or other._given_name != self._given_name:
                continue
            same = self._options_of() == other._options_of() and traces.get(key)
            if not same or not equal_bodies(same.body, traced.body):
                raise ValueError(
                    f"Cannot add function '{self._given_name}' because a different function with the same name already "
                    f"exists. {at()}"
                )
            return same  # type: ignore[no-any-return]
        return None

    def _options_of(self) -> tuple[Any, ...]:
        return self._grad_func, self._python_grad_func

    def _through_grad_func(self, op: Operation, *grads: Any) -> Any:
        count = len(self._types) if self._types is not None else len(op.inputs)
        produced = self._grad_func(*op.inputs[:count], *grads)
        return list(produced) if isinstance(produced, (list, tuple)) else [produced]

    def __repr__(self) -> str:
        return f"<Defun {self._name}>"


def _results(result: Any) -> Any:
    """A tensor alone as it is, several as a tuple, nothing as None."""
    if result is None or isinstance(result, (Tensor, Operation)) or not isinstance(result, (list, tuple)):
        return result
    return tuple(result) if len(result) != 1 else result[0]

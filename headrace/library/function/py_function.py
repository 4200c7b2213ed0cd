"""``tf.py_function``: a Python function of eager tensors as an op, differentiable through the ops it calls.

When ops run eagerly it is just called.  In a graph each call has a tape; the gradient op, which comes later in the step,
asks the latest tape.  Tapes are kept only if there is such an op.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.eager.context import eager_mode
from headrace.eager.tape import GradientTape
from headrace.eager.tensor import EagerTensor
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor

_tokens = itertools.count()
_KEPT = 1024  # calls whose gradients may be asked for later: the iterations of a loop


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """Calls a Python function with eager tensors; its results have the dtypes ``Tout``, one or a list of them.

    The function may use any ops, ``.numpy()`` and Python's own control flow, and gradients flow through the ops.

    Args:
      func: The Python function.
      inp: The tensors to call it with, a list.
      Tout: The types of its results: one type, or a list of types.
      name: A name for the op.

    Returns:
      A tensor, or a list of tensors if `Tout` is a list.

    >>> def huber(x, m):
    ...     return x ** 2 if tf.abs(x) <= m else m ** 2 * (1 - 2 * tf.math.log(m) + tf.math.log(x ** 2))
    >>> x, m = tf.constant(1.0), tf.constant(2.0)
    >>> y = tf.py_function(huber, [x, m], tf.float32)
    >>> tf.Session().run([y, tf.gradients(y, x)[0]])
    [np.float32(1.0), np.float32(2.0)]
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got {func!r} {at()}")
    several = isinstance(Tout, (list, tuple))
    element_types = [dtypes.as_dtype(t).base_dtype for t in (Tout if several else [Tout])]
    eager_function = _EagerFunction(func, element_types)
    if context.executing_eagerly():
        outputs = eager_function.results(func(*[convert_to_tensor(x) for x in inp]))
    else:
        outputs = raw_ops.EagerPyFunc(
            list(inp), token=f"pyfunc_{next(_tokens)}", Tout=element_types, func=eager_function, name=name
        )
    return outputs if several else outputs[0]


class _EagerFunction:
    """The function as ``EagerPyFunc`` calls it, arrays in and out.  Thread-safe."""

    def __init__(self, func: Callable[..., Any], out_dtypes: Sequence[DType]) -> None:
        self._func = func
        self._out_dtypes = out_dtypes
        self._differentiated = False
        self._tapes: deque[tuple[GradientTape, list[Any], list[Any]]] = deque(maxlen=_KEPT)
        self._lock = threading.Lock()

    def results(self, returned: Any) -> list[EagerTensor]:
        """What the function returned, as tensors of the dtypes it was said to return."""
        values = list(returned) if isinstance(returned, (list, tuple)) else [] if returned is None else [returned]
        if len(values) != len(self._out_dtypes):
            raise ValueError(
                f"{self._func!r} returned {len(values)} values, but Tout names {len(self._out_dtypes)}: "
                f"{[d.name for d in self._out_dtypes]}"
            )
        return [convert_to_tensor(v, d) for v, d in zip(values, self._out_dtypes, strict=True)]  # type: ignore[misc]

    def _run(self, arrays: Sequence[Any]) -> tuple[GradientTape, list[Any], list[Any]]:
        with GradientTape(persistent=True) as tape:
            inputs = [convert_to_tensor(a) for a in arrays]
            tape.watch([t for t in inputs if t.dtype.is_floating or t.dtype.is_complex])
            return tape, inputs, self.results(self._func(*inputs))

    def __call__(self, *arrays: Any) -> list[Any]:
        with eager_mode():
            call = self._run(arrays)
            if self._differentiated:
                with self._lock:
                    self._tapes.append(call)
            return [t.numpy() for t in call[2]]

    def backward(self, count: int, sources: Sequence[int], outputs: Sequence[DType]) -> _Backward:
        """The function of inputs, outputs and gradients that the gradient op calls."""
        self._differentiated = True
        return _Backward(self, count, sources, outputs)

    def latest(self, arrays: Sequence[Any]) -> tuple[GradientTape, list[Any], list[Any]]:
        """The last call of which no gradient was asked; the function is called again if that is forgotten."""
        with self._lock:
            if self._tapes:
                return self._tapes.pop()
        return self._run(arrays)


class _Backward:
    """The gradient of an ``_EagerFunction``."""

    def __init__(self, forward: _EagerFunction, count: int, sources: Sequence[int], outputs: Sequence[DType]) -> None:
        self._forward = forward
        self._count = count
        self._sources = sources
        self._differentiable = [i for i, d in enumerate(outputs) if d.is_floating or d.is_complex]
        self._skipped = count + len(outputs)

    def __call__(self, *arrays: Any) -> list[Any]:
        with eager_mode():
            tape, inputs, outputs = self._forward.latest(arrays[: self._count])
            weights = [convert_to_tensor(g) for g in arrays[self._skipped :]]
            gradients = tape.gradient(
                [outputs[i] for i in self._differentiable], [inputs[i] for i in self._sources], weights, "zero"
            )
            return [convert_to_tensor(g).numpy() for g in gradients]  # type: ignore[attr-defined]

    def backward(self, count: int, sources: Sequence[int], outputs: Sequence[DType]) -> Any:
        raise LookupError(
            "there is no second derivative of a tf.py_function in a graph; compute it inside the function"
        )

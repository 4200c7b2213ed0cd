"""GradientTape: keeps the executed ops that depend on what it watches, and differentiates them.

with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
dw = tape.gradient(loss, w)
"""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.autodiff.gradients import UnconnectedGradients, is_trainable
from headrace.core.source import at
from headrace.eager import symbolic, tape_entry
from headrace.eager.backprop import backprop, ones_like
from headrace.eager.tape_entry import TapeEntry
from headrace.eager.tensor import EagerHandle, EagerTensor, Immediate, as_handle
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.structures import IndexedSlices


class GradientTape:
    """Keeps executed ops in order to differentiate them.  Belongs to the thread that enters it; tapes may be nested.

    ``persistent``: ``gradient`` may be called more than once.  ``watch_accessed_variables``: trainable variables read inside
    are watched automatically; tensors must be passed to ``watch``.

    Args:
      persistent: Whether `gradient` may be called more than once.
      watch_accessed_variables: Whether trainable variables that are read are watched without `watch`.

    >>> with tf.eager_mode():
    ...     x = tf.constant(3.0)
    ...     with tf.GradientTape() as tape:
    ...         tape.watch(x)
    ...         y = x * x
    ...     print(tape.gradient(y, x).numpy())
    6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._watching = False
        self._used = False
        self._watched: dict[int, Any] = {}
        self._variables: tuple[Any, ...] = ()  # those that were watched when the entries were dropped
        self._built = symbolic.Built()  # the nodes that were built, not run, under the tape
        self.entries: list[TapeEntry] = []
        self.tracked: dict[int, Any] = {}  # what depends on something watched, by identity, and keeps it alive
        self.aliases: dict[int, Any] = {}  # the variables that tensors among them were read from

    # ---- watching

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._watching:
            self._stop()

    def _start(self) -> None:
        if self._watching:
            raise ValueError("Tape is already recording.")
        self._watching = True
        self._built.start()
        tape_entry.active.set((*tape_entry.active.get(), self))

    def _stop(self) -> None:
        if not self._watching:
            raise ValueError("Tape is not recording.")
        self._watching = False
        self._built.stop()
        tape_entry.active.set(tuple(t for t in tape_entry.active.get() if t is not self))

    def watch(self, tensor: Any) -> None:
        """Follows a tensor, a variable, or all those in a nested structure."""
        for item in _leaves(tensor):
            item = as_handle(item)
            if self._built.watch(item):
                continue
            if not isinstance(item, Immediate):
                raise ValueError(f"Passed in object of type {type(item).__name__}, not tf.Tensor {at()}")
            if is_trainable(item.dtype):
                self._follow(item)

    def accessed(self, handle: EagerHandle) -> None:
        """A trainable variable is read."""
        if self._watch_accessed_variables:
            self._follow(handle)

    def _follow(self, tensor: Immediate) -> None:
        self._watched[id(tensor)] = self.tracked[id(tensor)] = tensor

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """The tape does not see what runs inside."""
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forgets all entries and all that is watched."""
        self._used = False
        self._forget()
        self._variables = ()

    def _forget(self) -> None:
        self._variables = self.watched_variables()
        self.entries = []
        self._watched = {}
        self.tracked = {}
        self.aliases = {}
        self._built.forget()

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables watched, in the order they were first read."""
        handles = [t for t in self._watched.values() if isinstance(t, EagerHandle)]
        if self._watch_accessed_variables:
            handles += [h for h in self._built.handles() if h not in handles]
        variables = self._variables
        now = [v for v in (h.owner for h in handles) if v is not None and not any(v is k for k in variables)]
        return (*variables, *now)

    # ---- differentiating

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None,
        unconnected_gradients: str = UnconnectedGradients.NONE,
    ) -> Any:  # fmt: skip
        """The derivatives of ``target`` (if several, of their sum) in the structure of ``sources``; None where unconnected.

        ``output_gradients`` are the weights of the targets, ones by default.  Drops the entries, unless persistent.
        """
        if self._used and not self._persistent:
            raise RuntimeError("GradientTape.gradient can only be called once on non-persistent tapes.")
        if unconnected_gradients not in (UnconnectedGradients.NONE, UnconnectedGradients.ZERO):
            raise ValueError(
                f"Unknown value for unconnected_gradients: {unconnected_gradients!r}; accepted: 'none', 'zero'"
            )
        if self._watching and not self._persistent:
            self._stop()
        self._used = True
        leaves = [target] if target.__class__ is EagerTensor else list(_leaves(target))
        if any(map(symbolic.is_symbolic, leaves)):
            source_leaves = list(_leaves(sources))
            weights = None if output_gradients is None else list(_leaves(output_gradients))
            derivatives = self._built.gradient(leaves, source_leaves, weights, unconnected_gradients)
            return _packed(sources, iter(derivatives))
        targets = [as_handle(t) for t in leaves]
        flat = [as_handle(s) for s in _leaves(sources)]
        for item in (*targets, *flat):
            if not isinstance(item, Immediate):
                raise TypeError(f"GradientTape.gradient takes tensors and variables, got {item!r} {at()}")
        tracked = self.tracked
        followed = [s for s in flat if id(s) in tracked]
        weights = _weights(targets, output_gradients)
        derivatives = backprop(list(self.entries), targets, weights, followed, self.aliases)
        if len(followed) != len(flat):
            grads = iter(derivatives)
            derivatives = [next(grads) if id(s) in tracked else None for s in flat]
        if not self._persistent:
            self._forget()
        if unconnected_gradients == UnconnectedGradients.ZERO:
            derivatives = [raw_ops.ZerosLike(s) if g is None else g for g, s in zip(derivatives, flat, strict=True)]
        return _packed(sources, iter(derivatives))

    def jacobian(
        self, target: Any, sources: Any, unconnected_gradients: str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
    ) -> Any:  # fmt: skip
        """All derivatives of ``target``'s elements: for each source a tensor of shape target.shape + source.shape."""
        if self._used and not self._persistent:
            raise RuntimeError("GradientTape.jacobian can only be called once on non-persistent tapes.")
        persistent, self._persistent = self._persistent, True
        try:
            rows = [
                self.gradient(target, sources, weights, unconnected_gradients) for weights in _one_at_a_time(target)
            ]
        finally:
            self._persistent = persistent
        if not persistent:
            if self._watching:
                self._stop()
            self._forget()
        columns = list(zip(*[list(_leaves(row)) for row in rows], strict=True))
        shape = target.shape.as_list()
        stacked = [
            None
            if parts[0] is None
            else raw_ops.Reshape(raw_ops.Pack(list(parts), 0), shape + parts[0].shape.as_list())
            for parts in columns
        ]
        return _packed(sources, iter(stacked))

    def batch_jacobian(
        self, target: Any, source: Any, unconnected_gradients: str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
    ) -> Any:  # fmt: skip
        """For each example of a batch the derivatives of its targets by its own sources: [batch, ...target, ...source].

        Examples must not depend on each other, so that one gradient gives a row of the matrix of every example.
        """
        shape, own = target.shape.as_list(), source.shape.as_list()
        if len(shape) < 2 or len(own) < 1 or shape[0] != own[0]:
            raise ValueError(
                "Need first dimension of target shape and source shape to match: a batch, and at least one more dimension of "
                f"the target; got {tuple(shape)} and {tuple(own)} {at()}"
            )
        if self._used and not self._persistent:
            raise RuntimeError("GradientTape.batch_jacobian can only be called once on non-persistent tapes.")
        persistent, self._persistent = self._persistent, True
        try:
            rows = []
            for row in _unit_vectors(math.prod(shape[1:]), target.dtype.base_dtype):
                weights = raw_ops.Reshape(raw_ops.Tile(raw_ops.Reshape(row, [1, -1]), [shape[0], 1]), shape)
                rows.append(self.gradient(target, source, weights, unconnected_gradients))
        finally:
            self._persistent = persistent
        if not persistent:
            if self._watching:
                self._stop()
            self._forget()
        if not rows or rows[0] is None:
            return None
        return raw_ops.Reshape(raw_ops.Pack(rows, 1), shape + own[1:])


def _weights(targets: Sequence[Any], output_gradients: Any) -> list[Any]:
    if output_gradients is None:
        return [ones_like(t) for t in targets]
    weights = list(_leaves(output_gradients))
    if len(weights) != len(targets):
        raise ValueError(f"{len(weights)} output_gradients were given for {len(targets)} targets {at()}")
    return [
        ones_like(t) if w is None else w if isinstance(w, IndexedSlices) else convert_to_tensor(w, t.dtype.base_dtype)
        for w, t in zip(weights, targets, strict=True)
    ]


def _one_at_a_time(target: Any) -> Iterator[Any]:
    for row in _unit_vectors(target.shape.num_elements(), target.dtype.base_dtype):
        yield raw_ops.Reshape(row, target.shape.as_list())


def _unit_vectors(size: int, dtype: Any) -> list[Any]:
    eye = raw_ops.OneHot(raw_ops.Range(0, size, 1), size, convert_to_tensor(1, dtype), convert_to_tensor(0, dtype))
    return raw_ops.Unpack(eye, num=size, axis=0)


# ---- nested structures of sources: lists, tuples, dictionaries


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _leaves(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _packed(structure: Any, items: Iterator[Any]) -> Any:
    if isinstance(structure, dict):
        values = {key: _packed(structure[key], items) for key in sorted(structure)}
        return type(structure)((key, values[key]) for key in structure)
    if isinstance(structure, (list, tuple)):
        parts = [_packed(item, items) for item in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
    return next(items)


# ---- functions of functions (tf.contrib.eager)


def _differentiated(f: Callable[..., Any], values: Sequence[Any], params: Any) -> tuple[Any, list[Any]]:
    chosen = _positions(f, params, len(values))
    tensors = [as_handle(v) if isinstance(as_handle(v), Immediate) else convert_to_tensor(v) for v in values]
    arguments = list(values)
    with GradientTape(persistent=True) as tape:
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, EagerHandle):
                arguments[i] = tensor
        for i in chosen:
            tape.watch(tensors[i])
        result = f(*arguments)
    if result is None:
        raise ValueError(f"Cannot differentiate a function that returns None; did you forget to return a value? {at()}")
    return result, [tape, [tensors[i] for i in chosen]]


def _positions(f: Callable[..., Any], params: Any, count: int) -> list[int]:
    """Which of ``count`` arguments ``params`` names, by position or by the name that ``f`` gives them."""
    if params is None:
        return list(range(count))
    positions = []
    for p in params if isinstance(params, (list, tuple)) else [params]:
        names = list(inspect.signature(f).parameters)[:count] if isinstance(p, str) else []
        position = names.index(p) if p in names else p
        if not isinstance(position, int) or not -count <= position < count:
            raise ValueError(f"params must be positions or names of arguments, got {p!r} for {count} arguments {at()}")
        positions.append(position % count)
    return positions


def gradients_function(f: Callable[..., Any], params: Any = None) -> Callable[..., list[Any]]:
    """A function that gives the gradients of ``f`` with respect to its arguments (those at ``params``).

    Args:
      f: A function of tensors that returns a tensor, or a structure of them.
      params: The positions or names of the arguments to differentiate by, a list or one; None for all.

    Returns:
      A function with the arguments of `f` that returns a list of gradients.

    >>> with tf.eager_mode():
    ...     print(tf.contrib.eager.gradients_function(lambda x: x * x)(3.0)[0].numpy())
    6.0
    """

    def differentiated(*args: Any, **kwargs: Any) -> list[Any]:
        return value_and_gradients_function(f, params)(*args, **kwargs)[1]

    return differentiated


def value_and_gradients_function(f: Callable[..., Any], params: Any = None) -> Callable[..., tuple[Any, list[Any]]]:
    """A function that gives the value of ``f`` and its gradients by its arguments (those at ``params``).

    Its argument ``dy`` is the weight of the result.

    Args:
      f: A function of tensors that returns a tensor, or a structure of them.
      params: The positions or names of the arguments to differentiate by, a list or one; None for all.

    Returns:
      A function with the arguments of `f` that returns its value and a list of gradients.

    >>> with tf.eager_mode():
    ...     value, (gradient,) = tf.contrib.eager.value_and_gradients_function(lambda x: x * x)(3.0)
    ...     print(value.numpy(), gradient.numpy())
    9.0 6.0
    """

    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        dy = kwargs.pop("dy", None)
        if kwargs:
            raise ValueError(f"Functions to be differentiated cannot receive keyword arguments, got {sorted(kwargs)}.")
        result, (tape, sources) = _differentiated(f, args, params)
        return result, list(tape.gradient(result, sources, output_gradients=dy))

    return differentiated


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., tuple[Any, list[tuple[Any, Any]]]]:
    """A function that gives the value of ``f`` and a (gradient, variable) pair for each trainable variable it reads.

    Args:
      f: A function that reads trainable variables and returns a tensor.

    Returns:
      A function with the arguments of `f` that returns its value and a list of pairs.

    >>> with tf.eager_mode():
    ...     v = tf.Variable(3.0)
    ...     value, pairs = tf.contrib.eager.implicit_value_and_gradients(lambda: v * v)()
    ...     print(value.numpy(), pairs[0][0].numpy())
    9.0 6.0
    """

    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with GradientTape() as tape:
            result = f(*args, **kwargs)
        if result is None:
            raise ValueError(
                f"Cannot differentiate a function that returns None; did you forget to return a value? {at()}"
            )
        variables = tape.watched_variables()
        if not variables:
            raise ValueError(f"No trainable variables were accessed while the function was being computed. {at()}")
        grads = tape.gradient(result, list(variables))
        return result, list(zip(grads, variables, strict=True))

    return differentiated


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., list[tuple[Any, Any]]]:
    """A function that gives (gradient, variable) pairs, as ``optimizer.apply_gradients`` takes them.

    Args:
      f: A function that reads trainable variables and returns a tensor.

    Returns:
      A function with the arguments of `f` that returns a list of pairs.

    >>> with tf.eager_mode():
    ...     v = tf.Variable(3.0)
    ...     print(tf.contrib.eager.implicit_gradients(lambda: v * v)()[0][0].numpy())
    6.0
    """

    def differentiated(*args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        return implicit_value_and_gradients(f)(*args, **kwargs)[1]

    return differentiated

"""Leaving the graph: Python functions, printing, the clock, numbers as text."""

from __future__ import annotations

import itertools
import logging
import pprint
import sys
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import SparseTensor

_tokens = itertools.count()


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Calls a Python function with numpy arrays while the graph runs.

    ``func`` receives one array for each input (a numpy scalar for a scalar, bytes for a string) and returns arrays of
    exactly the dtypes ``Tout``: one tensor comes back if that is one dtype, a list if it is a list, the operation if
    it is empty.
    Exceptions become errors of the step: ValueError and TypeError InvalidArgumentError, StopIteration OutOfRangeError,
    others UnknownError.  ``stateful=False`` promises the same result for the same input.

    ``root = tf.py_func(np.sqrt, [x], tf.float32)``

    Args:
      func: The Python function.
      inp: A list of tensors.
      Tout: The dtype that ``func`` returns, or a list of them.
      stateful: Whether ``func`` may have effects or give different results for the same input.
      name: A name for the op.

    Returns:
      A tensor, a list of tensors, or an operation, as ``Tout`` says; their shapes are not known.

    >>> half = tf.py_func(lambda a: a / 2, [tf.constant(3.0)], tf.float32)
    >>> tf.Session().run(half)
    np.float32(1.5)
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got {func!r}")
    several = isinstance(Tout, (list, tuple))
    out_dtypes = list(Tout) if several else [Tout]
    make = raw_ops.PyFunc if stateful else raw_ops.PyFuncStateless
    result = make(list(inp), token=f"pyfunc_{next(_tokens)}", Tout=out_dtypes, func=func, name=name)
    return result if several else result[0]


def numpy_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """``py_func`` of a function with side effects.

    Args:
      func: The Python function; it gets numpy arrays.
      inp: A list of tensors.
      Tout: The dtype that ``func`` returns, or a list of them.
      name: A name for the op.

    Returns:
      A tensor, or a list of tensors, as ``Tout`` says; their shapes are not known.

    >>> tf.Session().run(tf.numpy_function(np.cumsum, [tf.constant([1, 2, 3])], tf.int64))
    array([1, 3, 6])
    """
    return py_func(func, inp, Tout, stateful=True, name=name)


# ---- printing


def Print(
    input_: Any, data: Sequence[Any], message: str | None = None, first_n: int | None = None,
    summarize: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Passes ``input_`` on and writes ``data`` to standard error whenever that happens (at most ``first_n`` times).

    ``x = tf.Print(x, [tf.shape(x), x], "x: ")``

    Args:
      input_: A tensor.
      data: A list of tensors to show.
      message: The first words of the line.
      first_n: How often to print; None or a negative number for always.
      summarize: How many elements of each tensor to show; None for 3, -1 for all.
      name: A name for the op.

    Returns:
      A tensor with the value of ``input_``.

    >>> x = tf.Print(tf.constant(3.0), [tf.constant([1, 2])], "seen: ")
    """
    return raw_ops.Print(input_, list(data), message, first_n, summarize, name=name)


_STREAMS: dict[Any, str] = {
    logging.info: "log(info)", logging.warning: "log(warning)", logging.error: "log(error)",
}  # fmt: skip


def print_(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation that prints tensors, strings and nested structures of them when it runs.

    Keywords: ``output_stream`` (sys.stderr, sys.stdout, a logging function or "file://path"), ``summarize`` (how many
    elements at each end of a dimension, -1 for all), ``sep``, ``end``, ``name``.

    ``with tf.control_dependencies([tf.print("loss:", loss)]): ...``

    Args:
      *inputs: What to print, in this order.
      **kwargs: ``output_stream``, ``summarize``, ``sep`` (the text between inputs), ``end`` (after the last), ``name``.

    Returns:
      An operation, to put into ``tf.control_dependencies``.

    >>> import sys
    >>> tf.Session().run(tf.print("sum:", tf.constant([1, 2]), output_stream=sys.stdout))
    sum: [1 2]
    """
    output_stream = kwargs.pop("output_stream", sys.stderr)
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", 3)
    sep = kwargs.pop("sep", " ")
    end = kwargs.pop("end", "\n")
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    stream = _stream_name(output_stream)
    only = inputs[0] if len(inputs) == 1 else None
    if isinstance(only, Tensor) and only.dtype.base_dtype is dtypes.string and only.shape.ndims == 0:
        text: Any = only
    else:
        tensors, template, placeholder = _template(inputs, sep)
        text = string_format(template, tensors, placeholder, summarize, f"{name}_format" if name else None)
    return raw_ops.PrintV2(text, output_stream=stream, end=end, name=name)


def _stream_name(stream: Any) -> str:
    if stream is sys.stderr or stream is sys.__stderr__:
        return "stderr"
    if stream is sys.stdout or stream is sys.__stdout__:
        return "stdout"
    if isinstance(stream, str) and (stream.startswith("file://") or stream in ("stdout", "stderr")):
        return stream
    name = _STREAMS.get(stream) or _STREAMS.get(getattr(logging, getattr(stream, "__name__", ""), None))
    if name is None:
        raise ValueError(
            f"Unsupported output stream: {stream!r}. Supported are sys.stdout, sys.stderr, logging functions and "
            '"file://" paths.'
        )
    return name


def _template(inputs: Sequence[Any], sep: str) -> tuple[list[Tensor], str, str]:
    """The tensors among the inputs, and text with a placeholder where each belongs."""
    placeholder = "{}"
    bare = repr(_without_tensors(inputs, ""))
    while placeholder in bare:
        placeholder = f"{{{placeholder}}}"
    tensors: list[Tensor] = []

    def mark(item: Any) -> Any:
        if isinstance(item, Tensor):
            tensors.append(item)
            return placeholder
        if isinstance(item, SparseTensor):
            tensors.extend((item.indices, item.values, item.dense_shape))
            return f"SparseTensor(indices={placeholder}, values={placeholder}, shape={placeholder})"
        if hasattr(item, "_as_graph_element"):
            return mark(convert_to_tensor(item))
        return item

    parts = [i if isinstance(i, str) else pprint.pformat(_map(mark, i)) for i in inputs]
    return tensors, sep.join(parts).replace(f"'{placeholder}'", placeholder), placeholder


def _map(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _map(change, value[key]) for key in sorted(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_map(change, v) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)(_map(change, v) for v in value)
    return change(value)


def _without_tensors(value: Any, instead: Any) -> Any:
    return _map(lambda v: instead if isinstance(v, (Tensor, SparseTensor)) else v, value)


def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """Text with the tensors' values in place of the placeholders: ``tf.strings.format("step {}", [step])``.

    Args:
      template: The text, with a placeholder for each tensor.
      inputs: A tensor or a list of them.
      placeholder: What to replace in ``template``.
      summarize: How many elements to show at each end of a dimension; -1 for all.
      name: A name for the op.

    Returns:
      A scalar string.

    >>> tf.Session().run(tf.strings.format("x = {}", tf.constant([1, 2])))
    b'x = [1 2]'
    """
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    values = [convert_to_tensor(v) for v in values]
    return raw_ops.StringFormat(values, template, placeholder, summarize, name=name)


# ---- the clock, and numbers as text


def timestamp(name: str | None = None) -> Tensor:
    """Seconds since the epoch, as float64.

    Args:
      name: A name for the op.

    Returns:
      A scalar of float64, which is taken anew in every step.

    >>> tf.Session().run(tf.timestamp() > 0)
    np.True_
    """
    return raw_ops.Timestamp(name=name)


def as_string(
    input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1,  # noqa: A002
    fill: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """Each element as text: ``tf.as_string(3.14159, precision=2)`` is "3.14".

    Args:
      input: A tensor of numbers, bools or strings.
      precision: How many digits after the point; -1 for the usual ones.  For floating-point and complex numbers only.
      scientific: Whether to write an exponent.
      shortest: Whether to write whichever of the two forms is shorter.
      width: The least number of characters; -1 for as many as needed.
      fill: What to fill up with: one of `` ``, ``+``, ``-``, ``0``, ``#`` with the meaning it has in C; "" for blanks.
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of ``input``.

    >>> tf.Session().run(tf.as_string([3.14159, 2.0], precision=2))
    array([b'3.14', b'2.00'], dtype=object)
    """
    return raw_ops.AsString(input, precision, scientific, shortest, width, fill, name=name)


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Strings in web-safe base64.

    Args:
      input: A tensor of strings.
      pad: Whether to fill up with "=" to a multiple of four characters.
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of ``input``.

    >>> tf.Session().run(tf.encode_base64("water"))
    b'd2F0ZXI'
    """
    return raw_ops.EncodeBase64(input, pad, name=name)


def decode_base64(input: Any, name: str | None = None) -> Tensor:  # noqa: A002 - TF1's name
    """Strings back from web-safe base64, padded or not.

    Args:
      input: A tensor of strings.
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of ``input``.

    >>> tf.Session().run(tf.decode_base64("d2F0ZXI"))
    b'water'
    """
    return raw_ops.DecodeBase64(input, name=name)

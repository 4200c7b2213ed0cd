"""The errors that running a graph raises, by canonical code.

    Exception
      OpError                     any failure of an op or of the runtime; has .op, .node_def, .message, .error_code
        CancelledError            1   the step or queue operation was cancelled
        UnknownError              2   a failure without a better code
        InvalidArgumentError      3   a value the op can never accept
        DeadlineExceededError     4   the operation's time ran out
        NotFoundError             5   a file, variable or other entity does not exist
        AlreadyExistsError        6   the entity to be created exists already
        PermissionDeniedError     7   the caller may not do this
        ResourceExhaustedError    8   out of memory, disk or another resource
        FailedPreconditionError   9   the system is not in the required state (an uninitialised variable)
        AbortedError             10   stopped part way, usually because another task failed; try again
        OutOfRangeError          11   past the end of the input: how a queue or iterator says "done"
        UnimplementedError       12   no such op, kernel or feature
        InternalError            13   an invariant of the runtime is broken
        UnavailableError         14   a task cannot be reached just now
        DataLossError            15   corrupt or truncated data
        UnauthenticatedError     16   no valid credentials

Building a wrong graph raises Python's TypeError and ValueError instead. This module does not know what an Operation
is: `op` is any object with a `name` and, optionally, a `traceback` (text, or frames `traceback.format_list` takes).
"""

from __future__ import annotations

import linecache
import traceback
from typing import Any

from headrace.core.source import user_source
from headrace.core.traceback_filter import file_name

NOT_FINITE = "a number is NaN or infinite: "  # how the message of a step whose numbers are checked begins

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """A failure while running a graph.

    `op` is the Operation that failed, or None when it is not known (the failure belongs to no op, or the op was
    made by the runtime); `node_def` is its description as a message, written when it is first asked for.
    """

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int) -> None:
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code

    @property
    def message(self) -> str:
        """What went wrong."""
        return self._message

    @property
    def op(self) -> Any:
        """The Operation that failed, or None."""
        return self._op

    @property
    def node_def(self) -> Any:
        """The failed node as a NodeDef, or None."""
        if self._node_def is None and self._op is not None:
            self._node_def = getattr(self._op, "node_def", None)
        return self._node_def

    @property
    def error_code(self) -> int:
        """The canonical code, one of this module's constants."""
        return self._error_code

    def __str__(self) -> str:
        origin = _origin(self._op)
        return f"{self._message}\n\n{origin}" if origin else self._message

    def __reduce__(self) -> tuple[Any, ...]:
        # The Operation belongs to a graph of this process, so it stays behind.
        return _rebuild, (type(self), self._node_def, self._message, self._error_code)


def _origin(op: Any) -> str:
    """Where the user's program made `op`, and what it stands for, as text; empty when that is not known."""
    text = _frames(op)
    if not text:
        return ""
    text = f"Original stack trace for {getattr(op, 'name', '<unnamed>')!r}:\n{text}"
    while (op := getattr(op, "original_op", None)) is not None:
        text += f"\n...which was originally created as op {op.name!r}, defined at:\n{_frames(op)}"
    return text


def _frames(op: Any) -> str:
    frames = getattr(op, "traceback", None)
    if not frames or isinstance(frames, str):
        return frames or ""
    # A frame without its line of code gets it from the file, if that is still there.
    lines = [(f, n, name, line or linecache.getline(f, n).strip()) for f, n, name, line in frames]
    return "".join(traceback.format_list([(file_name(f), n, name, line) for f, n, name, line in lines]))


class CancelledError(OpError):
    """The operation, or the step it belongs to, was cancelled."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, CANCELLED)


class UnknownError(OpError):
    """A failure without a better code, such as an exception in a Python function called by the graph."""

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int = UNKNOWN) -> None:
        super().__init__(node_def, op, message, error_code)


class InvalidArgumentError(OpError):
    """An op received a value it can never accept."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, INVALID_ARGUMENT)


class DeadlineExceededError(OpError):
    """The time allowed for the operation ran out."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, DEADLINE_EXCEEDED)


class NotFoundError(OpError):
    """A file, variable or other requested entity does not exist."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, NOT_FOUND)


class AlreadyExistsError(OpError):
    """The entity to be created exists already."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, ALREADY_EXISTS)


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, PERMISSION_DENIED)


class UnauthenticatedError(OpError):
    """The request carries no valid credentials."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, UNAUTHENTICATED)


class ResourceExhaustedError(OpError):
    """Memory, disk or another resource ran out."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, RESOURCE_EXHAUSTED)


class FailedPreconditionError(OpError):
    """The system is not in the state the operation needs, such as reading an uninitialised variable."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, FAILED_PRECONDITION)


class AbortedError(OpError):
    """The operation stopped part way, usually because another task failed; it may be tried again."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, ABORTED)


class OutOfRangeError(OpError):
    """Past the end of the valid range: how a closed queue or exhausted iterator says it is done."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, OUT_OF_RANGE)


class UnimplementedError(OpError):
    """The op, kernel or feature does not exist."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, UNIMPLEMENTED)


class InternalError(OpError):
    """An invariant of the runtime is broken."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, INTERNAL)


class UnavailableError(OpError):
    """A task or service cannot be reached just now."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, UNAVAILABLE)


class DataLossError(OpError):
    """Data is corrupt or was cut short."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, DATA_LOSS)


_CLASS_BY_CODE: dict[int, Any] = {
    CANCELLED: CancelledError,
    UNKNOWN: UnknownError,
    INVALID_ARGUMENT: InvalidArgumentError,
    DEADLINE_EXCEEDED: DeadlineExceededError,
    NOT_FOUND: NotFoundError,
    ALREADY_EXISTS: AlreadyExistsError,
    PERMISSION_DENIED: PermissionDeniedError,
    RESOURCE_EXHAUSTED: ResourceExhaustedError,
    FAILED_PRECONDITION: FailedPreconditionError,
    ABORTED: AbortedError,
    OUT_OF_RANGE: OutOfRangeError,
    UNIMPLEMENTED: UnimplementedError,
    INTERNAL: InternalError,
    UNAVAILABLE: UnavailableError,
    DATA_LOSS: DataLossError,
    UNAUTHENTICATED: UnauthenticatedError,
}

_CODE_BY_CLASS: dict[Any, int] = {cls: code for code, cls in _CLASS_BY_CODE.items()}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class for a canonical code; KeyError when the code is not one of an error.

    Args:
      error_code: A code from 1 to 16, such as ``tf.errors.NOT_FOUND``.

    Returns:
      A subclass of `tf.errors.OpError`.

    >>> tf.errors.exception_type_from_error_code(tf.errors.NOT_FOUND).__name__
    'NotFoundError'
    """
    try:
        error_class: type[OpError] = _CLASS_BY_CODE[error_code]
    except KeyError:
        raise KeyError(f"{error_code!r} is not an error code; accepted are {min(_CLASS_BY_CODE)} to 16") from None
    return error_class


def error_code_from_exception_type(cls: type[BaseException]) -> int:
    """The canonical code of an error class or of a class derived from one; UNKNOWN for any other class.

    Args:
      cls: A class of exceptions.

    Returns:
      An integer.

    >>> tf.errors.error_code_from_exception_type(tf.errors.NotFoundError) == tf.errors.NOT_FOUND
    True
    """
    for base in cls.__mro__:
        if base in _CODE_BY_CLASS:
            return _CODE_BY_CLASS[base]
    return UNKNOWN


def make_error(node_def: Any, op: Any, message: str, error_code: int) -> OpError:
    """The error for a code received from a kernel or another task; an UnknownError for a code that is not in the table.

    Args:
      node_def: The NodeDef of the operation that failed, or None.
      op: The operation that failed, or None.
      message: What is wrong.
      error_code: A code, such as ``tf.errors.NOT_FOUND``.

    Returns:
      A `tf.errors.OpError`; it is not raised.

    >>> type(tf.errors.make_error(None, None, 'no such file', tf.errors.NOT_FOUND)).__name__
    'NotFoundError'
    """
    error_class = _CLASS_BY_CODE.get(error_code)
    if error_class is None:
        return UnknownError(node_def, op, message, error_code)
    error: OpError = error_class(node_def, op, message)
    return error


def with_user_line(error: OpError) -> OpError:
    """The error of a thread of Headrace's own, with the user's line that has called; unchanged if it names a line.

    Args:
      error: A `tf.errors.OpError`.

    Returns:
      A `tf.errors.OpError` of the same code.

    >>> '(at ' in tf.errors.with_user_line(tf.errors.NotFoundError(None, None, 'no such file')).message
    True
    """
    if "(at " in error.message:
        return error
    return make_error(None, error.op, f"{error.message} (at {user_source(2)})", error.error_code)


def _rebuild(cls: Any, node_def: Any, message: str, error_code: int) -> OpError:
    """Unpickles an error; a subclass with a constructor of its own comes back as the class of its code."""
    if cls is OpError:
        return OpError(node_def, None, message, error_code)
    return make_error(node_def, None, message, error_code)


_OF_PYTHON = (
    ((ValueError, TypeError), InvalidArgumentError),
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
)


def from_python(error: Exception) -> OpError:
    """What a step raises when a Python function of the user raises ``error``: its class as in TensorFlow, with the traceback.

    Args:
      error: The exception of the function.

    Returns:
      A `tf.errors.OpError`; `error` itself if it is one.

    >>> type(tf.errors.from_python(ValueError('wrong'))).__name__
    'InvalidArgumentError'
    """
    if isinstance(error, OpError):
        return error
    error_class = next((c for types, c in _OF_PYTHON if isinstance(error, types)), UnknownError)
    text = "".join(traceback.format_exception(error))
    return error_class(None, None, f"{type(error).__name__}: {error}\n{text}")

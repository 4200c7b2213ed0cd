"""Whose words an exception speaks: those of Headrace's own ``raise``, or those of torch, numpy or Python below it."""

from __future__ import annotations

import dis
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Final

from headrace.core.errors import OpError

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NOT_USERS: Final = (_PACKAGE, "<headrace ", os.path.dirname(os.__file__) + os.sep, "<frozen ")
_RAISE: Final = dis.opmap["RAISE_VARARGS"]

UNEXPLAINED: Final = "These inputs do not work, for a reason that Headrace cannot name"
"""What is said of an error from below that nothing explains.  No text of the tests' invalid calls may hold it."""


def in_brackets(shape: Sequence[int | None] | None) -> str:
    """A shape as TensorFlow's kernels write it: ``[2,3]``, ``[?,3]``, ``<unknown>``."""
    if shape is None:
        return "<unknown>"
    return "[" + ",".join("?" if size is None else str(int(size)) for size in shape) + "]"


def is_from_below(error: BaseException) -> bool:
    """Whether something under Headrace's code raised it, so that its text says nothing to a user.

    What Headrace writes, it raises: the innermost frame is then its own, at a ``raise``.  An exception that comes out of a call
    has its innermost frame in another library, or in Headrace at the call.
    """
    if isinstance(error, OpError):
        return False
    last = _innermost(error)
    if last is None:
        return False
    code = last.tb_frame.f_code
    return not (code.co_filename.startswith(_PACKAGE) and code.co_code[last.tb_lasti] == _RAISE)


def cause(error: BaseException) -> BaseException | None:
    """What to raise an explanation of the exception ``from``: itself if it passed through a user's code, else nothing."""
    at = error.__traceback__
    while at is not None:
        if (
            not at.tb_frame.f_code.co_filename.startswith(_NOT_USERS)
            and "site-packages" not in at.tb_frame.f_code.co_filename
        ):
            return error
        at = at.tb_next
    return None


def place(error: BaseException) -> str:
    """The innermost line of Headrace's own that the exception passed: ``ops/matmul.py:107``; '' if none."""
    where = ""
    at: TracebackType | None = error.__traceback__
    while at is not None:
        filename = at.tb_frame.f_code.co_filename
        if filename.startswith(_PACKAGE):
            where = f"{filename.removeprefix(_PACKAGE)}:{at.tb_lineno}"
        at = at.tb_next
    return where


def _innermost(error: BaseException) -> TracebackType | None:
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at

"""Deprecated spellings: arguments with two names, functions with a newer one.  The first use of each is logged, once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from headrace.library import log

F = TypeVar("F", bound=Callable[..., Any])

# Names of arguments that TF1 announced to remove; others that have two names are as good as each other.
_OLD_ARGUMENTS = frozenset(
    {"keep_dims", "reduction_indices", "dim", "dimension", "squeeze_dims", "seq_dim", "batch_dim", "reduction_axes"}
)
_said: set[str] = set()


def either(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value given under either name; ValueError when both are given."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    if old_name in _OLD_ARGUMENTS:
        warn_deprecated(f"the argument {old_name!r}", f"{new_name!r}")
    return old_value


def warn_deprecated(what: str, instead: str) -> None:
    """Logs, the first time in a process, that there is a newer name."""
    if what not in _said:
        _said.add(what)
        log.warning("%s is deprecated; use %s instead", what, instead)


def deprecated(instead: str, name: str | None = None) -> Callable[[F], F]:
    """A function under a name that has a newer one: ``deprecated("tf.global_variables_initializer")``."""

    def decorate(wrapped: F) -> F:
        shown = f"tf.{name or wrapped.__name__}"

        @functools.wraps(wrapped)
        def old(*args: Any, **kwargs: Any) -> Any:
            warn_deprecated(shown, instead)
            return wrapped(*args, **kwargs)

        return old  # type: ignore[return-value]

    return decorate

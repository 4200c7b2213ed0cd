"""The command line's flags (``tf.flags``): absl's, with a `FLAGS` that reads ``sys.argv`` when first asked for a value.

Owns what TF1 adds to absl: that `FLAGS`, and the old argument names of the DEFINE functions.  Importing this module imports absl;
the face does so when a program first touches ``tf.flags``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

try:
    from absl import flags as absl_flags
    from absl.flags import *  # noqa: F403 (all of absl's names are TF1's)
except ImportError as error:
    raise ImportError("tf.flags and tf.app need absl: pip install absl-py") from error

absl_flags.disclaim_key_flags()  # a flag belongs to the module that calls a DEFINE function, not to this one

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _accepting_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(define)
    def call(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{_OLD_NAMES.get(name, name): value for name, value in kwargs.items()})

    return call


DEFINE_string = _accepting_old_names(absl_flags.DEFINE_string)
DEFINE_integer = _accepting_old_names(absl_flags.DEFINE_integer)
DEFINE_float = _accepting_old_names(absl_flags.DEFINE_float)
DEFINE_boolean = DEFINE_bool = _accepting_old_names(absl_flags.DEFINE_boolean)


class _ReadingFlagValues:
    """absl's FlagValues, which reads ``sys.argv`` when a value is asked for before anybody has read it.

    Not safe for use by several threads until the command line has been read.
    """

    def __init__(self, values: absl_flags.FlagValues) -> None:
        self.__dict__["__wrapped"] = values

    def __getattribute__(self, name: str) -> Any:
        if name in ("__dict__", "_parse_flags"):
            return super().__getattribute__(name)
        return object.__getattribute__(self.__dict__["__wrapped"], name)

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__["__wrapped"]
        if not values.is_parsed():
            values(sys.argv)
        return getattr(values, name)

    def _parse_flags(self, args: Sequence[str] | None = None) -> None:
        """Reads the command line, as programs for TensorFlow before 1.5 ask for; unknown flags are no error."""
        self([*sys.argv[:1], *(sys.argv[1:] if args is None else args)], known_only=True)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["__wrapped"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["__wrapped"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["__wrapped"])

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__["__wrapped"]

    def __getitem__(self, name: str) -> Any:
        return self.__dict__["__wrapped"][name]

    def __setitem__(self, name: str, flag: Any) -> None:
        self.__dict__["__wrapped"][name] = flag

    def __len__(self) -> int:
        return len(self.__dict__["__wrapped"])

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__["__wrapped"])

    def __str__(self) -> str:
        return str(self.__dict__["__wrapped"])

    def __call__(self, *args: Any, **kwargs: Any) -> list[str]:
        return self.__dict__["__wrapped"](*args, **kwargs)


FLAGS = _ReadingFlagValues(absl_flags.FLAGS)  # type: ignore[assignment]

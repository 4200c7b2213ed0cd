"""Command-line flags: TF1's ``tf.flags``.  absl, whose names they are, is imported when the first is asked for."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from headrace.library.system import flags

    try:
        return getattr(flags, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    from absl import flags

    return list(flags.__all__)

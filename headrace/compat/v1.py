"""TF1's whole interface, under the name that programs written for both TensorFlows use: ``tf.compat.v1``."""

from typing import Any

import headrace as _headrace


def __getattr__(name: str) -> Any:
    try:
        return getattr(_headrace, name)
    except AttributeError:
        raise AttributeError(f"module 'headrace.compat.v1' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted(name for name in dir(_headrace) if not name.startswith("_"))

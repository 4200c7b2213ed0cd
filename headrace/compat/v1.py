"""TF1's whole interface, under the name that programs written for both TensorFlows use: ``tf.compat.v1``."""

from typing import Any

import headrace as _headrace


def __getattr__(name: str) -> Any:
    return getattr(_headrace, name)


def __dir__() -> list[str]:
    return sorted(name for name in dir(_headrace) if not name.startswith("_"))

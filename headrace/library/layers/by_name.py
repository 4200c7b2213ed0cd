"""What Keras calls by name: constraints, regularizers, initializers, and the names they are known by."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from headrace.library.layers.named_object import deserialize_keras_object


class NameTable:
    """What names stand for; ``what`` is the word for it in errors, such as "constraint"."""

    def __init__(self, what: str, names: Mapping[str, Any]) -> None:
        self.what = what
        self.names = names

    def deserialize(self, config: Any, custom_objects: Any = None) -> Any:
        """What a name or ``{"class_name": ..., "config": ...}`` stands for."""
        return deserialize_keras_object(
            config, module_objects=self.names, custom_objects=custom_objects, printable_module_name=self.what
        )

    def get(self, identifier: Any) -> Any:
        """What a layer was given: made by its name or configuration, or the callable itself, or None."""
        if identifier is None:
            return None
        if isinstance(identifier, dict):
            return self.deserialize(identifier)
        if isinstance(identifier, str):
            return self.deserialize({"class_name": identifier, "config": {}})
        if callable(identifier):
            return identifier() if inspect.isclass(identifier) else identifier
        raise ValueError(
            f"Could not interpret {self.what} identifier: {identifier!r}. Accepted: a name, a dict, a callable or None"
        )

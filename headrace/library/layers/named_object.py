"""Objects by name: how Keras turns layers, losses, initializers and the like into plain data and back.

A *registry* is a dictionary of names and the functions or classes they stand for.  Names that users add go before those of
a registry: the ones of an open `CustomObjectScope`, then those of `get_custom_objects`.  Knows no registry itself.
"""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from headrace.core.source import at

_global: dict[str, Any] = {}
_scoped: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar(
    "headrace_custom_objects", default=MappingProxyType({})
)


def get_custom_objects() -> dict[str, Any]:
    """The dictionary of names that users have given to layers, losses and other objects of their own, for good.

    Returns:
      The dictionary itself: what is put into it is found by all that reads configurations.

    >>> def my_activation(x):
    ...     return tf.maximum(x, -1.0)
    >>> tf.keras.utils.get_custom_objects()["my_activation"] = my_activation
    >>> tf.keras.utils.get_custom_objects().pop("my_activation") is my_activation
    True
    """
    return _global


class CustomObjectScope:
    """A block in which names stand for objects of the user's: ``with CustomObjectScope({"MyLayer": MyLayer}):``.

    Args:
      *args: Dictionaries of names and objects.

    >>> class Half(tf.keras.layers.Layer):
    ...     def call(self, inputs):
    ...         return inputs / 2
    >>> with tf.keras.utils.CustomObjectScope({"Half": Half}):
    ...     layer = tf.keras.utils.deserialize_keras_object({"class_name": "Half", "config": {"name": "h"}})
    >>> type(layer) is Half, layer.name
    (True, 'h')
    """

    def __init__(self, *args: Any) -> None:
        self.custom_objects: tuple[Mapping[str, Any], ...] = tuple(one for one in args if one)
        self._tokens: list[Any] = []

    def __enter__(self) -> CustomObjectScope:
        names = dict(_scoped.get())
        for objects in self.custom_objects:
            names.update(objects)
        self._tokens.append(_scoped.set(names))
        return self

    def __exit__(self, *error: Any) -> None:
        _scoped.reset(self._tokens.pop())


def custom_object_scope(*args: Any) -> CustomObjectScope:
    """A block in which names stand for objects of the user's, as a context manager.

    Args:
      *args: Dictionaries of names and objects.

    Returns:
      A `tf.keras.utils.CustomObjectScope`.

    >>> def plus_one(x):
    ...     return x + 1
    >>> with tf.keras.utils.custom_object_scope({"plus_one": plus_one}):
    ...     tf.keras.utils.deserialize_keras_object("plus_one") is plus_one
    True
    """
    return CustomObjectScope(*args)


def find_object(
    name: str, registry: Mapping[str, Any] | None = None, custom_objects: Mapping[str, Any] | None = None
) -> Any:
    """What a name stands for: in ``custom_objects``, an open scope, the global names or the registry; None if nothing."""
    for names in (custom_objects, _scoped.get(), _global, registry):
        if names and name in names:
            return names[name]
    return None


def serialize_keras_object(instance: Any) -> Any:
    """An object as plain data: its name if it is a function, else the name of its class and its ``get_config()``.

    Args:
      instance: An object with ``get_config``, a function, or None.

    Returns:
      A dictionary ``{"class_name": ..., "config": ...}``, a string, or None for None.

    >>> tf.keras.utils.serialize_keras_object(tf.nn.relu)
    'relu'
    >>> tf.keras.utils.serialize_keras_object(tf.keras.layers.Layer(name="same"))["class_name"]
    'Layer'
    """
    if instance is None:
        return None
    if hasattr(instance, "get_config") and not inspect.isclass(instance):
        config = {key: _plain(value) for key, value in instance.get_config().items()}
        return {"class_name": type(instance).__name__, "config": config}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError(f"Cannot serialize {instance!r}: it is no function and has no method `get_config`.")


def _plain(value: Any) -> Any:
    """One entry of a configuration: what has a form as plain data gets it, the rest stays."""
    if isinstance(value, str) or not (hasattr(value, "get_config") or hasattr(value, "__name__")):
        return value
    return serialize_keras_object(value)


def deserialize_keras_object(
    identifier: Any, module_objects: Mapping[str, Any] | None = None, custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:  # fmt: skip
    """The object that plain data stands for, the inverse of `serialize_keras_object`.

    Args:
      identifier: A name, a dictionary ``{"class_name": ..., "config": ...}``, a function (returned as it is), or None.
      module_objects: The names that are known and what they stand for; the user's own names go before them.
      custom_objects: Further names of the user's, which go before all others.
      printable_module_name: What kind of object is meant, for the message of an error.

    Returns:
      An object made of the configuration, an object of a class without arguments, or the function of that name.

    >>> make = tf.keras.utils.deserialize_keras_object
    >>> make({"class_name": "Layer", "config": {"name": "same"}}, {"Layer": tf.keras.layers.Layer}).name
    'same'
    """
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        found, config = class_and_config(identifier, module_objects, custom_objects, printable_module_name)
        return _made(found, config, custom_objects)
    if isinstance(identifier, str):
        found = find_object(identifier, module_objects, custom_objects)
        if found is None:
            raise _unknown(printable_module_name, identifier)
        return found() if inspect.isclass(found) else found
    if inspect.isfunction(identifier):
        return identifier
    raise ValueError(f"Could not interpret serialized {printable_module_name}: {identifier!r}")


def class_and_config(
    config: dict[str, Any], registry: Mapping[str, Any] | None, custom_objects: Mapping[str, Any] | None, what: str
) -> tuple[Any, Any]:
    """The class that a configuration names, and its arguments; names of the user's functions in them are looked up."""
    if "class_name" not in config or "config" not in config:
        raise ValueError(f"Improper config format: {config!r}. It must have the keys `class_name` and `config`.")
    found = find_object(config["class_name"], registry, custom_objects)
    if found is None:
        raise _unknown(what, config["class_name"])
    arguments = config["config"]
    if not isinstance(arguments, dict):  # a Sequential of old has a list of layers
        return found, arguments
    return found, {key: _argument(key, value, custom_objects) for key, value in arguments.items()}


def _argument(key: str, value: Any, custom_objects: Mapping[str, Any] | None) -> Any:
    """A string that is the name of a user's function stands for it, except as a name."""
    if key == "name" or not isinstance(value, str):
        return value
    found = find_object(value, None, custom_objects)
    return found if inspect.isfunction(found) else value


def _made(found: Any, config: Any, custom_objects: Mapping[str, Any] | None) -> Any:
    custom_objects = custom_objects or {}
    from_config: Callable[..., Any] | None = getattr(found, "from_config", None)
    if from_config is None:  # a function that makes the object
        with CustomObjectScope(custom_objects):
            return found(**config)
    if "custom_objects" in inspect.signature(from_config).parameters:
        return from_config(config, custom_objects={**_global, **_scoped.get(), **custom_objects})
    with CustomObjectScope(custom_objects):
        return from_config(config)


def _unknown(what: str, name: str) -> ValueError:
    return ValueError(
        f"Unknown {what}: {name}. Give what it stands for in `custom_objects`, or inside "
        f"`with tf.keras.utils.custom_object_scope({{...}}):`. {at()}"
    )

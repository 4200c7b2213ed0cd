"""Models from plain data: a configuration, JSON or YAML."""

from __future__ import annotations

import json
from typing import Any

from headrace.library.keras.engine import graph_config
from headrace.library.layers.registry import deserialize


def model_from_config(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """A new model from a configuration with the name of its class.

    Args:
      config: A dictionary ``{"class_name": ..., "config": ...}``.
      custom_objects: The user's own classes and functions by the names that `config` has for them.

    Returns:
      A model, whose variables have new values.

    >>> model = tf.keras.Sequential([tf.keras.layers.Layer()], name="same")
    >>> tf.keras.models.model_from_config({"class_name": "Sequential", "config": model.get_config()}).name
    'same'
    """
    if isinstance(config, list):
        raise TypeError(
            "`model_from_config` expects a dictionary, not a list. Maybe you meant to use "
            "`Sequential.from_config(config)`?"
        )
    return deserialize(config, custom_objects=custom_objects)


def model_from_json(json_string: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """A new model from what `Model.to_json` gives.

    Args:
      json_string: A string.
      custom_objects: The user's own classes and functions by the names that the text has for them.

    Returns:
      A model, whose variables have new values.

    >>> model = tf.keras.Sequential([tf.keras.layers.Layer()], name="same")
    >>> tf.keras.models.model_from_json(model.to_json()).name
    'same'
    """
    return deserialize(json.loads(json_string), custom_objects=custom_objects)


def model_from_yaml(yaml_string: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """A new model from what `Model.to_yaml` gives.

    Args:
      yaml_string: A string; tags for Python objects in it are refused.
      custom_objects: The user's own classes and functions by the names that the text has for them.

    Returns:
      A model, whose variables have new values.
    """
    return deserialize(graph_config.read_yaml(yaml_string), custom_objects=custom_objects)

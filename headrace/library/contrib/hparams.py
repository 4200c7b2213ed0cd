"""HParams: named hyperparameters with types, read from and written to text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from headrace.library.contrib import hparam_def as hparam_def_message

_SCALAR = r"(?P<value>[^,\[]*)"
_PARAMETER = re.compile(
    rf"""(?P<name>[a-zA-Z][\w.]*)      # a name
         (\[\s*(?P<index>\d+)\s*\])?   # of which element
         \s*=\s*
         (({_SCALAR})|\[(?P<list>[^\]]*)\])   # a value, or values in brackets
         ($|,\s*)""",
    re.VERBOSE,
)


def _converted(name: str, text: str, value_type: type) -> Any:
    """Text as a value of a type."""
    text = text.strip()
    if value_type is bool:
        if text.lower() in ("true", "1"):
            return True
        if text.lower() in ("false", "0"):
            return False
        raise ValueError(f"Could not parse hparam '{name}' of type 'bool' with value '{text}'")
    try:
        return value_type(text)
    except ValueError:
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{value_type.__name__}' with value '{text}'"
        ) from None


def _cast(name: str, value: Any, value_type: type) -> Any:
    """A value as one of the type: integers widen to floats, nothing else changes."""
    problem = f"Could not cast hparam '{name}' of type '{value_type.__name__}' from value {value!r}"
    if value_type is type(None) or value is None:
        return value
    if issubclass(value_type, bool) != isinstance(value, bool):
        raise ValueError(problem)
    if issubclass(value_type, int) and not isinstance(value, int):
        raise ValueError(problem)
    if issubclass(value_type, str) != isinstance(value, (str, bytes)):
        raise ValueError(problem)
    if issubclass(value_type, (int, float, str)):
        return value_type(value)
    return value


def parse_values(values: str, type_map: Mapping[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """``"a=1,b=[2,3],c[0]=4"`` as {name: value}; values set by index are dictionaries from index to value.

    Args:
      values: Assignments between commas: `name=value`, `name=[value,value]` or `name[index]=value`.
      type_map: A dictionary from names to the types of their values, or of the elements of their lists.
      ignore_unknown: True leaves out names that are not in `type_map`; False raises ValueError.

    Returns:
      A dictionary from names to values.

    >>> tf.contrib.training.parse_values("rate=0.5,layers=[64,32]", {"rate": float, "layers": int})
    {'rate': 0.5, 'layers': [64, 32]}
    """
    results: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _PARAMETER.match(values, position)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name = match["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        value_type = type_map[name]
        if match["list"] is not None:
            if match["index"] is not None:
                raise ValueError(f"Assignment of a list to a list index in '{match[0]}'")
            items = [item for item in match["list"].split(",") if item.strip()]
            value: Any = [_converted(name, item, value_type) for item in items]
        else:
            value = _converted(name, match["value"], value_type)
        if match["index"] is not None:
            results.setdefault(name, {})[int(match["index"])] = value
        elif name in results:
            raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
        else:
            results[name] = value
    return results


class HParams:
    """``hparams = HParams(learning_rate=0.1, layers=[64, 64])``; then ``hparams.learning_rate``.

    A value's type is fixed when it is added; a list has one type for all its elements.

    Args:
      hparam_def: An HParamDef message, as `to_proto` gives it, in place of keyword arguments; None for none.
      model_structure: Any value, which `get_model_structure` gives back.
      **kwargs: The parameters and their first values.

    >>> hparams = tf.contrib.training.HParams(rate=0.1, layers=[64, 64])
    >>> hparams.parse("rate=0.5").rate
    0.5
    """

    _hparam_types: dict[str, tuple[type, bool]]

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        self._hparam_types = {}
        self._model_structure = model_structure
        if hparam_def is not None:
            if kwargs:
                raise ValueError(f"HParams takes hparam_def or keyword arguments, got both: {sorted(kwargs)}")
            kwargs = hparam_def_message.from_message(hparam_def)
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a parameter with its first value."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Changes a parameter; the type must stay the same."""
        value_type, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_cast(name, v, value_type) for v in value])
        else:
            if is_list:
                raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
            setattr(self, name, _cast(name, value, value_type))

    def del_hparam(self, name: str) -> None:
        """Removes a parameter; nothing happens if there is none of that name."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Changes parameters by text: ``hparams.parse("learning_rate=0.2,layers=[32,32]")``."""
        types = {name: value_type for name, (value_type, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Changes parameters by a dictionary from names to values; gives the object back."""
        for name, value in values_dict.items():
            if isinstance(value, dict) and self._hparam_types[name][1]:
                changed = list(getattr(self, name))
                for index, item in value.items():
                    changed[index] = item
                value = changed
            self.set_hparam(name, value)
        return self

    def set_model_structure(self, model_structure: Any) -> None:
        """Changes what `get_model_structure` gives back."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """What was given as `model_structure`."""
        return self._model_structure

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The values as an HParamDef, which makes equal ones; functions are left out."""
        return hparam_def_message.to_message(self.values())

    @staticmethod
    def from_proto(hparam_def: Any, import_scope: str | None = None) -> HParams:
        """The parameters of an HParamDef."""
        return HParams(hparam_def=hparam_def)

    def to_json(
        self, indent: int | None = None, separators: tuple[str, str] | None = None, sort_keys: bool = False
    ) -> str:
        """The values as JSON; functions are left out."""
        plain = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(plain, indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Changes parameters by a JSON object; gives the object back."""
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """A dictionary from names to values."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or the default, which must be of the parameter's type."""
        if key not in self._hparam_types:
            return default
        if default is not None:
            value_type, is_list = self._hparam_types[key]
            if is_list != isinstance(default, list) or (
                not is_list and _cast(key, default, value_type) != default and not isinstance(default, value_type)
            ):
                raise ValueError(f"default {default!r} is not of the type of hparam {key!r}")
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"HParams({self})"

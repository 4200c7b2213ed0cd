"""How a layer of tf.layers is made from Keras's: other default values, and the arguments ``trainable`` and ``name``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

from headrace.library.state import initializers

C = TypeVar("C", bound=type)

# The default values of arguments: one object each, as initializers keep no state.
ZEROS = initializers.Zeros()
ONES = initializers.Ones()
REQUIRED = Parameter.empty

_ENTRY = re.compile(r"^  (\*{0,2}\w+(?:, \*{0,2}\w+)*): ")
_TOLD = {
    "trainable": "  trainable: Whether training changes its variables.",
    "name": "  name: A name for the layer and its variable scope.",
    "kwargs": "  **kwargs: What every layer takes, such as ``dtype``.",
}


def thin(*more: str, without: Collection[str] = (), **defaults: Any) -> Callable[[C], C]:
    """Decorates a class that derives from a layer of Keras and the Layer of tf.layers, with its constructor and its help.

    ``more`` are arguments that come after Keras's, ``without`` those that tf.layers does not have.
    """

    def decorate(cls: C) -> C:
        keras = cls.__bases__[0]
        shown = Signature(_parameters(signature(keras), more, without, defaults))

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                given = shown.bind(*args, **kwargs)
            except TypeError as e:
                raise TypeError(f"{cls.__name__}() {e}") from None
            given.apply_defaults()
            further = given.arguments.pop("kwargs", {})
            keras.__init__(self, **given.arguments, **further)  # type: ignore[misc]

        own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
        __init__.__signature__ = shown.replace(parameters=[own, *shown.parameters.values()])  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[misc]
        if hasattr(cls, "__signature__"):  # a convolution's, which would be inherited
            cls.__signature__ = shown
        cls.__doc__ = with_arguments(inspect.getdoc(cls) or "", told(keras, shown.parameters))
        return cls

    return decorate


def _parameters(
    keras: Signature, more: Iterable[str], without: Collection[str], defaults: dict[str, Any]
) -> list[Parameter]:
    parameters = [p for p in keras.parameters.values() if p.name not in without]
    own = [
        p.replace(default=defaults.get(p.name, p.default)) for p in parameters if p.kind is not Parameter.VAR_KEYWORD
    ]
    values = {"trainable": True, "name": None}
    own += [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=values[name]) for name in more]
    return own + [p for p in parameters if p.kind is Parameter.VAR_KEYWORD]


def told(documented: Any, names: Iterable[str]) -> list[str]:
    """The lines of a docstring's section ``Args:`` that tell of these arguments, in their order."""
    section = (inspect.getdoc(documented) or "").partition("Args:\n")[2].partition("\n\n")[0]
    entries: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in section.splitlines():
        if match := _ENTRY.match(line):
            lines = [line]
            entries |= dict.fromkeys((name.strip("*") for name in match[1].split(", ")), lines)
        else:
            lines.append(line)
    chosen: list[list[str]] = []
    for name in names:
        entry = entries.get(name) or [_TOLD[name]]
        if entry not in chosen:
            chosen.append(entry)
    return [line for entry in chosen for line in entry]


def with_arguments(text: str, lines: list[str], returns: str = "") -> str:
    """A help text with a section of arguments (and of what is returned) between its description and its example."""
    description, mark, example = text.partition("\n>>> ")
    sections = [description.strip(), "\n".join(["Args:", *lines])]
    if returns:
        sections.append(f"Returns:\n  {returns}")
    return "\n\n".join([*sections, (mark + example).strip()])

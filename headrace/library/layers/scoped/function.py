"""The functions of ``tf.layers`` that make a layer and apply it: their arguments are the class's, after ``inputs``."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec

from headrace.library.factory import called
from headrace.library.layers.scoped.thin import told, with_arguments

P = ParamSpec("P")

_INPUTS = "  inputs: A tensor."
_REUSE = "  reuse: Whether to reuse the variables of an earlier layer of the same name."


def layer_function(name: str, layer: Callable[P, Any], text: str) -> Callable[Concatenate[Any, P], Any]:
    """``name(inputs, ...)``.  Of a layer with variables, a last argument says whether to reuse them."""
    made = signature(layer)
    reuse = "trainable" in made.parameters
    own = [p for p in made.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    parameters = [Parameter("inputs", Parameter.POSITIONAL_OR_KEYWORD), *own]
    if reuse:
        parameters.append(Parameter("reuse", Parameter.POSITIONAL_OR_KEYWORD, default=None))
    shown = made.replace(parameters=parameters)
    arguments = [_INPUTS, *told(layer, [p.name for p in own]), *([_REUSE] if reuse else [])]

    @called(name, with_arguments(text, arguments, "A tensor."))
    def apply_new_layer(*args: Any, **kwargs: Any) -> Any:
        try:
            given = shown.bind(*args, **kwargs).arguments
        except TypeError as e:
            raise TypeError(f"{name}() {e}") from None
        inputs = given.pop("inputs")
        if reuse:
            given |= {"_reuse": given.pop("reuse", None), "_scope": given.get("name")}
        return layer(**given).apply(inputs)  # type: ignore[call-arg]

    apply_new_layer.__module__ = layer.__module__
    apply_new_layer.__signature__ = shown  # type: ignore[attr-defined]
    return apply_new_layer

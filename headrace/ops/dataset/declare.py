"""Declaring the ops of datasets.  A dataset is a host value of dtype variant: a stage, which says what its elements are."""

from __future__ import annotations

from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.resources.data.stage import Stage

TYPES = "output_types: list(type) >= 1, output_shapes: list(shape) >= 1"


def dataset(signature, *, keeps=False, **types):
    """Declares an op that gives a dataset: "Name(inputs; attributes)".  Its rule makes the stage; the types are added.

    ``keeps``: the stage holds tensors among the inputs.  The rule gets the inputs, and attributes but the types, by name.
    """
    definition = op(f"{signature} -> (handle: variant)", host=True, keeps=keeps, **types)
    definition.not_differentiable()
    definition.shape(lambda *arguments: ())
    names = [a.name for a in (*definition.signature.inputs, *definition.signature.attrs)]

    def declare(rule):
        taken = rule.__code__.co_varnames[: rule.__code__.co_argcount]
        positions = [names.index(name) for name in taken]

        @definition.kernel
        def _(*arguments, node):
            stage = rule(*[arguments[i] for i in positions])
            stage.functions = tuple(one for one in arguments if hasattr(one, "restart"))
            return described(stage, node)

        return rule

    return declare


def described(stage, node, types=None, shapes=None):
    """The stage with what its node says of it."""
    stage.types = types or node.attrs.get("output_types") or node.attrs["Toutput_types"]
    stage.shapes = shapes or node.attrs["output_shapes"]
    name = node.name if node.origin is None else node.origin.name
    stage.name, stage.title = name, f"{node.type} '{name}' (made at {node.source})"
    part = getattr(stage, "input", None)
    if part is not None and "title" not in vars(part):  # one node makes two stages
        part.whole = stage.title
    return stage


def check_dataset(value):
    """Refuses a variant that is no dataset."""
    if not isinstance(value, Stage):
        raise InvalidArgumentError(
            None, None, f"a dataset is needed, got a variant that holds a {type(value).__name__}"
        )

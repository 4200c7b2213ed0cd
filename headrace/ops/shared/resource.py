"""What ops on state by handle or by name have in common: finding it, and refusing what does not fit."""

from __future__ import annotations

from headrace.core.errors import InvalidArgumentError
from headrace.resources.calling.value import FROM_TORCH


def shared_resource(context, resource_class, make, settings, by_node_name=True, same=None):
    """The state of a node: what has its ``shared_name``, or else its own name, and what ``make(name)`` gives the first time.

    Whoever comes later must ask for the same settings, whose keys are words for a message; ``same(key, there, wanted)`` says
    of two that differ whether that does no harm, or refuses in its own words.  Unless ``by_node_name``, other sessions find
    a ``shared_name`` only.
    """
    name = context.attrs["shared_name"] or context.name

    def make_with_settings():
        resource = make(name)
        resource.settings = settings
        return resource

    resource = context.resource(resource_class, make_with_settings, by_node_name)
    for key, requested in settings.items():
        there = resource.settings[key]
        if str(there) != str(requested) and not (
            same and same(key, there, requested)
        ):  # unknown shapes are equal to none
            title = resource_class.__name__
            title = title if any(map(str.isupper, title[1:])) else title.lower()
            raise InvalidArgumentError(
                None, None,
                f"Shared {title} '{name}' has {key} {_shown(there)} but requested {key} "
                f"{'were' if isinstance(requested, tuple) else 'was'} {_shown(requested)}",
            )  # fmt: skip
    return resource


def _shown(value):
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, tuple) else str(getattr(value, "name", value))


def check_resource(resource, needed_class):
    """Refuses the handle of something else."""
    if not isinstance(resource, needed_class):
        raise InvalidArgumentError(
            None, None, f"A handle of a {needed_class.__name__} is needed, got one of a {type(resource).__name__}"
        )


def check_dtype(what, value, expected):
    """Refuses a value of another dtype than ``expected``, a torch dtype or, for strings, numpy's object."""
    if value.dtype != expected:
        raise InvalidArgumentError(
            None, None, f"{what} has type {_dtype_name(value.dtype)}, expected {_dtype_name(expected)}"
        )


def _dtype_name(dtype):
    return FROM_TORCH[dtype].name if dtype in FROM_TORCH else "string"


def check_scalar(name, value):
    """Refuses what is known of a host input if it is no scalar."""
    if isinstance(value, list):
        raise ValueError(f"Shape must be rank 0 but {name} is {value}")

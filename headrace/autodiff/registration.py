"""Gradients by name: RegisterGradient, NotDifferentiable, and finding the rule of a node."""

from __future__ import annotations

from headrace.core.registry import REGISTRY, Rule
from headrace.core.source import user_source
from headrace.graph.operation import Operation

_registered_at: dict[str, str] = {}


class RegisterGradient:
    """``@tf.RegisterGradient("Name")`` for an op type without a rule, or a name to use in ``gradient_override_map``.

    The function takes ``(op, *grads)`` and returns one gradient, or None, per input.

    Args:
      op_type: The type of op, or the name to use in ``gradient_override_map``.

    >>> @tf.RegisterGradient('TwiceTheGradient')
    ... def twice(op, gradient):
    ...     return 2.0 * gradient
    >>> x = tf.constant(1.0)
    >>> with tf.get_default_graph().gradient_override_map({'Identity': 'TwiceTheGradient'}):
    ...     y = tf.identity(x)
    >>> print(tf.Session().run(tf.gradients(y, x)[0]))
    2.0
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"op_type must be a string, got {op_type!r}")
        self._op_type = op_type

    def __call__(self, rule: Rule) -> Rule:
        _register(self._op_type, rule)
        return rule


def NotDifferentiable(op_type: str) -> None:  # noqa: N802 - TF1's name
    """Declares that gradients stop at ops of this type.

    Args:
      op_type: The type of op; it must have no gradient yet.

    Example: ``tf.NoGradient("ZeroOut")``
    """
    if not isinstance(op_type, str):
        raise TypeError(f"op_type must be a string, got {op_type!r}")
    _register(op_type, None)


NoGradient = NotDifferentiable


def _register(name: str, rule: Rule | None) -> None:
    taken = _registered_at.get(name)
    if taken is None and name in REGISTRY and REGISTRY.get(name).has_gradient_rule:
        taken = REGISTRY.get(name).location
    if taken is not None:
        raise KeyError(f"Registering two gradients with name {name!r}! (Previous registration was at {taken})")
    _registered_at[name] = str(user_source(3))
    REGISTRY.gradients[name] = rule


def unregister_gradient(name: str) -> None:
    """Forgets a registered gradient (for tests and notebooks)."""
    _registered_at.pop(name, None)
    REGISTRY.gradients.pop(name, None)


_unique = [0]


def register_anonymous(rule: Rule) -> str:
    """Registers under a fresh name, for ``custom_gradient``."""
    _unique[0] += 1
    name = f"CustomGradient-{_unique[0]}"
    REGISTRY.gradients[name] = rule
    return name


def gradient_rule(op: Operation) -> tuple[bool, Rule | None]:
    """(whether there is a rule, the rule); (True, None) means gradients stop here."""
    override = op.attrs.get("_gradient_op_type")
    if override is not None:
        if override in REGISTRY.gradients:
            return True, REGISTRY.gradients[override]
        if override in REGISTRY and REGISTRY.get(override).has_gradient_rule:  # the rule of another type of op
            return True, REGISTRY.get(override).gradient_fn
        raise LookupError(
            f"gradient registry has no entry for: {override} (asked for by {op.name}, made at {op.source})"
        )
    if op.op_def.has_gradient_rule:
        return True, op.op_def.gradient_fn
    for op_type in (op.type, op.op_def.name):  # of a call of a Defun its name, for which a program may have a rule
        if op_type in REGISTRY.gradients:
            return True, REGISTRY.gradients[op_type]
    return False, None

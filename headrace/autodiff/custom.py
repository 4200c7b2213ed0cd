"""custom_gradient: a function of tensors with its own gradient; recompute-free, built on IdentityN and a gradient override."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from headrace.autodiff.registration import register_anonymous
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f(*args)`` returns ``(result, grad_fn)``; ``grad_fn(*dresults)`` gives the gradients of the arguments.

    Args:
      f: The function to decorate.  If it reads resource variables, `grad_fn` takes a keyword ``variables`` and also returns
        a list of their gradients.

    Returns:
      A function with the arguments of `f` that returns its result.

    >>> @tf.custom_gradient
    ... def log1pexp(x):
    ...     e = tf.exp(x)
    ...     return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))
    >>> x = tf.constant(100.0)
    >>> print(tf.Session().run(tf.gradients(log1pexp(x), x)[0]))
    1.0
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        graph = context.get_default_graph()
        if graph.executing_eagerly:
            return _call_eagerly(graph, f, args, kwargs)
        if kwargs:
            raise ValueError(
                f"The custom_gradient decorator currently supports keywords arguments only when eager execution is enabled; "
                f"got {sorted(kwargs)}"
            )
        inputs = [raw_ops.Identity(convert_to_tensor(a)) for a in args]
        outcome = f(*inputs)
        if not (isinstance(outcome, tuple) and len(outcome) == 2 and callable(outcome[1])):
            raise TypeError(
                f"a function decorated with custom_gradient must return (result, grad_fn), {f.__name__} returned {outcome!r}"
            )
        result, grad_fn = outcome
        is_list = isinstance(result, (list, tuple))
        results = [convert_to_tensor(r) for r in (result if is_list else [result])]

        variables = _variables_used(results, inputs)
        if variables and not takes_variables(grad_fn):
            if any(v._use_resource for v in variables):
                raise TypeError(
                    "If using @custom_gradient with a function that uses variables, then grad_fn must accept a "
                    f"'variables' keyword argument; {f.__name__} uses {', '.join(v.name for v in variables)} {at()}"
                )
            variables = []  # TF1's plain variables get no gradient here

        def rule(op: Any, *grads: Any) -> list[Any]:
            of_variables: Any = []
            if variables:
                produced, of_variables = grad_fn(*grads[: len(results)], variables=variables)
                if len(of_variables) != len(variables):
                    raise ValueError(
                        f"the gradient function of {f.__name__} returned {len(of_variables)} gradients for the "
                        f"{len(variables)} variables it uses: {', '.join(v.name for v in variables)}"
                    )
            else:
                produced = grad_fn(*grads[: len(results)])
            flat = list(produced) if isinstance(produced, (list, tuple)) else [produced]
            if len(flat) != len(inputs):
                raise ValueError(
                    f"the gradient function of {f.__name__} returned {len(flat)} gradients for {len(inputs)} arguments"
                )
            return [None] * len(results) + flat + list(of_variables)

        name = register_anonymous(rule)
        with context.get_default_graph().gradient_override_map({"IdentityN": name}):
            tensors = raw_ops.IdentityN([*results, *inputs, *(v.value() for v in variables)])
        chosen = tensors[: len(results)]
        return (
            type(result)(chosen) if is_list and not hasattr(result, "_fields") else (chosen if is_list else chosen[0])
        )

    return decorated


def takes_variables(gradient_function: Callable[..., Any]) -> bool:
    """Whether a gradient function has a parameter ``variables``."""
    parameters = inspect.signature(gradient_function).parameters
    return "variables" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _variables_used(results: list[Any], inputs: list[Any]) -> list[Any]:
    """The trainable variables that ``results`` depend on other than through ``inputs``, in the order they were made."""
    variables = {v.op: v for v in context.get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    seen = {t.op for t in inputs}
    waiting = [t.op for t in results]
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            waiting.extend(t.op for t in op.inputs)
    return [v for op, v in variables.items() if op in seen]


def _call_eagerly(graph: Any, f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Runs ``f`` and leaves it to the eager context to put the whole on the tape as one op."""
    inputs = [convert_to_tensor(a) for a in args]
    result, grad_fn, variables = graph.run_custom(f, inputs, kwargs)
    is_list = isinstance(result, (list, tuple))
    results = [convert_to_tensor(r) for r in (result if is_list else [result])]

    def rule(op: Any, *grads: Any) -> list[Any]:
        if variables:
            produced, of_variables = grad_fn(*grads, variables=[v for v, _ in variables])
        else:
            produced, of_variables = grad_fn(*grads), []
        flat = list(produced) if isinstance(produced, (list, tuple)) else [produced]
        if len(flat) != len(inputs):
            raise ValueError(
                f"the gradient function of {f.__name__} returned {len(flat)} gradients for {len(inputs)} arguments"
            )
        return [*flat, *of_variables]

    chosen = graph.custom(f.__name__, [*inputs, *(handle for _, handle in variables)], results, rule)
    if not is_list:
        return chosen[0]
    return type(result)(*chosen) if hasattr(result, "_fields") else type(result)(chosen)

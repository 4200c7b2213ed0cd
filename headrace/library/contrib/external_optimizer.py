"""Optimizers outside the graph: variables as one vector, loss and gradient as Python functions of it (contrib.opt).

``ScipyOptimizerInterface`` hands them to ``scipy.optimize.minimize``; others subclass ``ExternalOptimizerInterface``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.autodiff.gradients import gradients
from headrace.graph import context
from headrace.graph.convert import convert_to_tensor
from headrace.library.state.variables import trainable_variables
from headrace.library.tensor import array, creation

Function = Callable[[np.ndarray], Any]


class ExternalOptimizerInterface:
    """Minimises a loss by a function outside the graph, which subclasses give as ``_minimize``.

    ``equalities`` and ``inequalities`` are lists of tensors to be brought to zero, and to zero or above;
    ``var_to_bounds`` maps variables to (lower, upper).

    Args:
      loss: The scalar to minimise.
      var_list: The variables to change; None for `tf.trainable_variables()`.
      equalities: Tensors that must become 0; None for none.
      inequalities: Tensors that must become 0 or more; None for none.
      var_to_bounds: A dictionary from variables to pairs (lowest, largest) of numbers or arrays; None for no bounds.
      **optimizer_kwargs: Further arguments for the optimizer of the subclass.

    >>> class Once(tf.contrib.opt.ExternalOptimizerInterface):
    ...     def _minimize(self, initial_val, loss_grad_func, **others):
    ...         loss, gradient = loss_grad_func(initial_val)
    ...         return initial_val - 0.5 * gradient
    >>> x = tf.Variable([3.0, 4.0])
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     Once(tf.reduce_sum(x * x)).minimize(sess)
    ...     sess.run(x)
    array([0., 0.], dtype=float32)
    """

    def __init__(
        self, loss: Any, var_list: Sequence[Any] | None = None, equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None, var_to_bounds: Mapping[Any, Any] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:  # fmt: skip
        self._loss = loss
        self._equalities = list(equalities or ())
        self._inequalities = list(inequalities or ())
        self._vars = trainable_variables() if var_list is None else list(var_list)
        self._packed_bounds = _packed_bounds(self._vars, var_to_bounds) if var_to_bounds is not None else None
        self._placeholders = [creation.placeholder(v.dtype.base_dtype, v.shape) for v in self._vars]
        self._assigns = [v.assign(p) for v, p in zip(self._vars, self._placeholders, strict=True)]
        self._packed_var = _packed(self._vars)
        self._loss_grad = self._gradient(loss)
        self._equality_grads = [self._gradient(e) for e in self._equalities]
        self._inequality_grads = [self._gradient(e) for e in self._inequalities]
        self.optimizer_kwargs = optimizer_kwargs
        ends = np.cumsum([int(np.prod(v.shape.as_list())) for v in self._vars])
        self._slices = [slice(int(b), int(e)) for b, e in zip([0, *ends[:-1]], ends, strict=True)]

    def _gradient(self, tensor: Any) -> Any:
        grads = gradients(tensor, self._vars)
        return _packed([g if g is not None else creation.zeros_like(v) for g, v in zip(grads, self._vars, strict=True)])

    def minimize(
        self, session: Any = None, feed_dict: Mapping[Any, Any] | None = None, fetches: Sequence[Any] | None = None,
        step_callback: Callable[[np.ndarray], None] | None = None, loss_callback: Callable[..., None] | None = None,
        **run_kwargs: Any,
    ) -> None:  # fmt: skip
        """Runs the optimizer and leaves its result in the variables.

        After every evaluation ``loss_callback`` gets the values of ``fetches``; after every step ``step_callback``
        gets the vector of all variables.
        """
        session = session or context.get_default_session()
        if session is None:
            raise ValueError("No default session is registered; pass session=")
        feed_dict = dict(feed_dict or {})
        fetches = list(fetches or ())
        callback = loss_callback or (lambda *_: None)

        def evaluate(tensors: list[Any], extra: list[Any], then: Callable[..., None]) -> Function:
            def evaluator(x: np.ndarray) -> list[Any]:
                for placeholder, part, var in zip(self._placeholders, self._slices, self._vars, strict=True):
                    feed_dict[placeholder] = x[part].reshape(var.shape.as_list())
                session.run(self._assigns, feed_dict)
                values = session.run(tensors + extra, feed_dict, **run_kwargs)
                then(*values[len(tensors) :])
                return [np.asarray(v, np.float64) for v in values[: len(tensors)]]

            return evaluator

        def single(tensor: Any) -> Function:
            evaluator = evaluate([tensor], [], lambda *_: None)
            return lambda x: evaluator(x)[0]

        loss_and_grad = evaluate([self._loss, self._loss_grad], fetches, callback)
        start = session.run(self._packed_var)
        result = self._minimize(
            initial_val=start, loss_grad_func=loss_and_grad, equality_funcs=[single(e) for e in self._equalities],
            equality_grad_funcs=[single(g) for g in self._equality_grads],
            inequality_funcs=[single(e) for e in self._inequalities],
            inequality_grad_funcs=[single(g) for g in self._inequality_grads], packed_bounds=self._packed_bounds,
            step_callback=step_callback, optimizer_kwargs=self.optimizer_kwargs,
        )  # fmt: skip
        values = [result[part] for part in self._slices]
        feeds = {
            p: v.reshape(var.shape.as_list()) for p, v, var in zip(self._placeholders, values, self._vars, strict=True)
        }
        session.run(self._assigns, feeds)

    def _minimize(
        self, initial_val: np.ndarray, loss_grad_func: Function, equality_funcs: list[Function],
        equality_grad_funcs: list[Function], inequality_funcs: list[Function], inequality_grad_funcs: list[Function],
        packed_bounds: Any, step_callback: Any, optimizer_kwargs: dict[str, Any],
    ) -> np.ndarray:  # fmt: skip
        """The vector that minimises ``loss_grad_func``, which gives loss and gradient of a vector."""
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass it and implement the _minimize() method."
        )


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """``scipy.optimize.minimize`` on the variables of a graph; needs scipy.

        optimizer = tf.contrib.opt.ScipyOptimizerInterface(loss, method="L-BFGS-B", options={"maxiter": 100})
        optimizer.minimize(session)

    The method is L-BFGS-B by default, SLSQP where there are constraints.

    Args:
      loss: The scalar to minimise.
      var_list: The variables to change; None for `tf.trainable_variables()`.
      equalities: Tensors that must become 0; None for none.
      inequalities: Tensors that must become 0 or more; None for none.
      var_to_bounds: A dictionary from variables to pairs (lowest, largest) of numbers or arrays; None for no bounds.
      **optimizer_kwargs: Further arguments of `scipy.optimize.minimize`, such as `method`, `tol` and `options`.

    Example: ``tf.contrib.opt.ScipyOptimizerInterface(loss, options={"maxiter": 100}).minimize(session)``
    """

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self, initial_val: np.ndarray, loss_grad_func: Function, equality_funcs: list[Function],
        equality_grad_funcs: list[Function], inequality_funcs: list[Function], inequality_grad_funcs: list[Function],
        packed_bounds: Any, step_callback: Any, optimizer_kwargs: dict[str, Any],
    ) -> np.ndarray:  # fmt: skip
        minimize = _scipy_optimize().minimize
        dtype = initial_val.dtype
        constraints = [
            {"type": constraint, "fun": value, "jac": gradient}
            for constraint, values, grads in (
                ("eq", equality_funcs, equality_grad_funcs), ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for value, gradient in zip(values, grads, strict=True)
        ]  # fmt: skip
        options = dict(optimizer_kwargs)
        method = options.pop("method", "SLSQP" if constraints else self._DEFAULT_METHOD)
        if constraints:
            options["constraints"] = constraints
        if packed_bounds is not None:
            options["bounds"] = packed_bounds
        result = minimize(
            loss_grad_func, initial_val.astype(np.float64), jac=True, method=method, callback=step_callback, **options
        )
        self.result = result
        return result.x.astype(dtype)


def _scipy_optimize() -> Any:
    try:
        return importlib.import_module("scipy.optimize")
    except ImportError:
        raise ImportError("ScipyOptimizerInterface needs scipy: pip install scipy") from None


def _packed(tensors: Sequence[Any]) -> Any:
    """All elements as one vector."""
    flat = [array.reshape(convert_to_tensor(t), [-1]) for t in tensors]
    return flat[0] if len(flat) == 1 else array.concat(flat, 0)


def _packed_bounds(variables: Sequence[Any], bounds: Mapping[Any, Any]) -> list[tuple[float, float]]:
    packed: list[tuple[float, float]] = []
    for var in variables:
        shape = var.shape.as_list()
        lower, upper = bounds.get(var, (-np.inf, np.inf))
        pairs = zip(np.broadcast_to(lower, shape).flat, np.broadcast_to(upper, shape).flat, strict=True)
        packed.extend((float(a), float(b)) for a, b in pairs)
    return packed

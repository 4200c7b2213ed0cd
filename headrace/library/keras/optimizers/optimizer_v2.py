"""The base class of tf.keras.optimizers: gradients of a loss, clipped, applied to variables.

A subclass names its hyper-parameters by ``_set_hyper``, makes slots in ``_create_slots`` and gives ``_resource_apply_dense``
and ``_resource_apply_sparse``.  Hyper-parameters that are numbers become variables, so that a program can change them between
steps (``optimizer.lr = 0.1``); ``iterations`` counts the steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.autodiff.gradients import gradients
from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.eager.tape import GradientTape
from headrace.graph import context
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library import log, nest
from headrace.library.backend.session import batch_get_value, batch_set_value, get_value, set_value, track_variable
from headrace.library.control import replica
from headrace.library.control.dependency import group
from headrace.library.control.replica import ReduceOp
from headrace.library.keras.optimizers import schedules
from headrace.library.keras.optimizers.schedules import LearningRateSchedule
from headrace.library.numeric import clip, math
from headrace.library.scope import control_dependencies, init_scope, name_scope
from headrace.library.state import initializers
from headrace.library.state.update import update
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import VariableAggregation
from headrace.library.train.optimizer.optimizer import deduplicate, var_key
from headrace.library.train.saver.objects import objects_changed

_INITIALIZERS: dict[Any, Any] = {"zeros": initializers.Zeros(), "ones": initializers.Ones()}
_OPTIONS = ("clipnorm", "clipvalue", "lr", "decay")


class OptimizerV2:
    """Base class of Keras's optimizers: programs make one of those and call its methods or give it to `Model.compile`.

    Args:
      name: The prefix of the names of the optimizer's variables.
      **kwargs: `clipnorm`, the longest a gradient may be; `clipvalue`, the largest an element of one may be; `lr`, an
        older name of `learning_rate`; `decay`, by which the rate falls as ``rate / (1 + decay * iterations)``.

    >>> w = tf.keras.backend.variable(4.0)
    >>> optimizer = tf.keras.optimizers.SGD(0.25)
    >>> train = optimizer.minimize(lambda: tf.square(w), [w])
    >>> _ = tf.keras.backend.get_session().run(train)
    >>> tf.keras.backend.get_value(w)
    np.float32(2.0)
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if key not in _OPTIONS:
                raise TypeError(
                    f"Unexpected keyword argument passed to optimizer: {key}. Accepted: {', '.join(_OPTIONS)} {at()}"
                )
            if isinstance(value, (int, float)) and value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value} {at()}")
        self._use_locking = True
        self._name = name
        self._hyper: dict[str, Any] = {}
        self._slots: dict[Any, dict[str, Any]] = {}
        self._weights: list[Any] = []
        self._iterations: Any = None
        self._hypers_created = False
        self._initial_decay = kwargs.get("decay", 0.0)
        for key in ("clipnorm", "clipvalue"):
            if key in kwargs:
                setattr(self, key, kwargs[key])

    # ---- hyper-parameters

    def _set_hyper(self, name: str, value: Any) -> None:
        """Gives the hyper-parameter its value; once it is a variable, the variable."""
        value = value if isinstance(value, (Tensor, Variable)) or callable(value) else float(value)
        present = self._hyper.get(name)
        if isinstance(present, Variable) and isinstance(value, float):
            set_value(present, value)
        else:
            self._hyper[name] = value

    def _get_hyper(self, name: str, dtype: Any = None) -> Any:
        if not self._hypers_created:
            self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return value
        value = value() if callable(value) and not isinstance(value, Variable) else value
        return value if dtype is None else math.cast(value, dtype)

    def __getattr__(self, name: str) -> Any:
        hyper = self.__dict__.get("_hyper", {})
        own = "learning_rate" if name == "lr" else name
        if own in hyper:
            return self._get_hyper(own)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        own = "learning_rate" if name == "lr" else name
        if own in self.__dict__.get("_hyper", {}):
            self._set_hyper(own, value)
        else:
            super().__setattr__(name, value)

    def _create_hypers(self) -> None:
        if self._hypers_created:
            return
        with init_scope():
            for name, value in sorted(self._hyper.items()):
                if isinstance(value, float):
                    self._hyper[name] = self.add_weight(name, shape=(), initializer=value, trainable=False)
        self._hypers_created = True
        objects_changed(self)

    def _decayed_lr(self, dtype: DType) -> Any:
        """The learning rate of this step."""
        rate = self._get_hyper("learning_rate", dtype)
        if isinstance(rate, LearningRateSchedule):
            rate = math.cast(rate(math.cast(self.iterations, dtype)), dtype)
        if self._initial_decay > 0.0:
            step = math.cast(self.iterations, dtype)
            rate = rate / (1.0 + self._get_hyper("decay", dtype) * step)
        return rate

    def _serialize_hyperparameter(self, name: str) -> Any:
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return schedules.serialize(value)
        if callable(value) and not isinstance(value, Variable):
            return value()
        return get_value(value).item() if isinstance(value, (Tensor, Variable)) else value

    # ---- variables

    def add_weight(
        self, name: str, shape: Any, dtype: Any = None, initializer: Any = "zeros", trainable: bool | None = None,
        synchronization: Any = None, aggregation: VariableAggregation = VariableAggregation.NONE,
        use_resource: bool = True,
    ) -> Any:  # fmt: skip
        """A variable of the optimizer that starts at ``initializer``: a number, a name, or an initializer."""
        dtype = dtypes.as_dtype(dtype or dtypes.float32).base_dtype
        if isinstance(initializer, (int, float)):
            start: Any = initializers.Constant(initializer)
        else:
            start = _INITIALIZERS.get(initializer, initializer)
        variable = Variable(
            lambda: start(shape, dtype=dtype), trainable=bool(trainable), name=name, use_resource=use_resource,
            aggregation=aggregation,
        )  # fmt: skip
        track_variable(variable)
        return variable

    @property
    def iterations(self) -> Any:
        """The variable that counts the steps."""
        if self._iterations is None:
            with init_scope():
                self._iterations = self.add_weight("iter", shape=(), dtype=dtypes.int64, initializer=0, trainable=False)
            self._weights.append(self._iterations)
            objects_changed(self)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        if self._iterations is not None:
            raise RuntimeError(
                f"Cannot set `iterations` to a new Variable after the Optimizer weights have been created {at()}"
            )
        self._iterations = variable
        self._weights.append(variable)

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """The variable ``slot_name`` that the optimizer keeps beside ``var``, made where it is not there yet."""
        slots = self._slots.setdefault(var_key(var), {})
        if slot_name not in slots:
            with init_scope():
                name = f"{var.name.split(':')[0]}/{slot_name}"
                resource = not var.dtype.is_ref_dtype  # an update takes variables of one form
                slot = self.add_weight(name, var.shape, var.dtype, initializer, trainable=False, use_resource=resource)
            slots[slot_name] = slot
            self._weights.append(slot)
            objects_changed(self, var)
        return slots[slot_name]

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """The variable ``slot_name`` that the optimizer keeps beside ``var``."""
        slots = self._slots.get(var_key(var), {})
        if slot_name not in slots:
            raise KeyError(f"{self._name} keeps no {slot_name!r} beside {var.name!r}; it keeps {sorted(slots)} {at()}")
        return replica.beside(slots[slot_name], var)

    def slots_of(self, var: Any) -> dict[str, Any]:
        """The variables that the optimizer keeps beside ``var``, by name; none if it keeps none yet."""
        return dict(self._slots.get(var_key(var), {}))

    def _checkpoint_slots(self, var: Any) -> dict[str, Any]:
        return self.slots_of(var)

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        yield "iter", self.iterations
        yield from ((name, hyper) for name, hyper in self._hyper.items() if isinstance(hyper, Variable))

    def create_weights(self, var_list: Sequence[Any]) -> None:
        """Makes the optimizer's own variables for training these, as far as they are not there yet."""
        with init_scope():
            _ = self.iterations
            self._create_hypers()
            self._create_slots(var_list)

    def get_slot_names(self) -> list[str]:
        """The names of all slots made so far, each once."""
        return list(dict.fromkeys(name for slots in self._slots.values() for name in slots))

    @property
    def weights(self) -> list[Any]:
        """The variables of the optimizer's own state: ``iterations`` and the slots, in the order in which they were made."""
        return self._weights

    def variables(self) -> list[Any]:
        """The variables of the optimizer's own state."""
        return self._weights

    def get_weights(self) -> list[Any]:
        """The values of ``weights`` as arrays."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets the variables of the optimizer's state to these arrays, in the order of `get_weights`."""
        own = self.weights
        if len(own) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a weight list of length {len(weights)}, "
                f"but the optimizer was expecting {len(own)} weights {at()}"
            )
        for variable, value in zip(own, weights, strict=True):
            if variable.shape.tuple != np.shape(value):
                raise ValueError(
                    f"Optimizer weight shape {variable.shape} of {variable.name} not compatible with provided weight shape "
                    f"{np.shape(value)} {at()}"
                )
        batch_set_value(list(zip(own, weights, strict=True)))

    # ---- what users call

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None) -> Any:
        """An operation that takes one step: the gradients of ``loss``, applied to ``var_list``.

        ``loss`` is a function without arguments, or in a graph a tensor; ``var_list`` a list, or a function that gives one.
        """
        return self.apply_gradients(self._compute_gradients(loss, var_list, grad_loss), name=name)

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        if callable(loss):
            with GradientTape() as tape:
                if not callable(var_list):
                    tape.watch(nest.flatten(var_list))
                value = loss()
            variables = nest.flatten(var_list() if callable(var_list) else var_list)
            grads = tape.gradient(value, variables, grad_loss)
        else:
            if not isinstance(loss, Tensor) or context.executing_eagerly():
                raise TypeError(
                    f"`loss` must be a function without arguments, or a tensor in a graph; got {loss!r} {at()}"
                )
            variables = nest.flatten(var_list() if callable(var_list) else var_list)
            grads = gradients(loss, variables, grad_ys=grad_loss)
        self._check_dtypes(variables)
        return list(zip(self._clipped(grads), variables, strict=True))

    def get_gradients(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """The clipped gradients of the tensor ``loss`` for each of ``params``."""
        with name_scope("gradients"):
            grads = gradients(loss, list(params))
            for grad, param in zip(grads, params, strict=True):
                if grad is None:
                    raise ValueError(
                        f"Variable {param.name} has `None` for gradient: the loss does not depend on it, or depends on it by "
                        f"ops without gradient such as argmax, round or equal {at()}"
                    )
            return self._clipped(grads)

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """The operations of one step, in a list."""
        grads = self.get_gradients(loss, params)
        self._check_dtypes(params)
        return [self.apply_gradients(list(zip(grads, params, strict=True)))]

    def apply_gradients(self, grads_and_vars: Iterable[Any], name: str | None = None) -> Any:
        """Applies gradients to variables and counts the step.

        Args:
          grads_and_vars: Pairs of a gradient and a variable; pairs without gradient (None) are left out.
          name: A name for the ops.

        Returns:
          The operation that does so; eagerly, the new count.
        """
        pairs = _with_gradients(grads_and_vars)
        here = replica.replica_context("apply_gradients of an optimizer")
        if here is not None:
            return here.merge_call(self._applied_together, args=(pairs, name))
        with name_scope(self._name):
            by_type = self._started([variable for _, variable in pairs])
            with name_scope(name or "update"):
                updates = [
                    self._updated(grad, variable, by_type[variable.dtype.base_dtype]) for grad, variable in pairs
                ]
            with control_dependencies(updates):
                counted = _increased(self.iterations)
        return counted if context.executing_eagerly() else _operation(counted)

    def _started(self, variables: Sequence[Any]) -> dict[DType, dict[str, Any]]:
        """Makes what updates of the variables need; gives the coefficients for each type of variable."""
        self.create_weights(variables)
        self._prepare(variables)
        return {dtype: self._coefficients(dtype) for dtype in dict.fromkeys(v.dtype.base_dtype for v in variables)}

    def _applied_together(self, strategy: Any, pairs: list[tuple[Any, Any]], name: str | None) -> Any:
        """Applies the sums of the gradients of all replicas of a distribution strategy."""
        extended = strategy.extended
        sums = extended.batch_reduce_to(ReduceOp.SUM, pairs)
        with name_scope(self._name):
            by_type = self._started([variable for _, variable in pairs])

            def one(copy: Any, grad: Any) -> Any:
                return self._updated(grad, copy, by_type[copy.dtype.base_dtype])

            with name_scope(name or "update"):
                done = [extended.update(v, one, args=(g,)) for g, (_, v) in zip(sums, pairs, strict=True)]
            with control_dependencies([] if context.executing_eagerly() else done):
                counted = extended.update(self.iterations, _increased, group=False)
        return counted[0] if context.executing_eagerly() else group(*map(_operation, counted))

    def _updated(self, grad: Any, variable: Any, apply_state: dict[str, Any]) -> Any:
        if isinstance(variable, Tensor):
            raise NotImplementedError(f"Trying to update a Tensor {variable!r}; only variables can be updated {at()}")
        constraint = variable.constraint
        if isinstance(grad, IndexedSlices):
            if constraint is not None:
                raise RuntimeError(f"Cannot use a constraint function on a sparse variable, {variable.name!r} {at()}")
            values, indices = deduplicate(grad.values, grad.indices)
            return self._resource_apply_sparse(values, variable, indices, apply_state)
        done = self._resource_apply_dense(grad, variable, apply_state)
        if constraint is None:
            return done
        with control_dependencies([done]):
            return variable.assign(constraint(variable.read_value()))

    def _clipped(self, grads: Sequence[Any]) -> list[Any]:
        norm, most = self.__dict__.get("clipnorm"), self.__dict__.get("clipvalue")
        if norm is not None:
            grads = [None if g is None else clip.clip_by_norm(g, norm) for g in grads]
        if most is not None:
            grads = [None if g is None else clip.clip_by_value(g, -most, most) for g in grads]
        return list(grads)

    def _check_dtypes(self, tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            if not tensor.dtype.base_dtype.is_floating:
                raise ValueError(
                    f"Invalid type {tensor.dtype.base_dtype.name} for {tensor.name}, expected: floating-point numbers {at()}"
                )

    # ---- what subclasses override

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Makes the slots for these variables, by `add_slot`."""

    def _prepare(self, var_list: Sequence[Any]) -> None:
        """Makes what the updates of all variables share."""

    def _coefficients(self, dtype: DType) -> dict[str, Any]:
        """The hyper-parameters of this step as tensors of the type."""
        return {"lr_t": self._decayed_lr(dtype)}

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: dict[str, Any]) -> Any:
        """Ops that apply a dense gradient to ``var``."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to apply dense gradients")

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: dict[str, Any]) -> Any:
        """Ops that apply rows of a gradient, whose indices occur once, to ``var``."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to apply sparse gradients")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments as plain data."""
        limits: dict[str, Any] = {key: self.__dict__[key] for key in ("clipnorm", "clipvalue") if key in self.__dict__}
        return {"name": self._name, **limits}

    def _config_with(self, *hypers: str, **values: Any) -> dict[str, Any]:
        """`get_config` with the rate, the decay and these further hyper-parameters and values."""
        present = {name: self._serialize_hyperparameter(name) for name in ("learning_rate", "decay", *hypers)}
        return {**OptimizerV2.get_config(self), **present, **values}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """An optimizer with the arguments that `get_config` gave."""
        config = dict(config)
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        rate = config.get("learning_rate")
        if isinstance(rate, dict):
            config["learning_rate"] = schedules.deserialize(rate, custom_objects=custom_objects)
        return cls(**config)


def _increased(count: Any) -> Any:
    return update("AssignAdd", count, convert_to_tensor(1, dtypes.int64))


def _operation(result: Any) -> Operation:
    return result if isinstance(result, Operation) else result.op


def _with_gradients(grads_and_vars: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The pairs that have a gradient."""
    pairs = [tuple(pair) for pair in grads_and_vars]
    if not pairs:
        raise ValueError(f"No gradients provided for any variable: the list of pairs is empty {at()}")
    without = [variable.name for grad, variable in pairs if grad is None]
    if len(without) == len(pairs):
        raise ValueError(f"No gradients provided for any variable: {without} {at()}")
    if without:
        log.warning(f"Gradients do not exist for variables {without} when minimizing the loss.")
    return [(grad, variable) for grad, variable in pairs if grad is not None]

"""The variables made by ``get_variable`` of one graph, by full name: creating, sharing, partitioning.

Scopes (names, defaults, reuse) are ``variable_scope``'s; this store sees full names and final arguments only.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph import context, convert, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Tensor
from headrace.library.scope import init_scope
from headrace.library.state.initializers import GlorotUniform, Zeros
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.partitioner import PartitionInfo, call_partitioner, slices
from headrace.library.state.policy_partitioner import PolicyPartitioner
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization, trainable_value
from headrace.library.state.variable_def import SaveSliceInfo


class ReuseMode(enum.Enum):
    """The third way of ``reuse``: share what exists, create what does not."""

    AUTO_REUSE = 1


AUTO_REUSE = ReuseMode.AUTO_REUSE


class VariableStore:
    """Variables of one graph by name.  As thread-safe as TF1's: two threads that create the same name race."""

    def __init__(self) -> None:
        self.keeps_eager = False  # True in an EagerVariableStore: otherwise eager variables belong to the program alone
        self._vars: dict[str, Variable] = {}
        self._partitioned: dict[str, PartitionedVariable] = {}

    def get_variable(
        self, name: str, shape: Any = None, dtype: Any = dtypes.float32, initializer: Any = None,
        regularizer: Any = None, reuse: Any = None, trainable: bool | None = None, collections: Any = None,
        caching_device: Any = None, partitioner: Any = None, validate_shape: bool = True,
        use_resource: bool | None = None, custom_getter: Callable[..., Any] | None = None, constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:  # fmt: skip
        """The variable, through the custom getter if there is one."""
        if context.executing_eagerly():
            if reuse is True and not self.keeps_eager:
                raise RuntimeError(
                    "When eager execution is enabled variable reuse is only supported when an EagerVariableStore is "
                    f"active (asked for variable {name}). {at()}"
                )
            reuse = AUTO_REUSE if self.keeps_eager else False
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter!r}")
        kwargs = {
            "name": name, "shape": shape, "dtype": dtypes.as_dtype(dtype).base_dtype, "initializer": initializer,
            "regularizer": regularizer, "reuse": reuse, "trainable": trainable_value(synchronization, trainable),
            "collections": collections, "caching_device": caching_device, "partitioner": partitioner,
            "validate_shape": validate_shape, "use_resource": use_resource, "synchronization": synchronization,
            "aggregation": aggregation,
        }  # fmt: skip
        if custom_getter is None:
            return self._get(**kwargs, constraint=constraint)
        if _accepts(custom_getter, "constraint"):
            kwargs["constraint"] = constraint
        return custom_getter(getter=self._get, **kwargs)

    def _get(
        self, name: str, shape: Any = None, dtype: Any = dtypes.float32, initializer: Any = None,
        regularizer: Any = None, reuse: Any = None, trainable: bool | None = None, collections: Any = None,
        caching_device: Any = None, partitioner: Any = None, validate_shape: bool = True,
        use_resource: bool | None = None, constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:  # fmt: skip
        options = {
            "regularizer": regularizer, "reuse": reuse, "trainable": trainable, "collections": collections,
            "caching_device": caching_device, "validate_shape": validate_shape, "use_resource": use_resource,
            "constraint": constraint, "synchronization": synchronization, "aggregation": aggregation,
        }  # fmt: skip
        is_scalar = isinstance(shape, Sequence) and not shape
        if isinstance(partitioner, PolicyPartitioner) and partitioner.leaves_whole(
            shape, dtypes.as_dtype(dtype or dtypes.float32)
        ):
            partitioner = None
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner!r}")
            with context.get_default_graph().name_scope(None):
                return self._partitioned_variable(name, partitioner, shape, dtype, initializer, options)
        if reuse and partitioner is None and name in self._partitioned and name not in self._vars:
            return self._partitioned_variable(name, None, shape, dtype, initializer, options)
        if f"{name}/part_0" in self._vars:
            raise ValueError(
                f"No partitioner was provided, but a partitioned version of the variable was found: {name}/part_0. "
                "Perhaps a variable of the same name was already created with partitioning?"
            )
        return self._single_variable(name, shape, dtype, initializer, None, **options)

    # ---- one variable

    def _single_variable(
        self, name: str, shape: Any, dtype: Any, initializer: Any, partition_info: PartitionInfo | None, *,
        regularizer: Any, reuse: Any, trainable: Any, collections: Any, caching_device: Any, validate_shape: bool,
        use_resource: Any, constraint: Any, synchronization: Any, aggregation: Any,
    ) -> Variable:  # fmt: skip
        from_value = initializer is not None and not callable(initializer)
        if shape is not None and from_value:
            raise ValueError(
                f"If initializer is a constant, do not specify shape. (variable {name}, initializer {initializer!r}) {at()}"
            )
        dtype = dtypes.as_dtype(dtype)
        shape = as_shape(shape)
        if name in self._vars:
            return self._shared(name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                f"reuse=tf.AUTO_REUSE in VarScope? {at()}"
            )
        if initializer is None:
            if not shape.is_fully_defined():
                raise ValueError(
                    f"Shape of a new variable ({name}) must be fully defined, but instead was {shape}: the variable "
                    f"did not get an initializer, so its `shape` argument must be specified. {at()}"
                )
            initializer = default_initializer(name, dtype)
        with init_scope():
            initial, initial_dtype = _initial_value(name, initializer, shape, dtype, partition_info)
        declared = shape if validate_shape and initial_dtype is not None else None
        variable: Variable = Variable(
            shape=declared,
            initial_value=initial, name=name, trainable=trainable, collections=collections,
            caching_device=caching_device, dtype=initial_dtype, validate_shape=validate_shape, constraint=constraint,
            use_resource=use_resource, synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip
        eagerly = variable.graph.executing_eagerly
        if not eagerly or self.keeps_eager:
            self._vars[name] = variable
        if regularizer and not eagerly:  # TensorFlow ignores {} and what else is false, which programs pass for "none"
            self._regularize(name, variable, regularizer)
        return variable

    def _shared(self, name: str, shape: TensorShape, dtype: DType, reuse: Any) -> Variable:
        variable = self._vars[name]
        if reuse is False:
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
                f"VarScope? {at()} Originally defined at:\n\n  {variable.op.source}\n"
            )
        if not shape.is_compatible_with(variable.shape):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape {variable.shape} (made at "
                f"{variable.op.source}). {at()}"
            )
        if not dtype.is_compatible_with(variable.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype {variable.dtype.name} "
                f"(made at {variable.op.source}). {at()}"
            )
        return variable

    def _regularize(self, name: str, variable: Variable, regularizer: Callable[..., Any]) -> None:
        graph = variable.graph
        with graph.colocate_with(variable.op), graph.name_scope(f"{name}/Regularizer/"), init_scope():
            loss = regularizer(variable)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    # ---- partitioned

    def _partitioned_variable(
        self, name: str, partitioner: Any, shape: Any, dtype: Any, initializer: Any, options: dict[str, Any]
    ) -> PartitionedVariable:
        reuse = options["reuse"]
        from_value = initializer is not None and not callable(initializer)
        dtype = dtypes.as_dtype(dtype)
        shape = as_shape(shape)
        if from_value:
            if not isinstance(initializer, Tensor):
                initializer = convert.convert_to_tensor(initializer, dtype)
            shape = shape.merge_with(initializer.shape)
        partitions = call_partitioner(partitioner, shape, dtype) if partitioner is not None else None
        if name in self._partitioned:
            return self._shared_partitioned(name, shape, dtype, partitions, reuse)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did you mean "
                "to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
            )
        if partitions is None:
            raise ValueError(f"PartitionedVariable {name} needs a partitioner to be created")
        self._check_shards(name, max(partitions))
        shards = []
        for i, (offset, size) in enumerate(slices(shape.as_list(), partitions)):
            shards.append(self._shard(f"{name}/part_{i}", shape, offset, size, dtype, initializer, from_value, options))
            shards[-1]._set_save_slice_info(SaveSliceInfo(name, shape.as_list(), offset, size))
        element_type = initializer.dtype.base_dtype if from_value else dtype
        result = PartitionedVariable(name, shape, element_type, shards, partitions)
        self._partitioned[name] = result
        return result

    def _shard(
        self, name: str, shape: TensorShape, offset: list[int], size: list[int], dtype: DType, initializer: Any,
        from_value: bool, options: dict[str, Any],
    ) -> Variable:  # fmt: skip
        graph = context.get_default_graph()
        info = PartitionInfo([int(n or 0) for n in shape.as_list()], offset)
        shard_shape: list[int] | None = size
        with graph.name_scope(f"{name}/PartitionedInitializer"):
            if initializer is None:
                initializer = default_initializer(name, dtype)
            elif from_value:
                initializer = raw_ops.Slice(initializer, offset, size)
                dtype, shard_shape = initializer.dtype.base_dtype, None
        with graph.name_scope(None):
            return self._single_variable(name, shard_shape, dtype, initializer, info, **options)

    def _check_shards(self, name: str, count: int) -> None:
        """The shards that exist already, if any, must be exactly those the partitioner wants."""
        if f"{name}/part_0" not in self._vars:
            return
        if f"{name}/part_{count - 1}" not in self._vars:
            raise ValueError(
                "Partitioner returned a different partitioning than what was already found.  Partitioner returned "
                f"{count} shards, and shard {name}/part_0 was found, but {name}/part_{count - 1} was not."
            )
        if f"{name}/part_{count}" in self._vars:
            raise ValueError(
                "Partitioner returned a different partitioning than what was already found.  Partitioner returned "
                f"{count} shards, and shard {name}/part_0 was found, but so was the extra shard {name}/part_{count}."
            )

    def _shared_partitioned(
        self, name: str, shape: TensorShape, dtype: DType, partitions: list[int] | None, reuse: Any
    ) -> PartitionedVariable:
        variable = self._partitioned[name]
        if reuse is False:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        what = f"Trying to reuse partitioned variable {name}, but specified"
        if not shape.is_compatible_with(variable.get_shape()):
            raise ValueError(f"{what} shape {shape} and found shape {variable.get_shape()}.")
        if not dtype.is_compatible_with(variable.dtype):
            raise ValueError(f"{what} dtype {dtype.name} and found dtype {variable.dtype.name}.")
        if partitions is not None and variable._get_partitions() != partitions:
            raise ValueError(f"{what} partitions {partitions} and found partitions {variable._get_partitions()}.")
        return variable


def default_initializer(name: str, dtype: DType) -> Any:
    """The default initial value of a variable: small random numbers, or zeros for integers and booleans."""
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_unsigned or dtype.is_bool or dtype == dtypes.string:
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _initial_value(
    name: str, initializer: Any, shape: TensorShape, dtype: DType, info: PartitionInfo | None
) -> tuple[Any, DType | None]:
    """What to give ``Variable`` as initial value, and the dtype to ask for."""
    if not callable(initializer):
        return initializer, None
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():
        extra = {"partition_info": info} if _takes(initializer, "partition_info") else {}
        return (lambda: initializer(shape.as_list(), dtype=dtype, **extra)), dtype.base_dtype
    if _needs_no_arguments(initializer):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the shape should not be provided "
        f"or an instance of `tf.keras.initializers.*' and `shape` should be fully defined. The variable is {name}"
    )


def _signature(python_function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(python_function)
    except (TypeError, ValueError):  # builtins
        return None


def _takes(python_function: Any, name: str) -> bool:
    signature = _signature(python_function)
    return signature is not None and name in signature.parameters


def _accepts(python_function: Any, name: str) -> bool:
    signature = _signature(python_function)
    if signature is None:
        return True
    parameter_kinds = [p.kind for p in signature.parameters.values()]
    return name in signature.parameters or inspect.Parameter.VAR_KEYWORD in parameter_kinds


def _needs_no_arguments(python_function: Any) -> bool:
    signature = _signature(python_function)
    if signature is None:
        return False
    return all(
        p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()
    )

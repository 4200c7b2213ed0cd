"""``tf.TensorArray``: an array of tensors that a loop writes and reads by index.

An object stands for the array at one moment: ``write`` gives a new object, and forgetting to use that is the usual mistake
(where ops run eagerly, it changes the object and returns it).
Reading has no effect: an element may be read again even with ``clear_after_read``, which is accepted for TF1's sake.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.body import ancestors
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Operation, Tensor
from headrace.library.scope import control_dependencies, name_scope


class _Elements:
    """What is known of the elements, shared by all objects that stand for one array."""

    def __init__(self, shape: TensorShape, infer: bool, size: int | None) -> None:
        self.shape = shape
        self.infer = infer
        self.size = size
        self.gradients: dict[str, list[Tensor]] = {}  # by source, the flows after writes, in the order of the program

    def meet(self, shape: TensorShape) -> None:
        """An element of this shape is written."""
        if not self.infer:
            return
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.shape} (and infer_shape=True)")
        self.shape = shape if self.shape.ndims is None else self.shape.merge_with(shape)


class TensorArray:
    """``ta = tf.TensorArray(tf.float32, size=3).write(0, x)``, ``ta.stack()``.

    Use it as a loop variable of ``tf.while_loop``.  ``infer_shape`` asks that all elements have the shape of the first.

    Args:
      dtype: The type of the elements.
      size: How many elements it has; where it may grow, how many at first.
      dynamic_size: Whether a write behind the end makes it grow.
      clear_after_read: Accepted for TensorFlow's sake; an element may be read again in any case.
      tensor_array_name: A name for the array in error messages.
      handle, flow: An existing array at one moment, instead of a new one; then ``size`` and the two after it must not
        be given.
      infer_shape: Whether all elements must have one shape, which the first write tells.
      element_shape: The shape of the elements, with None for sizes that vary; None for any.
      colocate_with_first_write_call: Accepted for TensorFlow's sake; it has no effect.
      name: A name for the op.

    >>> ta = tf.TensorArray(tf.float32, size=2).write(0, [1.0, 2.0]).write(1, [3.0, 4.0])
    >>> both = ta.stack()  # of shape (2, 2)
    """

    def __init__(
        self, dtype: Any, size: Any = None, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
        tensor_array_name: str | None = None, handle: Tensor | None = None, flow: Tensor | None = None,
        infer_shape: bool = True, element_shape: Any = None, colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if handle is not None and tensor_array_name:
            raise ValueError("Cannot construct with both handle and tensor_array_name")
        if handle is not None and not isinstance(handle, Tensor):
            raise TypeError("Handle must be a Tensor")
        if handle is None and size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        if handle is not None and (size is not None or dynamic_size is not None or clear_after_read is not None):
            raise ValueError("Cannot provide size, dynamic_size or clear_after_read if handle is provided.")
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._colocate_with_first_write_call = colocate_with_first_write_call
        item_shape = as_shape(element_shape)
        if handle is not None:
            if flow is None:
                raise ValueError("an array made from a handle needs its flow, which holds the elements")
            self._elements = _Elements(item_shape, infer_shape or item_shape.ndims is not None, None)
            self._handle, self._flow = handle, flow
            return
        with name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            count = convert_to_tensor(size, dtypes.int32, name="size")
            fixed = None if self._dynamic_size else constant_value(count)
            self._elements = _Elements(
                item_shape, infer_shape or item_shape.ndims is not None, None if fixed is None else int(fixed)
            )
            array = raw_ops.TensorArrayV3(
                count, dtype=self._dtype, element_shape=item_shape, dynamic_size=self._dynamic_size,
                clear_after_read=True if clear_after_read is None else clear_after_read,
                identical_element_shapes=infer_shape, tensor_array_name=tensor_array_name or "", name=scope,
            )  # fmt: skip
            self._handle, self._flow = array.handle, array.flow

    # ---- what it is

    @property
    def flow(self) -> Tensor:
        """The array's value at this moment; what follows from it happens after it."""
        return self._flow

    @property
    def handle(self) -> Tensor:
        return self._handle

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The static shape of the elements, as far as it is known so far."""
        return self._elements.shape

    @property
    def _infer_shape(self) -> bool:
        return self._elements.infer

    def with_flow(self, flow: Tensor) -> TensorArray:
        """This array at another moment."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._flow = flow
        return other

    def _written(self, flow: Tensor) -> TensorArray:
        """The array after a write; where ops run eagerly, this very object, as in TF."""
        if not context.executing_eagerly():
            return self.with_flow(flow)
        self._flow = flow
        return self

    def identity(self) -> TensorArray:
        """This array, which waits for the control dependencies it is made under."""
        return self.with_flow(raw_ops.Identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array of gradients of this one: writes to an element add up, and an element without any is zero.

        ``flow`` is a gradient array's flow, or what ``tf.gradients(y, array.flow)`` gives; without it the array goes on from the
        last write to a gradient of the same ``source``, or is all zeros.

        >>> x = tf.constant([1.0, 2.0])
        >>> ta = tf.TensorArray(tf.float32, 2).unstack(x)
        >>> (flow,) = tf.gradients(ta.read(0) * ta.read(1), ta.flow)
        >>> tf.Session().run(ta.grad("gradients", flow).stack())
        array([2., 1.], dtype=float32)
        """
        if context.executing_eagerly():
            raise NotImplementedError(
                "TensorArray.grad is not supported when executing eagerly: GradientTape differentiates reads and writes itself."
            )
        if not isinstance(source, str):
            raise TypeError(f"Expected string for argument 'source' not {source!r}. {at()}")
        if not (self._dtype.is_floating or self._dtype.is_complex or self._dtype.is_integer):
            raise ValueError(f"an array of {self._dtype.name} has no gradients: its elements are no numbers {at()}")
        with name_scope(name, "TensorArrayGrad", [self._handle]):
            own = flow is None or flow is self._flow or _is_of_elements(flow)
            if own:
                flow = self._elements.gradients.get(source, [None])[-1]
                if flow is None or flow.graph is not context.get_default_graph():
                    flow = raw_ops._ZerosVariant(self._flow)
            flow = raw_ops.Identity(flow, name="gradient_flow")
        return _GradientArray(self, source, flow, own)

    def __repr__(self) -> str:
        return f"<TensorArray {self._handle.op.name!r} of {self._dtype.name}, elements {self._elements.shape}>"

    # ---- elements

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at ``index``; zeros if it was not written and the shape is known."""
        return raw_ops.TensorArrayReadV3(
            self._handle, index, self._flow, dtype=self._dtype, element_shape=self.element_shape,
            name=name or "TensorArrayReadV3",
        )  # fmt: skip

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with ``value`` at ``index``, which must not have been written before."""
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._elements.meet(tensor.shape)
            return self._written(raw_ops.TensorArrayWriteV3(self._handle, index, tensor, self._flow))

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as one tensor."""
        with name_scope(name, "TensorArrayStack", [self._handle]):
            return self.gather(raw_ops.Range(0, self.size(), 1, name="range"))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at ``indices`` as one tensor."""
        return raw_ops.TensorArrayGatherV3(
            self._handle, convert_to_tensor(indices, dtypes.int32), self._flow, dtype=self._dtype,
            element_shape=self.element_shape, name=name or "TensorArrayGatherV3",
        )  # fmt: skip

    def concat(self, name: str | None = None) -> Tensor:
        """All elements joined along their first dimension."""
        shape = self.element_shape
        rest = TensorShape(None) if shape.ndims is None else shape[1:]
        joined = raw_ops.TensorArrayConcatV3(
            self._handle, self._flow, dtype=self._dtype, element_shape_except0=rest, name=name or "TensorArrayConcatV3"
        )
        value: Tensor = joined.value
        length = shape.tuple[0] if shape.tuple else None
        if length is not None and self._elements.size is not None and self._elements.infer:
            value.set_shape(TensorShape([length * self._elements.size]).concatenate(rest))
        return value

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array filled with the rows of ``value``."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            tensor = convert_to_tensor(value, dtype=self._dtype, name="value")
            rows = tensor.shape.tuple[0] if tensor.shape.tuple else None
            count = constant(rows, dtypes.int32) if rows is not None else raw_ops.GatherV2(raw_ops.Shape(tensor), 0, 0)
            return self.scatter(raw_ops.Range(0, count, 1, name="range"), tensor)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of ``value`` at ``indices``."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            tensor = convert_to_tensor(value, dtype=self._dtype, name="value")
            if tensor.shape.ndims is not None:
                self._elements.meet(tensor.shape[1:])
            places = convert_to_tensor(indices, dtypes.int32, name="indices")
            return self._written(raw_ops.TensorArrayScatterV3(self._handle, places, tensor, self._flow))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array filled with consecutive pieces of ``value`` of the given lengths."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            tensor = convert_to_tensor(value, dtype=self._dtype, name="value")
            sizes = raw_ops.Cast(convert_to_tensor(lengths, name="lengths"), DstT=dtypes.int64)
            static_sizes = constant_value(sizes)
            alike = static_sizes is not None and static_sizes.ndim == 1 and len(set(static_sizes.tolist())) == 1
            if self._elements.infer and alike and tensor.shape.ndims:
                self._elements.meet(TensorShape([int(static_sizes[0])]).concatenate(tensor.shape[1:]))  # type: ignore[index]
            return self._written(raw_ops.TensorArraySplitV3(self._handle, tensor, sizes, self._flow))

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements."""
        if self._elements.size is not None:
            return constant(self._elements.size, dtypes.int32, name=name or "Const")
        return raw_ops.TensorArraySizeV3(self._handle, self._flow, name=name or "TensorArraySizeV3")

    def close(self, name: str | None = None) -> Operation:
        """TF1 compatibility: an array is freed when nothing uses it any more."""
        return raw_ops.TensorArrayCloseV3(self._handle, name=name or "TensorArrayCloseV3")


def _is_of_elements(flow: Tensor) -> bool:
    """Whether it is an array's own flow rather than a gradient's."""
    while True:
        op_type = flow.op.type
        if op_type == "TensorArrayV3":
            return True
        if op_type not in ("TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3", "Identity"):
            return False
        flow = flow.op.inputs[-1]


class _GradientArray(TensorArray):
    """The gradients of an array's elements.  Its flow is a gradient itself, and all it does can be differentiated again."""

    def __init__(self, primal: TensorArray, source: str, flow: Tensor, shared: bool) -> None:
        """``shared``: not of one moment, but with all that was written to the gradients of this source before its use."""
        self.__dict__.update(primal.__dict__)
        self._primal = primal
        self._source = source
        self._flow = flow
        self._shared = shared

    def with_flow(self, flow: Tensor) -> TensorArray:
        other: Any = super().with_flow(flow)
        other._shared = False
        return other

    def _now(self) -> Tensor:
        """The gradients where the program reads or adds to them: after the last write that the place waits for."""
        graph = context.get_default_graph()
        writes = self._elements.gradients.get(self._source) if self._shared else None
        if not writes:
            return self._flow
        before = ancestors(op for scope in graph._scopes.control for op in scope.ops)
        return next((flow for flow in reversed(writes) if flow.op in before), self._flow)

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        raise ValueError(
            f"an array of gradients (of source {self._source!r}) has no gradients of its own: differentiate what was read from "
            f"it with tf.gradients {at()}"
        )

    def _check_dtype(self, tensor: Tensor) -> None:
        if tensor.dtype.base_dtype != self._dtype:
            raise TypeError(
                f"a TensorArray of {self._dtype.name} cannot hold {tensor.name} of type {tensor.dtype.base_dtype.name}"
            )

    def _added(self, gradient: Tensor) -> TensorArray:
        flow: Tensor = raw_ops._AddVariants(self._now(), gradient)
        self._elements.gradients.setdefault(self._source, []).append(flow)
        return self.with_flow(flow)

    def _place(self, index: Any) -> Tensor:
        """The index, or indices, once it is sure that the array has them: a gradient alone does not know its size."""
        place = convert_to_tensor(index, dtypes.int32)
        positions, size = constant_value(place), self._elements.size
        if positions is not None and size is not None and (positions >= 0).all() and (positions < size).all():
            return place
        inside = raw_ops.LogicalAnd(place >= 0, place < self.size())
        every = raw_ops.All(inside, list(range(place.shape.ndims or 0)))
        said = constant(f"the gradients of TensorArray {self._handle.op.name} have no such index, and this size:")
        with control_dependencies([raw_ops.Assert(every, [said, place, self.size()])]):
            checked: Tensor = raw_ops.Identity(place)
        return checked

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The gradient of the element at ``index``; zeros if nothing was added to it."""
        with name_scope(name, "TensorArrayRead", [self._handle, index]):
            item: Tensor = raw_ops._ArrayItem(
                self._now(), self._place(index), self._item_shape(index), dtype=self._dtype
            )
        item.set_shape(self.element_shape)
        return item

    def _item_shape(self, index: Any) -> Any:
        shape = self.element_shape
        if shape.is_fully_defined():
            return constant(shape.as_list(), dtypes.int32)
        return raw_ops._ElementShape(self._handle, index, self._primal.flow)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The gradients with ``value`` added to that at ``index``."""
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_dtype(tensor)
            self._elements.meet(tensor.shape)
            return self._added(raw_ops._ArrayOf(self._place(index), tensor))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The gradients of the elements at ``indices`` as one tensor."""
        with name_scope(name, "TensorArrayGather", [self._handle, indices]):
            places = convert_to_tensor(indices, dtypes.int32)
            like = self._primal.gather(places)
            items: Tensor = raw_ops._ArrayStacked(self._now(), places, raw_ops.Shape(like), dtype=self._dtype)
        items.set_shape(like.shape)
        return items

    def concat(self, name: str | None = None) -> Tensor:
        """All gradients joined along their first dimension."""
        with name_scope(name, "TensorArrayConcat", [self._handle]):
            like = raw_ops.TensorArrayConcatV3(self._primal.handle, self._primal.flow, dtype=self._dtype)
            joined: Tensor = raw_ops._ArrayConcat(
                self._now(), like.lengths, raw_ops.Shape(like.value), dtype=self._dtype
            )
        return joined

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The gradients with the rows of ``value`` added at ``indices``."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            tensor = convert_to_tensor(value, dtype=self._dtype, name="value")
            return self._added(raw_ops._ArrayUnstacked(self._place(indices), tensor))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The gradients with consecutive pieces of ``value`` added."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            tensor = convert_to_tensor(value, dtype=self._dtype, name="value")
            sizes = raw_ops.Cast(convert_to_tensor(lengths, name="lengths"), DstT=dtypes.int64)
            return self._added(raw_ops._ArraySplit(tensor, sizes))

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements of the array that these are the gradients of."""
        return self._primal.size(name)

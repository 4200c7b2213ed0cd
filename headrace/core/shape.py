"""Static shapes: `TensorShape` with possibly unknown dimensions or rank, and TF1's `Dimension`.

Owns partial-shape algebra: merging, compatibility, concatenation, broadcasting. Does not know tensors or ops; shape
rules of ops are written with these parts, next to their op.

A graph holds tens of thousands of shapes, so a TensorShape is one slot with a tuple of `int | None` (or None when the
rank is unknown). `Dimension` objects exist only while user code looks at them. Our own code uses `.tuple`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast, overload

from headrace.core.proto import protos

__all__ = [
    "Dimension",
    "Dims",
    "ShapeLike",
    "TensorShape",
    "as_dimension",
    "as_shape",
    "broadcast_shape",
    "dimension_value",
    "matrix",
    "scalar",
    "unknown_shape",
    "vector",
]

Dims: TypeAlias = tuple[int | None, ...]
_Tuple: TypeAlias = tuple[Any, ...]
ShapeLike: TypeAlias = Any
"""What `TensorShape()` accepts: None, a TensorShape, an int, or an iterable of None, int and Dimension."""


def _size(value: Any) -> int | None:
    """Checks one dimension: a non-negative integer, None, or a Dimension; a float that is whole counts as an integer."""
    if value is None:
        return None
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"Ambiguous dimension: {value!r} is not a whole number")
        value = int(value)
    try:
        size = operator.index(value)
    except TypeError:
        raise TypeError(
            f"A dimension must be an integer, None or a Dimension; received {value!r} of type {type(value).__name__}"
        ) from None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


class Dimension:
    """One size in a shape, possibly unknown (`value is None`). Immutable.

    Arithmetic with an unknown operand gives `Dimension(None)`. As in TF1, comparing with an unknown operand gives
    None, neither true nor false.

    Args:
      value: An integer of at least 0, another `Dimension`, or None.

    >>> tf.Dimension(3) + 2, tf.Dimension(None).value
    (Dimension(5), None)
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = _size(value)

    @property
    def value(self) -> int | None:
        """The size, or None when unknown."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Whether the two sizes are equal or one of them is unknown."""
        size = _size(other)
        return self._value is None or size is None or self._value == size

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError unless the two sizes are compatible."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {as_dimension(other)} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """What is known from either; ValueError when they contradict."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return self if self._value is not None else Dimension(other.value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return self.__index__()

    def __index__(self) -> int:
        if self._value is None:
            raise TypeError("An unknown Dimension has no integer value")
        return self._value

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)

    __hash__ = None  # type: ignore[assignment]  # `==` may answer None, so there is no hash that agrees with it

    def __eq__(self, other: object) -> Any:
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, operator.ne)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, operator.ge)

    def _compare(self, other: Any, compare: Any) -> Any:
        try:
            size = _size(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None if self._value is None or size is None else compare(self._value, size)

    def __add__(self, other: Any) -> Dimension:
        return self._combine(self._value, other, operator.add)

    def __sub__(self, other: Any) -> Dimension:
        return self._combine(self._value, other, operator.sub)

    def __mul__(self, other: Any) -> Dimension:
        return self._combine(self._value, other, operator.mul)

    def __floordiv__(self, other: Any) -> Dimension:
        return self._combine(self._value, other, operator.floordiv)

    def __mod__(self, other: Any) -> Dimension:
        return self._combine(self._value, other, operator.mod)

    def __radd__(self, other: Any) -> Dimension:
        return self._combine(other, self._value, operator.add)

    def __rsub__(self, other: Any) -> Dimension:
        return self._combine(other, self._value, operator.sub)

    def __rmul__(self, other: Any) -> Dimension:
        return self._combine(other, self._value, operator.mul)

    def __rfloordiv__(self, other: Any) -> Dimension:
        return self._combine(other, self._value, operator.floordiv)

    def __rmod__(self, other: Any) -> Dimension:
        return self._combine(other, self._value, operator.mod)

    def __truediv__(self, other: Any) -> Dimension:
        raise TypeError("unsupported operand type(s) for /: a Dimension divides with // (whole numbers only)")

    __rtruediv__ = __truediv__

    @staticmethod
    def _combine(left: Any, right: Any, combine: Any) -> Dimension:
        try:
            left, right = _size(left), _size(right)
        except (TypeError, ValueError):
            return cast(Dimension, NotImplemented)
        return Dimension(None if left is None or right is None else combine(left, right))


class TensorShape:
    """A possibly partial shape: known, known rank with some unknown sizes, or unknown altogether. Immutable.

    Iterating and indexing give Dimension objects, as in TF1; `as_list()` and `.tuple` give plain sizes.
    Two shapes are equal when they know the same things; unknown equals unknown.

    Args:
      dims: A list of sizes, each an integer or None; another shape, a TensorShapeProto, or None for an unknown shape.

    >>> shape = tf.TensorShape([None, 3])
    >>> shape.rank, shape.as_list(), shape.is_compatible_with([2, 3])
    (2, [None, 3], True)
    """

    __slots__ = ("_dims",)

    _dims: Dims | None

    def __init__(self, dims: ShapeLike) -> None:
        if dims.__class__ is tuple or dims.__class__ is list:
            self._dims = tuple([d if d.__class__ is int and d >= 0 else _size(d) for d in dims])
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif dims is None:
            self._dims = None
        elif isinstance(dims, (str, bytes)):
            raise TypeError(f"A shape is None, an integer or a sequence of integers and None; received {dims!r}")
        elif hasattr(dims, "unknown_rank"):  # a TensorShapeProto
            self._dims = None if dims.unknown_rank else tuple([None if d.size < 0 else d.size for d in dims.dim])
        elif hasattr(dims, "__iter__") and getattr(dims, "ndim", 1) != 0:
            self._dims = tuple([_size(d) for d in dims])
        else:
            self._dims = (_size(dims),)

    @staticmethod
    def from_tuple(dims: Dims | None) -> TensorShape:
        """A shape from a tuple known to be valid (non-negative ints and None): no checks. For our own code."""
        shape = _new(TensorShape)
        shape._dims = dims
        return shape

    @property
    def tuple(self) -> Dims | None:
        """The sizes as a plain tuple of `int | None`, or None when the rank is unknown."""
        return self._dims

    @property
    def dims(self) -> list[Dimension] | None:
        """The sizes as Dimension objects, or None when the rank is unknown."""
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None when unknown."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        """The number of dimensions, or None when unknown: TF1's other name for `rank`."""
        return None if self._dims is None else len(self._dims)

    def as_list(self) -> list[int | None]:
        """The sizes as a list of `int | None`; ValueError when the rank is unknown."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> Any:
        """The shape as a TensorShapeProto."""
        proto = protos().TensorShapeProto(unknown_rank=self._dims is None)
        for size in self._dims or ():
            proto.dim.add(size=-1 if size is None else size)
        return proto

    def num_elements(self) -> int | None:
        """The product of the sizes, or None unless all are known."""
        if self._dims is None:
            return None
        count = 1
        for size in self._dims:
            if size is None:
                return None
            count *= size
        return count

    def is_fully_defined(self) -> bool:
        """Whether the rank and every size are known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless fully defined."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    # Relations between shapes.

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Whether some full shape fits both."""
        mine, theirs = self._dims, as_shape(other)._dims
        if mine is None or theirs is None:
            return True
        return len(mine) == len(theirs) and all(
            a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True)
        )

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ValueError unless some full shape fits both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """What is known from either shape; ValueError when they contradict."""
        shape = as_shape(other)
        mine, theirs = self._dims, shape._dims
        if mine is None or mine == theirs:
            return shape
        if theirs is None:
            return self
        if not self.is_compatible_with(shape):
            raise ValueError(f"Shapes {self} and {shape} are not compatible")
        return self.from_tuple(tuple(b if a is None else a for a, b in zip(mine, theirs, strict=True)))

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """The most specific shape that both are instances of: what the two agree on."""
        mine, theirs = self._dims, as_shape(other)._dims
        if mine is None or theirs is None or len(mine) != len(theirs):
            return unknown_shape()
        return self.from_tuple(tuple(a if a == b else None for a, b in zip(mine, theirs, strict=True)))

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """The sizes of this shape followed by those of `other`; unknown when either rank is."""
        mine, theirs = self._dims, as_shape(other)._dims
        return unknown_shape() if mine is None or theirs is None else self.from_tuple(mine + theirs)

    def __add__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return as_shape(other).concatenate(self)

    # Rank.

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises ValueError when both ranks are known and differ."""
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError when the rank is known and is not `rank`."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, with at least its rank known; ValueError when the rank is another."""
        self.assert_has_rank(rank)
        return unknown_shape(rank) if self._dims is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape; ValueError when its rank is known and lower."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape; ValueError when its rank is known and higher."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    # A sequence of Dimensions.

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([Dimension(d) for d in self._dims])

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...

    @overload
    def __getitem__(self, key: int) -> Dimension: ...

    def __getitem__(self, key: int | slice) -> Dimension | TensorShape:
        if isinstance(key, slice):
            return self._slice_of_unknown(key) if self._dims is None else self.from_tuple(self._dims[key])
        return Dimension(None if self._dims is None else self._dims[key])

    @staticmethod
    def _slice_of_unknown(key: slice) -> TensorShape:
        if key.step is not None:
            raise ValueError("Cannot take a slice with a step from a shape with unknown rank.")
        start = 0 if key.start is None else key.start
        if key.stop is None or start < 0 or key.stop < 0:
            return unknown_shape()
        return unknown_shape(max(key.stop - start, 0))

    # Identity.

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self._dims == other._dims
        try:
            return self._dims == TensorShape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        sizes = ", ".join("?" if d is None else str(d) for d in self._dims)
        return f"({sizes},)" if len(self._dims) == 1 else f"({sizes})"

    def __repr__(self) -> str:
        return f"TensorShape({self.dims!r})"

    def __reduce__(self) -> _Tuple:
        return TensorShape, (self._dims,)

    def __copy__(self) -> TensorShape:
        return self

    def __deepcopy__(self, memo: object) -> TensorShape:
        return self


_new = object.__new__
_UNKNOWN = TensorShape(None)
_SCALAR = TensorShape(())


def as_shape(shape: ShapeLike) -> TensorShape:
    """`shape` as a TensorShape; a TensorShape comes back as it is."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def as_dimension(value: Any) -> Dimension:
    """`value` as a Dimension; a Dimension comes back as it is."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: Any) -> Any:
    """The plain `int | None` of a Dimension; anything else comes back as it is.

    Args:
      dimension: A `tf.Dimension`, an integer or None.

    Returns:
      An integer, or None if the size is not known.

    >>> tf.dimension_value(tf.Dimension(3))
    3
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension


def unknown_shape(rank: int | None = None) -> TensorShape:
    """A shape of unknown sizes, and of unknown rank unless `rank` is given."""
    return _UNKNOWN if rank is None else TensorShape.from_tuple((None,) * rank)


def scalar() -> TensorShape:
    """The shape of a scalar."""
    return _SCALAR


def vector(length: Any) -> TensorShape:
    """The shape of a vector."""
    return TensorShape((length,))


def matrix(rows: Any, cols: Any) -> TensorShape:
    """The shape of a matrix."""
    return TensorShape((rows, cols))


def broadcast_shape(a: ShapeLike, b: ShapeLike) -> TensorShape:
    """The shape of an elementwise op on `a` and `b` under numpy's broadcasting, as far as it is known.

    An unknown size against a size above one must turn out to be that size (or one), so the result is known.
    """
    first, second = as_shape(a), as_shape(b)
    left, right = first._dims, second._dims
    if left is None or right is None:
        return _UNKNOWN
    if left == right and None not in left:
        return first
    rank = max(len(left), len(right))
    left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    return TensorShape.from_tuple(tuple(_broadcast_size(x, y, first, second) for x, y in zip(left, right, strict=True)))


def _broadcast_size(x: int | None, y: int | None, a: TensorShape, b: TensorShape) -> int | None:
    if x == 1:
        return y
    if y == 1 or x == y:
        return x
    if x is None or y is None:
        size = y if x is None else x
        return size if size else None  # against zero the answer is left open, as in TensorFlow
    raise ValueError(f"Incompatible shapes for broadcasting: {a} and {b}")


def is_within(shape: TensorShape, bound: TensorShape) -> bool:
    """Whether every value of the shape is one of the bound."""
    if bound.tuple is None:
        return True
    return shape.tuple is not None and fits(shape.tuple, bound.tuple)


def fits(shape: Sequence[int | None], bound: Sequence[int | None]) -> bool:
    """Whether there are as many sizes, and the same where the bound has one."""
    return len(shape) == len(bound) and all(b is None or a == b for a, b in zip(shape, bound, strict=True))

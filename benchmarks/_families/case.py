"""One op at one size, as a graph that both libraries build from the same text, and as something to call.

The graph holds several copies of the op, each on variables of its own, so that nothing can be shared or folded and a step
costs what the ops cost. Checks that always succeed take the results, so that nothing can be left out either.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES = ("small", "medium", "large")
COPIES = {"small": 16, "medium": 4, "large": 1}
ELEMENTS = (4096, 2**17, 2**22)  # of the element-wise ops
TOLERANCE = 2e-4  # of the greatest absolute value
TAKEN = 16  # results that one check takes


@dataclass(frozen=True)
class Case:
    """``build(tf, *variables)`` gives the results of one copy; ``inputs(size, random)`` the arrays for its variables."""

    family: str
    op: str
    size: str
    build: Callable[..., Any]
    inputs: Callable[[Any, np.random.RandomState], tuple[Any, ...]]
    extent: Any
    gradient: bool = False
    lazy: bool = False  # the gradient is to be read
    check: str = "values"  # or "shapes", for random results
    tolerance: float = TOLERANCE

    @property
    def name(self) -> str:
        return f"{self.family}/{self.op}/{self.size}"


CASES: dict[str, Case] = {}


def add(
    family: str, op: str, build: Callable[..., Any], inputs: Callable[..., Any], sizes: tuple[Any, ...] = ELEMENTS,
    gradient: bool | str = False, **options: Any,
) -> None:  # fmt: skip
    """Adds an op in three sizes: forward, and with ``gradient`` its gradient.

    ``gradient`` may be "only", or "read" for one that is arranged only when it is read.
    """
    lazy = gradient == "read"
    for backward in [False] * (gradient != "only") + [True] * bool(gradient):
        name = op + " gradient" * backward + ", Neg" * (backward and lazy)
        for size, extent in zip(SIZES, sizes, strict=True):
            case = Case(family, name, size, build, inputs, extent, backward, lazy, **options)
            assert case.name not in CASES, case.name
            CASES[case.name] = case


# ---- running one


class Prepared:
    """A session with a case's graph, and what is called: `step` runs every copy, `empty` what a step costs anyhow."""

    def __init__(self, tf: Any, case: Case, threads: int) -> None:
        self._case, self._tf = case, tf
        self._fed: dict[Any, Any] = {}
        self.copies = COPIES[case.size]
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(1)
            fine = tf.Variable(True, trainable=False)
            made = [self._copy(i) for i in range(self.copies)]
            self._first = made[0]
            taken = [value for copy in made for value in copy]
            checks = [_take(tf, fine, taken[i : i + TAKEN]) for i in range(0, len(taken), TAKEN)]
            initialise = tf.group(tf.global_variables_initializer(), tf.tables_initializer())
            step, empty = tf.group(*checks), _take(tf, fine, [fine])
        config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=1)
        self._session = tf.Session(graph=graph, config=config)
        self._session.run(initialise, self._fed)
        self._fed.clear()
        self.step, self.empty = self._session.make_callable(step), self._session.make_callable(empty)

    def values(self) -> list[np.ndarray]:
        """The results of the first copy."""
        found = [np.asarray(value) for value in self._session.run(self._first)]
        return [value.astype("S") if value.dtype == object else value for value in found]

    def close(self) -> None:
        self._session.close()

    def _copy(self, number: int) -> list[Any]:
        """One copy's results, as a flat list of tensors."""
        case, tf = self._case, self._tf
        random = np.random.RandomState(zlib.crc32(f"{case.family}/{case.op}/{number}".encode()) % 2**31)
        variables = [self._variable(array) for array in case.inputs(case.extent, random)]
        results = flat(case.build(tf, *variables))
        if not case.gradient:
            return results
        results = [y for y in results if y.dtype.base_dtype.is_floating or y.dtype.base_dtype.is_complex]
        wanted = [v for v in variables if v.dtype.base_dtype.is_floating or v.dtype.base_dtype.is_complex]
        arriving = [self._variable(_like(y, random)) for y in results]
        found = [tf.convert_to_tensor(g) for g in tf.gradients(results, wanted, arriving) if g is not None]
        return [tf.negative(g) for g in found] if case.lazy else found

    def _variable(self, array: Any) -> Any:
        tf = self._tf
        array = np.asarray(array)
        dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
        initial = tf.placeholder(dtype, array.shape)
        self._fed[initial] = array
        return tf.Variable(initial, trainable=False, use_resource=False)


def flat(results: Any) -> list[Any]:
    """Tensors of tensors, lists, sparse tensors and sparse gradients."""
    if isinstance(results, (list, tuple)):
        return [value for result in results for value in flat(result)]
    if hasattr(results, "dense_shape") and hasattr(results, "indices"):
        return [results.values]
    return [results]


def once(tf: Any, key: str, make: Callable[[], Any]) -> Any:
    """What is made once for a graph, such as a table."""
    found = tf.get_collection(key)
    if not found:
        tf.add_to_collection(key, make())
        found = tf.get_collection(key)
    return found[0]


def read(build: Callable[..., Any]) -> Callable[..., Any]:
    """Reads what an op gives: some arrange it only when it is read, and that is part of their cost."""
    return lambda tf, *inputs: [tf.negative(y) for y in flat(build(tf, *inputs))]


def _take(tf: Any, fine: Any, values: list[Any]) -> Any:
    return tf.raw_ops.Assert(condition=fine, data=values)


def _like(result: Any, random: np.random.RandomState) -> np.ndarray:
    shape = result.shape.as_list()
    dtype = result.dtype.base_dtype.as_numpy_dtype
    return np.asarray(random.randn(*shape)).astype(dtype)


# ---- inputs


def floats(*counts: int) -> Callable[..., Any]:
    """That many inputs of n normal numbers."""
    return lambda n, r: tuple(normal(r, n) for _ in range(counts[0] if counts else 1))


def normal(r: np.random.RandomState, *shape: int) -> np.ndarray:
    return np.asarray(r.randn(*shape), np.float32)


def positive(r: np.random.RandomState, *shape: int) -> np.ndarray:
    return r.uniform(0.5, 2.0, shape).astype(np.float32)


def integers(r: np.random.RandomState, below: int, *shape: int, dtype: Any = np.int32) -> np.ndarray:
    return r.randint(0, below, shape).astype(dtype)


def strings(values: Any) -> np.ndarray:
    return np.array([str(v).encode() for v in values], object)

"""Learning which ops a pure function runs, so that its next call with the same key runs the kernels and nothing else.

Most of what the library does in Python for an op (defaults, deprecated names, scopes, conversion) depends only on dtypes and
Python arguments.  ``learn`` runs such a function once on probes: tensors that hold the values but note when the program looks at
a rank, a shape or a value.  Meanwhile an observer notes the ops.  If no value was looked at, these ops are the recipe for all
calls with these dtypes and Python arguments (and ranks, or shapes, if it looked at those).  No op has a second implementation:
a recipe is what the first call did.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.dtypes import INDEX
from headrace.core.shape import TensorShape
from headrace.eager import tape_entry
from headrace.eager.binding import HOST, Bound, HostTensor, host_numbers
from headrace.eager.recipe import Recipe, Step
from headrace.eager.tensor import EagerHandle, EagerTensor, Immediate

NOTHING, RANK, SHAPE, VALUE = range(4)  # what a function looked at
RECIPES = 256  # kept for one function; calls with further keys run the function itself
_STEPS = 64  # of the longest recipe
_FEW = 16  # the most integers of a constant that are kept as numbers
_INDEX = frozenset(d.as_datatype_enum for d in INDEX)
_observing: contextvars.ContextVar[Any] = contextvars.ContextVar("headrace_observing", default=None)


# ---- watching


class _Shape(TensorShape):
    """A shape that notes how much of it is asked for."""

    __slots__ = ("_hidden",)

    def __init__(self, dims: tuple[int, ...]) -> None:
        self._hidden = dims

    @property
    def _dims(self) -> Any:  # type: ignore[override]
        _look(SHAPE)
        return self._hidden

    @property
    def ndims(self) -> int:
        _look(RANK)
        return len(self._hidden)

    rank = ndims

    def __len__(self) -> int:
        _look(RANK)
        return len(self._hidden)

    def is_fully_defined(self) -> bool:
        return True  # as the shape of a value always is


class Probe(Immediate):
    """An eager tensor that notes what is asked of it."""

    __slots__ = ()

    @property
    def shape(self) -> TensorShape:
        return _Shape(tuple(self._value.shape))

    _shape = shape  # type: ignore[assignment]

    @property
    def ndim(self) -> int:
        _look(RANK)
        return len(self._value.shape)

    @property
    def _static_value(self) -> Any:  # type: ignore[override]
        _look(VALUE)
        return super()._static_value

    def numpy(self) -> Any:
        _look(VALUE)
        return super().numpy()

    def _current(self) -> Any:
        _look(VALUE)
        return self._value


def _look(what: int) -> None:
    observer = _observing.get()
    if observer is not None:
        observer.looked = max(observer.looked, VALUE if observer.dynamic else what)


class _Observer:
    """Takes the place of a tape, and is told of every op."""

    tracked = None

    def __init__(self) -> None:
        self.looked = NOTHING
        self.seen: list[tuple[Bound, Sequence[Any], Sequence[Any]]] = []
        self.pure = True
        self.dynamic = False  # whether shapes may depend on values by now

    def see(self, bound: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        if bound is None or not bound.op_def.traits.pure or len(self.seen) >= _STEPS:
            self.pure = False
            return
        self.seen.append((bound, inputs, outputs))
        for tensor in outputs:
            if tensor.__class__ is EagerTensor:
                tensor.__class__ = Probe
        self.dynamic = self.dynamic or bound.op_def.traits.dynamic_shape

    def fold(self) -> None:
        """Forgets the ops that give shapes: their outputs are constants."""
        for bound, _, outputs in self.seen:
            if _gives_shape(bound):
                for tensor in outputs:
                    tensor.__class__ = EagerTensor
        self.seen = [s for s in self.seen if not _gives_shape(s[0])]

    def accessed(self, handle: Any) -> None:
        self.pure = False  # a variable that is no argument


def _gives_shape(bound: Bound) -> bool:
    traits = bound.op_def.traits
    return traits.host_output and not traits.opaque


# ---- making recipes


def learn(
    python_function: Callable[[Sequence[Any]], Any], tensors: Sequence[Any], shaped: bool = False
) -> tuple[int, Recipe | None]:
    """Runs the function on probes of the tensors: (what it looked at, its recipe).

    The recipe is None if ops alone cannot repeat the call.

    ``shaped``: an op that gives a shape counts as a look at the shape, so that recipes hold it as a constant.
    """
    observer = _Observer()
    watching, active = _observing.set(observer), tape_entry.active.set((observer,))
    try:
        probes = [_probe(t) for t in tensors]
        result = python_function(probes)
    except Exception:  # noqa: BLE001 - the caller then calls the function itself, which says what is wrong
        return VALUE, None
    finally:
        tape_entry.active.reset(active)
        _observing.reset(watching)
    if shaped and not observer.dynamic and any(_gives_shape(bound) for bound, _, _ in observer.seen):
        observer.looked = max(observer.looked, SHAPE)
        observer.fold()
    if not observer.pure or observer.looked == VALUE:
        return VALUE, None
    return observer.looked, _recipe(observer.seen, probes, result)


def _probe(tensor: Any) -> Probe:
    probe = Probe()
    probe._value = tensor._value
    probe._dtype_enum = tensor._dtype_enum
    return probe


def _recipe(seen: Sequence[Any], probes: Sequence[Any], result: Any) -> Recipe | None:
    wrap, parts = _parts(result)
    if parts is None:
        return None
    seen = _needed(seen, parts)
    slots = {id(p): i for i, p in enumerate(probes)}
    constants = _constants(seen, slots)
    if any(isinstance(t, EagerHandle) for t in constants.values()):
        return None
    steps = []
    count = len(slots)
    for bound, inputs, outputs in seen:
        steps.append(Step(bound, [slots[id(t)] for t in inputs], constants))
        for tensor in outputs:
            slots[id(tensor)] = count
            count += 1
    if any(p is not None and id(p) not in slots for p in parts):
        return None  # a tensor that no op returned: it might be another one each time
    places = [None if p is None else slots[id(p)] for p in parts]
    if any(i in constants for i in places):
        return None
    return Recipe(steps, list(constants.values()), places if wrap else places[0], wrap, len(probes))


def _constants(seen: Sequence[Any], slots: dict[int, int]) -> dict[int, Any]:
    """The inputs that come from no argument and no op, by slot; a few integers become numbers.  Adds to ``slots``."""
    computed = {id(t) for _, _, outputs in seen for t in outputs}
    constants: dict[int, Any] = {}
    for bound, inputs, _ in seen:
        for tensor, code in zip(inputs, bound.codes, strict=True):
            if id(tensor) not in slots and id(tensor) not in computed:
                slots[id(tensor)] = len(slots)
                constants[slots[id(tensor)]] = tensor
            slot = slots.get(id(tensor))
            if code == HOST and slot in constants and _is_index(tensor):
                constants[slot] = HostTensor(host_numbers(tensor), tensor._dtype_enum)
    return constants


def _is_index(tensor: Any) -> bool:
    """Whether these are a few integers.  They are kept as numbers, which may be in the keys of gradient rules."""
    value = tensor._value
    return tensor.__class__ is EagerTensor and tensor._dtype_enum in _INDEX and value.is_cpu and value.numel() <= _FEW


def _parts(result: Any) -> tuple[Any, Sequence[Any] | None]:
    """(how to wrap the tensors of the result again, these tensors); no tensors if the result holds anything else."""
    if isinstance(result, Immediate):
        return None, [result]
    result_class = type(result)
    if not isinstance(result, (list, tuple)) or not all(p is None or isinstance(p, Immediate) for p in result):
        return None, None
    if hasattr(result_class, "_make"):
        return result_class._make, result
    return result_class if result_class in (list, tuple) else None, result if result_class in (list, tuple) else None


def _needed(seen: Sequence[Any], parts: Sequence[Any]) -> list[Any]:
    """The ops that the result depends on."""
    identities = {id(p) for p in parts}
    needed_calls = []
    for bound, inputs, outputs in reversed(seen):
        if any(id(t) in identities for t in outputs):
            identities.update(map(id, inputs))
            needed_calls.append((bound, inputs, outputs))
    return needed_calls[::-1]

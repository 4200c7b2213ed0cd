"""Learning what a function of pure ops does, so that its next call of the same kind runs the kernels and nothing else.

Most of what the library does in Python for an op (defaults, deprecated names, scopes, conversion) depends on the kinds of the
arguments alone.  ``learn`` runs such a function once on probes: tensors that hold the values but note when the program looks at
a rank, a shape or a value, while an observer notes the ops.  If no value was looked at, the ops are the plan for all calls with
these dtypes and Python arguments (and ranks, or shapes, if it looked at those).  No op has a second implementation: a plan is
what the first one did.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.dtypes import INDEX, DType
from headrace.core.shape import TensorShape
from headrace.eager import record
from headrace.eager.binding import HOST, Bound, HostTensor, host_numbers
from headrace.eager.plan import Plan, Step
from headrace.eager.tensor import EagerHandle, EagerTensor, Immediate, _handles
from headrace.graph import context as graphs

NOTHING, RANK, SHAPE, VALUE = range(4)  # what a function looked at
PLANS = 256  # remembered for one function; after that it runs as it is written
_LENGTH = 16  # of the longest list of numbers that is part of a key
_STEPS = 64  # of the longest plan
_INDEX = frozenset(d.as_datatype_enum for d in INDEX)
_default: Any = graphs.get_default_graph
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
        return True  # of every tensor that has a value


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
    """Stands where a tape stands, and is told of every op."""

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


# ---- making plans


def learn(
    function: Callable[..., Any], tensors: Sequence[Any], give: Callable[[Sequence[Any]], Any], shaped: bool = False
) -> tuple[int, Any]:
    """Runs ``function(give(probes))``: (what it looked at, its plan); no plan where the ops do not tell the whole story.

    ``tensors`` are the arguments that are tensors, or handles of variables.  ``shaped``: to ask an op for a shape is to look at
    it, so that plans hold it as a constant.
    """
    observer = _Observer()
    watching, active = _observing.set(observer), record.active.set((observer,))
    try:
        probes = [_probe(t) for t in tensors]
        result = function(give(probes))
    except Exception:  # noqa: BLE001 - the call itself follows, and says what is wrong
        return VALUE, None
    finally:
        record.active.reset(active)
        _observing.reset(watching)
    if shaped and not observer.dynamic and any(_gives_shape(bound) for bound, _, _ in observer.seen):
        observer.looked = max(observer.looked, SHAPE)
        observer.fold()
    if not observer.pure or observer.looked == VALUE:
        return VALUE, None
    return observer.looked, _plan(observer, tensors, probes, result)


def _probe(tensor: Any) -> Probe:
    made = Probe()
    if tensor.__class__ is EagerHandle:
        made._value = tensor._value.value
        made._kind = tensor._kind - 100  # the dtype of the value, not of the reference
    else:
        made._value = tensor._value
        made._kind = tensor._kind
    return made


def _plan(observer: _Observer, tensors: Sequence[Any], probes: Sequence[Any], result: Any) -> Plan | None:
    wrap, parts = _parts(result)
    if parts is None:
        return None
    seen = _needed(observer.seen, parts)
    made = {id(t) for _, _, outputs in seen for t in outputs}
    slots = {id(p): i for i, p in enumerate(probes)}
    constants: dict[int, Any] = {}
    for _, inputs, _ in seen:
        for tensor in inputs:
            if id(tensor) not in slots and id(tensor) not in made:
                if isinstance(tensor, EagerHandle):
                    return None
                slots[id(tensor)] = len(slots)
                constants[slots[id(tensor)]] = tensor
    for bound, inputs, _ in seen:
        for tensor, code in zip(inputs, bound.codes, strict=True):
            if code == HOST and slots.get(id(tensor)) in constants and _is_index(tensor):
                constants[slots[id(tensor)]] = HostTensor(host_numbers(tensor), tensor._kind)
    handles = {i for i, t in enumerate(tensors) if t.__class__ is EagerHandle}
    count, steps = len(slots), []
    ranks = [_value_of(t).ndim for t in tensors] if observer.looked >= RANK else None
    for bound, inputs, outputs in seen:
        refs = [slots[id(t)] for t in inputs]
        if not handles.isdisjoint(refs):
            bound = bound.reading([i for i, r in enumerate(refs) if r in handles])
        steps.append(Step(bound, refs, constants, ranks))
        for tensor in outputs:
            slots[id(tensor)] = count
            count += 1
    if any(p is not None and (id(p) not in slots or slots[id(p)] in handles) for p in parts):
        return None  # a tensor that no op gave: it might be another one each time
    found = [None if p is None else slots[id(p)] for p in parts]
    if any(f in constants for f in found):
        return None
    return Plan(steps, list(constants.values()), found if wrap else found[0], wrap, len(probes))


def _is_index(tensor: Any) -> bool:
    """Whether these are a few integers, which may as well be kept as numbers: gradient rules are remembered by them."""
    value = tensor._value
    return tensor.__class__ is EagerTensor and tensor._kind in _INDEX and value.is_cpu and value.numel() <= _LENGTH


def _parts(result: Any) -> tuple[Any, Sequence[Any] | None]:
    """How the result is made of tensors, and these."""
    if isinstance(result, Immediate):
        return None, [result]
    kind = type(result)
    if not isinstance(result, (list, tuple)) or not all(p is None or isinstance(p, Immediate) for p in result):
        return None, None
    if hasattr(kind, "_make"):
        return kind._make, result
    return kind if kind in (list, tuple) else None, result if kind in (list, tuple) else None


def _needed(seen: Sequence[Any], parts: Sequence[Any]) -> list[Any]:
    """The ops that the result depends on."""
    wanted = {id(p) for p in parts}
    kept = []
    for bound, inputs, outputs in reversed(seen):
        if any(id(t) in wanted for t in outputs):
            wanted.update(map(id, inputs))
            kept.append((bound, inputs, outputs))
    return kept[::-1]


# ---- remembering them


_UNKNOWN = object()


class Memory:
    """The plans of one function by the kinds of its arguments; ``level`` is how closely it has ever looked at tensors."""

    __slots__ = ("count", "function", "level", "mixed", "names", "plans", "quick")

    def __init__(self, function: Callable[..., Any], names: Sequence[str]) -> None:
        self.function = function
        self.names = [n != "name" for n in names]
        self.plans: dict[Any, Any] = {}  # None: what was learned is that there is none
        self.quick: list[dict[Any, Step]] = []  # the plans of one plain op, by keys that the entry makes, for each lane
        self.mixed = False  # whether a step that takes certain ranks only was given others
        self.level = NOTHING
        self.count = 0

    def lane(self) -> dict[Any, Step]:
        """A table of steps for one more way of calling."""
        self.quick.append({})
        return self.quick[-1]

    def other(self, args: Sequence[Any], steps: dict[Any, Step], key: Any, ranked: Any) -> Any:
        """Calls the function after a step that takes certain ranks only refused those of the arguments."""
        self.mixed = True
        steps.pop(key, None)
        return self.call(args, steps, key, ranked)

    def call(
        self, args: Sequence[Any], steps: dict[Any, Step] | None = None, key_of_dtypes: Any = None, key_of_ranks: Any = None
    ) -> Any:  # fmt: skip
        """Calls the function, by a plan if there is one.  One of a single plain op goes into ``steps`` under a given key."""
        tensors: list[Any] = []
        tokens: list[Any] = []
        for value, counts in zip(args, self.names, strict=True):
            kind = value.__class__
            if kind is EagerTensor:
                tensors.append(value)
                tokens.append(value._kind + 0.5)  # half a number: equal to no Python argument
            elif kind is int or value is None:
                tokens.append(value)
            elif counts:
                tokens.append(_token(value, tensors))
        if self.level == RANK:
            tokens += [_value_of(t).ndim for t in tensors]
        elif self.level == SHAPE:
            tokens += [_value_of(t).shape for t in tensors]
        if not tensors and not _default().quick:
            return self.function(*args)
        key = tuple(tokens)
        plan = self.plans.get(key)
        if plan is None:
            if key in self.plans or _UNKNOWN in tokens:
                return self.function(*args)
            plan = self._learn(key, tensors, args)
            if plan is None:
                return self.function(*args)
        if plan.alone is not None and plan.alone.listed == (
            args[0].__class__ is list and (bool(tensors) or not args[0])
        ):
            if steps is not None and self.level == RANK:
                steps[key_of_ranks] = plan.alone
            if steps is not None and (
                self.level == NOTHING or (self.level == RANK and plan.alone.exact is not None and not self.mixed)
            ):
                steps[key_of_dtypes] = plan.alone
        return plan.run(tensors, _default())

    def _learn(self, key: Any, tensors: Sequence[Any], args: Sequence[Any]) -> Any:
        if self.count >= PLANS:
            return None
        self.count += 1
        looked, plan = learn(_applied, tensors, lambda probes: (self.function, args, probes))
        if self.level < looked < VALUE:  # keys say too little: the next call of this kind learns again
            self.level = looked
            self.plans.clear()
            for steps in self.quick:
                steps.clear()
        else:
            self.plans[key] = plan
        return plan


def variable_rank(handle: Any) -> int:
    """The rank of the value a variable holds; -1 if it holds none."""
    return getattr(getattr(getattr(handle, "_value", None), "value", None), "ndim", -1)


def _value_of(tensor: Any) -> Any:
    return tensor._value.value if tensor.__class__ is EagerHandle else tensor._value


def _applied(call: Any) -> Any:
    function, args, probes = call
    left = iter(probes)
    return function(*[_with_probes(a, left) for a in args])


def _with_probes(value: Any, probes: Any) -> Any:
    kind = value.__class__
    if kind is EagerTensor or kind is EagerHandle or kind in _handles:
        return next(probes)
    if (kind is list or kind is tuple) and value and _is_tensor(value[0]):
        return kind([next(probes) for _ in value])
    return value


def _is_tensor(value: Any) -> bool:
    return value.__class__ is EagerTensor or value.__class__ in _handles


def _token(value: Any, tensors: list[Any]) -> Any:
    """What an argument adds to the key; tensors go to ``tensors``."""
    kind = value.__class__
    if kind is EagerTensor:
        tensors.append(value)
        return value._kind + 0.5
    if kind is int or value is None:
        return value
    if kind is list or kind is tuple:
        return _token_of_list(value, tensors)
    if kind is bool or kind is str:
        return (kind, value)
    if kind is float:
        return (kind, value) if value else _UNKNOWN  # 0.0 equals -0.0
    if kind in _handles:
        handle = _handles[kind](value)
        if handle.__class__ is not EagerHandle or not hasattr(handle._value, "value"):
            return _UNKNOWN
        tensors.append(handle)
        return handle._kind + 0.5
    if kind is DType or kind is type:
        return (kind, value)
    if kind is slice:
        return _token_of_numbers(kind, (value.start, value.stop, value.step))
    return (kind, "...") if value is Ellipsis else _UNKNOWN


def _token_of_list(value: Any, tensors: list[Any]) -> Any:
    if len(value) > _LENGTH:
        return _UNKNOWN
    if value and _is_tensor(value[0]):
        tokens = [_token(v, tensors) if _is_tensor(v) else _UNKNOWN for v in value]
        return _UNKNOWN if _UNKNOWN in tokens else (len(value), *tokens)
    return _token_of_numbers(value.__class__, value)


def _token_of_numbers(kind: type, values: Sequence[Any]) -> Any:
    tensors: list[Any] = []
    tokens = [v if v.__class__ is int else _token(v, tensors) for v in values]
    return _UNKNOWN if tensors or _UNKNOWN in tokens else (kind, *tokens)

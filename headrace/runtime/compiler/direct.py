"""Calling compiled code without the layers around it.

An artifact of torch's compiler wraps its code in functions that handle gradients, aliases and subclasses of tensors.  A
region has none of these, and for a small step the wrappers cost as much as the step.  So the code inside the artifact is
run beside the artifact on the same invented inputs, and used by itself if it does exactly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from headrace.runtime.compiler.cubin import NeedsCompiler
from headrace.runtime.compiler.lower import Lowered

LARGEST = 1 << 24  # bytes of inputs: for larger steps the layers do not matter, and trying would cost memory ...
LARGEST_ELSEWHERE = 1 << 28  # ... unless the code has to leave the process, which it can only do without them
DEEPEST = 12
NOISE = 1e-2  # of the largest value: on a GPU two runs of one kernel may add in different orders

Code = Callable[[list[Any]], Any]


class NotDirect(Exception):
    """The code inside an artifact cannot be used by itself; carries the reason."""


class NotTried(NotDirect):
    """Perhaps it can: it refused the inputs that were invented for it."""


def direct(
    artifact: Callable[..., Any], fakes: Sequence[Any], fetched: Sequence[int] = ()
) -> Callable[[list[Any]], Any]:
    """A function of a list of inputs; the artifact behind it, or the code inside.

    Results at the positions ``fetched`` have memory of their own.
    """

    def whole(inputs: list[Any]) -> Any:
        return apart(artifact(*inputs), inputs, fetched)

    try:
        inside, is_apart = bare(artifact, fakes, fetched, LARGEST)
    except NotDirect:
        return whole
    return inside if is_apart else whole


def bare(
    artifact: Callable[..., Any],
    fakes: Sequence[Any],
    fetched: Sequence[int],
    largest: int = LARGEST_ELSEWHERE,
    form: Callable[[Code], Code] = lambda code: code,
) -> tuple[Code, bool]:
    """The code inside the artifact, and whether each of its results has memory of its own; if not, they need ``apart``.

    ``form`` gives the code the form in which it will be used; that is called for the first time after the artifact has run.
    """
    inside = _inside(artifact)
    if inside is None:
        raise NotDirect("the artifact has an unknown form")
    if size(fakes) > largest:
        raise NotDirect(f"its inputs take {size(fakes)} bytes, more than {largest}")
    inside = form(inside)
    is_apart = _tried(lambda inputs: apart(artifact(*inputs), inputs, fetched), inside, fakes)
    if is_apart is None:
        raise NotDirect("it needs the layers around it")
    return inside, is_apart


def size(fakes: Sequence[Any]) -> int:
    """How many bytes the inputs take."""
    return sum(f.numel() * f.element_size() for f in fakes)


def _tried(whole: Callable[[list[Any]], Any], inside: Callable[[list[Any]], Any], fakes: Sequence[Any]) -> bool | None:
    """What ``_try`` says with the first invented inputs that are not refused: 0 is no length, 1 may be no index."""
    for integer in (0, 1):
        try:
            return _try(whole, inside, fakes, integer)
        except (NeedsCompiler, torch.OutOfMemoryError):  # with other values too
            raise
        except Exception as e:  # noqa: BLE001 - a refused value (a matrix that has no inverse) says nothing
            refused = e
    raise NotTried(f"it refuses invented inputs: {type(refused).__name__}: {refused}") from refused


def apart(results: Sequence[Any], inputs: Sequence[Any], wanted: Sequence[int]) -> Sequence[Any]:
    """The results, those at the positions ``wanted`` copied where they lie in the memory of an input or of another result.

    A compiler leaves out what changes nothing (``x + 0``), and returns the input: a variable, or what the user fed.
    """
    if not wanted:
        return results
    memory = {t.untyped_storage().data_ptr() for t in inputs}
    distinct = list(results)
    for i in wanted:
        place = distinct[i].untyped_storage().data_ptr()
        if place in memory:
            distinct[i] = distinct[i].clone()
        memory.add(place)
    return distinct


def _inside(artifact: Any) -> Callable[[list[Any]], Any] | None:
    """The compiled code: what the object of that name in the artifact's layers calls."""
    seen: set[int] = set()
    layer = [artifact]
    for _ in range(DEEPEST):
        after: list[Any] = []
        for thing in layer:
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            if isinstance(thing, Lowered):
                return thing.code
            if type(thing).__name__ == "CompiledFxGraph":
                code: Callable[[list[Any]], Any] | None = getattr(thing, "current_callable", None)
                return code
            after += _parts(thing)
        layer = after
    return None


def _parts(thing: Any) -> list[Any]:
    parts = []
    for cell in getattr(thing, "__closure__", None) or ():
        try:
            parts.append(cell.cell_contents)
        except ValueError:  # not filled
            continue
    if hasattr(thing, "__wrapped__"):
        parts.append(thing.__wrapped__)
    if not isinstance(thing, type) and type(thing).__module__.startswith("torch."):
        parts += list(getattr(thing, "__dict__", {}).values())
    return [p for p in parts if callable(p) and not isinstance(p, (type, torch.Tensor))]


def _try(
    whole: Callable[[list[Any]], Any], inside: Callable[[list[Any]], Any], fakes: Sequence[Any], integer: int
) -> bool | None:
    """None if the two give different results or leave different values in their inputs; else whether all memory is distinct."""
    first, second = ([_invented(f, i, integer) for i, f in enumerate(fakes)] for _ in range(2))
    expected = list(whole(list(first)))
    results = list(inside(list(second)))
    if len(results) != len(expected):
        return None
    for a, b in zip([*expected, *first], [*results, *second], strict=True):
        if not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype or a.stride() != b.stride():
            return None
        if not _same(torch.nan_to_num(a), torch.nan_to_num(b)):
            return None
    places = [t.untyped_storage().data_ptr() for t in [*second, *results] if t.numel()]
    return len(set(places)) == len(places)


def _same(a: Any, b: Any) -> bool:
    if a.device.type == "cpu" or not a.dtype.is_floating_point or not a.numel():
        return torch.equal(a, b)
    return bool((a - b).abs().max() <= NOISE * a.abs().max())


def _invented(fake: Any, seed: int, integer: int = 0) -> Any:
    """Invented values; the same small number for all integers, which may be indices."""
    value = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=fake.device)
    if not fake.dtype.is_floating_point:
        return value.fill_(integer)
    exact = torch.float64 if fake.device.type == "cpu" else torch.float32
    count = torch.arange(fake.numel(), dtype=exact, device=fake.device).reshape(fake.shape)
    return value.copy_(torch.sin(count * 0.7 + seed) * 0.5 + 0.6)

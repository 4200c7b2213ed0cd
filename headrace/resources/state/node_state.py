"""The states that nodes of one graph keep themselves, such as random generators: by node name, saved and restored.

A state can be saved if it is a generator of torch's or numpy's, or if it has the two methods of `Resumable`.  What comes from a
checkpoint usually comes before the node's first run, so it waits here until the node's state is made.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from headrace.core.errors import InvalidArgumentError
from headrace.resources.state.container import NodeState


class Resumable(ABC):
    """State of one node that a checkpoint can hold."""

    @abstractmethod
    def saved(self) -> bytes:
        """All that `resume` needs.  Called while other steps may use the state."""

    @abstractmethod
    def resume(self, data: bytes) -> None:
        """Goes on from what `saved` gave; ValueError if it is not of this kind of state."""


class NodeStates:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._states: dict[str, Any] = {}
        self._restored: dict[str, bytes] = {}  # from a checkpoint, of nodes that have no state yet

    def get_or_make(self, name: str, make: Callable[[], Any]) -> Any:
        """The state of a node, made if it is not there."""
        with self._lock:
            if name not in self._states:
                self._states[name] = make()
            return self._states[name]

    def all(self) -> dict[str, Any]:
        """The states that there are, by the names of their nodes."""
        with self._lock:
            return dict(self._states)

    def resume(self, name: str, state: Any) -> None:
        """Lets a state that was just made go on from what was restored for its node, if anything was."""
        with self._lock:
            data = self._restored.get(name)
            if data is not None:
                _resume(name, state, data)
                del self._restored[name]

    def restart(self, name: str, make: Callable[[], Any]) -> None:
        """Lets a node's state, if it has one, begin like a new one; what was restored for it is forgotten."""
        with self._lock:
            self._restored.pop(name, None)
            if name in self._states and (data := _saved(make())) is not None:
                _resume(name, self._states[name], data)

    def saved(self) -> dict[str, bytes]:
        """The states that can be saved, by the names of their nodes; also those restored that no node has asked for yet."""
        with self._lock:
            states = dict(self._states)
            waiting = dict(self._restored)
        saved = {name: data for name, state in states.items() if (data := _saved(state)) is not None}
        return {**waiting, **saved}

    def restore(self, saved: dict[str, bytes]) -> None:
        """Nodes of these names go on from here.  Other nodes are left as they are."""
        with self._lock:
            for name, data in saved.items():
                if name in self._states:
                    _resume(name, self._states[name], data)
                else:
                    self._restored[name] = data

    def end(self) -> None:
        """Ends and forgets all states."""
        with self._lock:
            for state in self._states.values():
                if isinstance(state, NodeState):
                    state.end()
            self._states.clear()
            self._restored.clear()


# ---- states as bytes: what they are of, a colon, and the rest


def _saved(state: Any) -> bytes | None:
    if isinstance(state, torch.Generator):
        return _torch_tag(state) + state.get_state().numpy().tobytes()
    if isinstance(state, np.random.Generator):
        return b"numpy:" + numpy_state(state)
    return b"own:" + state.saved() if isinstance(state, Resumable) else None


def _torch_tag(generator: torch.Generator) -> bytes:
    return f"torch {generator.device.type}:".encode()


def _resume(name: str, state: Any, data: bytes) -> None:
    tag, _, rest = data.partition(b":")
    try:
        if isinstance(state, torch.Generator):
            _check_tag(tag, _torch_tag(state)[:-1])
            state.set_state(torch.from_numpy(np.frombuffer(rest, np.uint8).copy()))
        elif isinstance(state, np.random.Generator):
            _check_tag(tag, b"numpy")
            resume_numpy(state, rest)
        elif isinstance(state, Resumable):
            _check_tag(tag, b"own")
            state.resume(rest)
        else:
            raise ValueError("the node keeps no state that can be restored")
    except (ValueError, RuntimeError, KeyError, TypeError) as error:
        raise InvalidArgumentError(None, None, f"the saved state of {name} does not fit this node: {error}") from None


def reseed(generator: Any, seed: int) -> None:
    """Lets a generator of torch's or numpy's begin anew."""
    if isinstance(generator, torch.Generator):
        generator.manual_seed(seed)
    else:
        generator.bit_generator.state = type(generator.bit_generator)(seed).state


def _check_tag(tag: bytes, expected: bytes) -> None:
    if tag != expected:
        raise ValueError(
            f"it is one of {tag.decode(errors='replace')!r}, and the node has one of {expected.decode()!r}"
        )


def numpy_state(generator: np.random.Generator) -> bytes:
    """The state of one of numpy's generators."""
    return json.dumps(generator.bit_generator.state).encode()


def resume_numpy(generator: np.random.Generator, data: bytes) -> None:
    """Sets a generator of numpy's to what `numpy_state` gave."""
    generator.bit_generator.state = json.loads(data)

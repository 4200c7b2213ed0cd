"""What a layer does only while training: decided by the argument ``training``, or by the learning phase without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph import raw_ops
from headrace.library.backend.phase import learning_phase
from headrace.library.state.smart_cond import smart_cond


def training_or_phase(training: Any) -> Any:
    """The argument ``training`` of a call, a bool, 0, 1 or a tensor of bool; the learning phase if it is None."""
    return learning_phase() if training is None else training


def while_training(training: Any, noisy: Callable[[], Any], inputs: Any) -> Any:
    """``noisy()`` while training, ``inputs`` otherwise."""
    return smart_cond(training_or_phase(training), noisy, lambda: raw_ops.Identity(inputs))

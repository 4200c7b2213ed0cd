"""What products of float32 are computed in, and where 16 bits take their place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

import torch

from headrace.core.config import ConfigProto, RewriterConfig
from headrace.core.dtypes import DType, bfloat16, float16

HALVES: Final = {"bfloat16": bfloat16, "float16": float16}
MIXED_VARIABLES: Final = ("TF_ENABLE_AUTO_MIXED_PRECISION", "TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE")


_asked = [False]  # by the program, for all sessions


def ask_mixed_precision(on: bool) -> None:
    """Says whether products on accelerators are computed in 16 bits where a session's config says nothing."""
    _asked[0] = on


def asked_precision(config: ConfigProto) -> str:
    """What products of float32 are computed in: ``HEADRACE_PRECISION``, else what the config says."""
    precision = os.environ.get("HEADRACE_PRECISION", config.precision)
    if precision not in ("highest", "high", "medium", *HALVES):
        raise ValueError(f"HEADRACE_PRECISION must be highest, high, medium, bfloat16 or float16, got {precision!r}")
    return precision


def half_of(config: ConfigProto, name: str, device: torch.device) -> DType | None:
    """The type of 16 bits that products on the device are computed in (mixed precision); None to leave them in 32.

    A config's ``precision`` counts on every device.  ``auto_mixed_precision`` is for accelerators, as in TensorFlow: bfloat16
    where the device has it, else float16.
    """
    precision = asked_precision(config)
    if precision in HALVES:
        return HALVES[precision]
    if not asks_mixed_precision(config) or "device:CPU" in name or device.type == "meta":
        return None
    old = device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
    return float16 if old else bfloat16


def half_types(config: ConfigProto, devices: Mapping[str, torch.device]) -> Callable[[str], DType | None] | None:
    """The type of 16 bits by the name of a device; None if no device has one."""
    types = {name: half_of(config, name, device) for name, device in devices.items()}
    return types.get if any(types.values()) else None


def asks_mixed_precision(config: ConfigProto) -> bool:
    """By the config, by `ask_mixed_precision`, or by the variables that TensorFlow reads too."""
    setting = config.graph_options.rewrite_options.auto_mixed_precision
    if setting != RewriterConfig.DEFAULT:
        return setting != RewriterConfig.OFF
    return _asked[0] or any(os.environ.get(name, "").lower() in ("1", "true") for name in MIXED_VARIABLES)

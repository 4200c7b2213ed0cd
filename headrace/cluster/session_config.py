"""What of a session's configuration other tasks must know, as plain data."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from headrace.core.config import ConfigProto

_FIELDS: Final = (
    "compile", "control_flow", "deterministic", "precision", "operation_timeout_in_ms", "isolate_session_state",
    "intra_op_parallelism_threads", "inter_op_parallelism_threads", "allow_soft_placement",
)  # fmt: skip


def to_plain(config: ConfigProto) -> dict[str, Any]:
    """The fields that matter where a partition runs."""
    plain = {name: getattr(config, name) for name in _FIELDS}
    plain["opt_level"] = int(config.graph_options.optimizer_options.opt_level)
    plain["global_jit_level"] = int(config.graph_options.optimizer_options.global_jit_level)
    return plain


def from_plain(plain: Mapping[str, Any], server: ConfigProto) -> ConfigProto:
    """The configuration of a session on a server: the session's where it says something, else the server's."""
    config = copy.deepcopy(server)
    default = ConfigProto()
    for name in _FIELDS:
        if plain[name] != getattr(default, name):
            setattr(config, name, plain[name])
    options = config.graph_options.optimizer_options
    options.opt_level = plain["opt_level"]
    options.global_jit_level = plain["global_jit_level"]
    return config

"""Starting a model from the checkpoint of another one: what to start, and under which names it was."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.library import log
from headrace.library.train.saver.initialize import warm_start


class VocabInfo(NamedTuple):
    """The vocabularies of an embedding, the new and the old one."""

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


class WarmStartSettings(NamedTuple):
    """What of a checkpoint, or of the latest one in a folder, a model starts with before it is trained.

    ``vars_to_warm_start`` is a regular expression for trainable variables, a list of them for any, or a list of variables.
    """

    ckpt_to_initialize_from: str
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Any = None
    var_name_to_prev_var_name: Any = None


def checked_settings(warm_start_from: Any) -> WarmStartSettings | None:
    """The settings themselves, or those of a path: all trainable variables."""
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if isinstance(warm_start_from, (str, bytes)) or hasattr(warm_start_from, "__fspath__"):
        return WarmStartSettings(os.fsdecode(warm_start_from))
    raise ValueError(
        f"warm_start_from must be a path or a tf.estimator.WarmStartSettings, instead got {warm_start_from!r} {at()}"
    )


def start_from(settings: WarmStartSettings) -> None:
    """Lets the initialisers of the default graph's variables read the checkpoint."""
    log.info("Warm-starting with WarmStartSettings: %s", settings)
    warm_start(
        settings.ckpt_to_initialize_from, settings.vars_to_warm_start, settings.var_name_to_vocab_info,
        settings.var_name_to_prev_var_name,
    )  # fmt: skip

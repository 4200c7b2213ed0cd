"""Weights of a model as a checkpoint of TensorFlow, in which the attributes that lead to a variable are its name."""

from __future__ import annotations

import os
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.library import log
from headrace.library.backend.session import batch_set_value
from headrace.library.train.saver import objects
from headrace.library.train.saver.checkpoint import CheckpointLoadStatus
from headrace.library.train.saver.object_graph import Found
from headrace.library.train.saver.state_file import update_checkpoint_state


def is_checkpoint(path: Any) -> bool:
    """Whether there is a checkpoint of this name."""
    return os.path.isfile(f"{os.fspath(path)}.index")


def write(model: Any, prefix: str) -> None:
    """Writes the variables of a model, and of its optimizer, as the checkpoint ``prefix``."""
    objects.save(model, prefix)
    update_checkpoint_state(os.path.dirname(prefix) or ".", prefix, [prefix])


def read(model: Any, prefix: str) -> Any:
    """Sets the variables of a model, and of its optimizer as far as it has any yet, to those of the checkpoint.

    Where ops run eagerly, what is made later gets its value then.
    """
    restoration = objects.Restoration(model, prefix)
    if restoration.message is None and not model.built:
        raise ValueError(
            f"the checkpoint {prefix!r} is of a tf.train.Saver, and the model {model.name!r} has no variables yet whose names "
            f"could be looked up: call it on some input first {at()}"
        )
    if restoration.message is not None:
        found = list(restoration.match().found.values())
    else:  # of a tf.train.Saver
        found = [Found(v, v.op.name, v.op.name) for v in model.weights if restoration.reader.has_tensor(v.op.name)]
    there = {id(one.holder) for one in found}
    missing = [variable.name for variable in model.weights if id(variable) not in there]
    if len(missing) == len(model.weights) and missing:
        raise ValueError(
            f"the checkpoint {prefix!r} has no variable of the model {model.name!r}, such as {missing[0]} {at()}"
        )
    if missing:
        log.warning(
            "The checkpoint %s lacks %d variables of the model, which stay as they are: %s",
            prefix,
            len(missing),
            missing[:5],
        )
    if context.executing_eagerly() and restoration.message is not None:
        if restoration.restore_eagerly():
            restoration.wait()
    else:
        batch_set_value([(one.holder, restoration.value(one)) for one in found])
    return CheckpointLoadStatus(model, restoration)

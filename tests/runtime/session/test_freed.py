"""What a closed session held is free immediately, not when Python's collector runs."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import headrace as tf


@pytest.mark.parametrize("compiled", ["off", "auto"])
def test_a_closed_session_holds_no_variable(compiled: str) -> None:
    """Feeds of unknown shapes and tiers give its plans circles."""
    x = tf.placeholder(tf.float32, [None])
    v = tf.get_variable("v", initializer=np.ones(4, np.float32))
    y = v * tf.reduce_sum(x)
    held: list[weakref.ref[Any]] = []
    gc.collect()
    gc.disable()
    try:
        with tf.Session(config=tf.ConfigProto(compile=compiled)) as session:
            session.run(v.initializer)
            for _ in range(3):
                session.run(y, {x: [1.0]})
            plan = session._master.plan([x], [y], [])
            (handle,) = [n for n in plan.graph.nodes if n.op_def.traits.handle]
            held.append(weakref.ref(session._master.registered.state(handle).value))
            assert held[0]() is not None
            del plan
        assert held[0]() is None
    finally:
        gc.enable()

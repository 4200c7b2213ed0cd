"""Sessions for tests that need one for a single run, and the ways in which steps run."""

from typing import Any

import pytest

import headrace as tf

MODES = {
    "interpreted": tf.ConfigProto(compile="off"),
    "compiled": tf.ConfigProto(compile="always"),
    "lowered": tf.ConfigProto(control_flow="lowered"),
}
modes = pytest.mark.parametrize("config", MODES.values(), ids=MODES)


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feed)


def initialize_and_run(fetches: Any, feed: Any = None) -> Any:
    with initialized_session() as session:
        return session.run(fetches, feed)


def initialized_session(**options: Any) -> tf.Session:
    """A session of the default graph in which all variables have values."""
    session = tf.Session(**options)
    session.run(tf.global_variables_initializer())
    return session

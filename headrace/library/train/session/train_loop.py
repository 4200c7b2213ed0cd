"""tf.train.basic_train_loop: calls one function until a supervisor stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def basic_train_loop(
    supervisor: Any, train_step_fn: Callable[..., Any], args: Any = None, kwargs: Any = None, master: str = ""
) -> None:
    """Calls ``train_step_fn(session, *args, **kwargs)`` in a managed session of the supervisor until it stops.

    Args:
      supervisor: The `tf.train.Supervisor`.
      train_step_fn: What to call for each step; it or a hook of its own asks the supervisor to stop.
      args: A tuple of further arguments.
      kwargs: A dict of keyword arguments.
      master: The session's target; "" for this process.

    >>> step = tf.train.get_or_create_global_step()
    >>> train = step.assign_add(1)
    >>> sv = tf.train.Supervisor(logdir=None)
    >>> def train_step(sess, last_step):
    ...     if sess.run(train) == last_step:
    ...         print('done at', last_step)
    ...         sv.request_stop()
    >>> tf.train.basic_train_loop(sv, train_step, args=(3,))
    done at 3
    """
    arguments, keywords = tuple(args or ()), dict(kwargs or {})
    with supervisor.managed_session(master) as sess:
        while not supervisor.should_stop():
            train_step_fn(sess, *arguments, **keywords)

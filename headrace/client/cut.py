"""A cut between the steps of all sessions on tasks: for what has to see variables of one moment."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from headrace.client.session import BaseSession
from headrace.core.errors import InvalidArgumentError
from headrace.core.source import at


def cut(session: BaseSession, tasks: Sequence[str], wait_secs: float = 60.0) -> AbstractContextManager[list[str]]:
    """Inside, no step of any session writes a variable of these tasks, and none has written only a part of what it writes there.

    Steps under way are waited for, ``wait_secs`` at most: then DeadlineExceededError names them, and all goes on.  Those that
    come later begin after the block.  The tasks are named as devices are: ``/job:ps/replica:0/task:1``.
    """
    master = session._master
    unknown = [task for task in tasks if task not in master.tasks]
    if unknown:
        raise InvalidArgumentError(
            None, None, f"the session knows no task {unknown[0]}; it knows {', '.join(sorted(master.tasks))} {at()}"
        )
    return master.cut(tasks, wait_secs)

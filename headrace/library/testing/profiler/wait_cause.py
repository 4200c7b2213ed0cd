"""What a node of a traced step waits for, in words that stand after "waits for"."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PART = re.compile(r"(/[^> ]*)>")  # who sends a message, in its key
_TASK = re.compile(r"/job:(\w+)/replica:\d+/task:(\d+)")
_CAUSES = (("QueueEnqueue", "room in queue"), ("Queue", "queue"), ("Iterator", "iterator"), ("Mutex", "lock"))


def task_name(device: str) -> str:
    """``/job:ps/replica:0/task:1/device:CPU:0`` -> ``ps 1``; what has no task is said as it is."""
    match = _TASK.match(device)
    return f"{match[1]} {match[2]}" if match else device


def wait_cause(op: str, name: str, inputs: Sequence[str], device: str) -> str:
    """``queue input/fifo_queue``, ``iterator it``, ``ps 0``, ``GPU:0``: another task, or another device of the same."""
    if op == "_RecvMany":
        senders = {match[1] for key in inputs if (match := _PART.search(key))}
        here = task_name(device)
        said = {s.rpartition("device:")[2] if task_name(s) == here else task_name(s) for s in senders}
        return " and ".join(sorted(said)) or "the client"
    of = inputs[0] if inputs else name
    return next((f"{words} {of}" for prefix, words in _CAUSES if op.startswith(prefix)), f"{op} {of}")


def node_text(op: str, name: str) -> str:
    """A node in words: ``MatMul `product` ``; of one that sends a message, where that goes: ``sending to ps 0``."""
    return f"sending to {task_name(name.rpartition('>')[2])}" if op == "_SendMany" else f"{op} `{name}`"

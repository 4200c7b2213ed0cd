"""tf.train.replicas: one optimizer for every way in which workers train a model together.

Here are the modes and their arguments; `replicas_optimizer` and `local_steps` have the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.core.policy import told
from headrace.core.source import at
from headrace.library import log
from headrace.library.train.optimizer.optimizer import Optimizer
from headrace.library.train.replica.all_reduce import AllReduceOptimizer
from headrace.library.train.replica.auto import TAKES, Auto, checked_allow, settle
from headrace.library.train.replica.local_steps import LocalStepsOptimizer
from headrace.library.train.replica.replicas_optimizer import ReplicasOptimizer
from headrace.library.train.replica.sync_replicas_optimizer import SyncReplicasOptimizer

AUTO: Final = "auto"
DENSE: Final = ("servers", "all_reduce")


@dataclass(frozen=True, slots=True)
class _Mode:
    """Whether a mode gathers, and whether what it gathers are gradients; what it requires of the arguments in `TAKES`."""

    gathers: bool
    sums: bool = False
    requires: tuple[str, ...] = ()


MODES: Final = {
    "async": _Mode(gathers=False),
    "stale": _Mode(gathers=False, requires=("staleness",)),
    "sync": _Mode(gathers=True, sums=True),
    "backup": _Mode(gathers=True, sums=True),
    "quorum": _Mode(gathers=True, sums=True, requires=("quorum",)),
    "local": _Mode(gathers=True, requires=("steps",)),
}


def replicas(
    optimizer: Optimizer, mode: str = "async", workers: int = 1, *, backups: int | str | None = None,
    staleness: int | None = None, quorum: int | None = None, grace_ms: float | None = None,
    steps: int | None = None, outer: Optimizer | None = None, dense: str = "servers", elastic: bool = True,
    allow: str | Sequence[str] = (), name: str = "replicas",
) -> ReplicasOptimizer:  # fmt: skip
    """An optimizer that trains a model with several workers, each of which runs the same program.

    ``mode`` says whose gradients count, and who waits for whom:

    - "async": each worker applies its gradients when it has them, and waits for nobody.
    - "stale": the same, but a worker may be ``staleness`` steps ahead of the slowest at most.
    - "sync": an update takes the mean of the gradients of all workers.
    - "backup": an update takes the first ``workers - backups`` gradients (``backups``: 1, or 0 with one worker), and drops the
      others; with ``backups="auto"`` their number follows the times that workers take, for the most gradients a second.
    - "quorum": an update takes the gradients that are there ``grace_ms`` milliseconds (0) after the first ``quorum``.
    - "local": each worker trains a copy of the trainable variables.  After ``steps`` steps the variables become the mean of the
      copies of all workers, or ``outer``, an optimizer, takes the way from the variables to that mean for a gradient; then the
      copies become the variables.  An update counts for ``steps`` global steps.
    - "auto": what ``headrace launch --auto`` has chosen for the job; without it "backup" with ``backups="auto"``.  One of "sync",
      "backup" and "quorum", which make one update of the gradients of many workers; others only if ``allow`` has them.
      Arguments of modes that are passed stay as they are.

    ``dense``, in the modes "sync", "backup" and "quorum": where gradients that are tensors are summed.  With "servers" each
    worker sends them to the servers of their variables, and reads all variables there.  With "all_reduce" workers sum them among
    themselves, and pass the new variables on: a server gets one gradient and gives each variable once for an update, however
    many workers there are.  The result is the same, bit for bit.  Gradients that are `tf.IndexedSlices` go to servers always.

    The first update waits until ``workers`` have joined.  Later ones may come, go and come back: a worker that is lost is not
    waited for, unless ``elastic`` is False.  ``name``: by which the workers find each other, on the task of the global step.

    Monitored sessions start what all but "async" and "stale" need, which is a queue runner and a local variable; with a plain
    session run ``tf.local_variables_initializer()`` and ``tf.train.start_queue_runners``.

    Args:
      optimizer: The optimizer that applies the gradients.
      mode: "async", "stale", "sync", "backup", "quorum", "local" or "auto".
      workers: The number of workers that run the program.
      backups: The number of gradients to do without, or "auto"; in the mode "backup" only.
      staleness: How many steps a worker may be ahead; the mode "stale" needs it.
      quorum: How many gradients an update waits for; the mode "quorum" needs it.
      grace_ms: Milliseconds in which more gradients may come; in the mode "quorum" only.
      steps: Steps between two updates; the mode "local" needs it.
      outer: An optimizer for the mean of the copies; in the mode "local" only.
      dense: Where gradients are summed: "servers" or "all_reduce".
      elastic: Whether updates go on without workers that are lost.
      allow: What "auto" may choose though it changes what training computes: the modes "async", "stale" and "local", "lossy"
        for gradients and variables that travel as 16 bits, and "partition" for large variables in pieces.
      name: By which the workers of one training find each other.

    Returns:
      An optimizer, with a method ``report(session)`` that says what updates were made of.

    >>> x = tf.Variable(4.0, name="x")
    >>> step = tf.train.get_or_create_global_step()
    >>> optimizer = tf.train.replicas(tf.train.GradientDescentOptimizer(0.25), mode="sync", workers=1)
    >>> train = optimizer.minimize(tf.square(x), step)
    >>> with tf.train.MonitoredTrainingSession() as sess:
    ...     for _ in range(2):
    ...         sess.run(train)
    ...     print(sess.run(x), optimizer.report(sess)["updates"])
    1.0 2
    """
    _check_optimizer("optimizer", optimizer)
    if outer is not None:
        _check_optimizer("outer", outer)
    if mode not in (*MODES, AUTO):
        raise ValueError(f"mode must be one of {', '.join(map(repr, (*MODES, AUTO)))}; got {mode!r} {at()}")
    if dense not in DENSE:
        raise ValueError(f"dense must be 'servers' or 'all_reduce', got {dense!r} {at()}")
    all_reduce = dense == "all_reduce"
    if all_reduce and mode != AUTO and not MODES[mode].sums:
        modes = ", ".join(repr(other) for other, what in MODES.items() if what.sums)
        raise ValueError(f"dense='all_reduce' is for the modes {modes}, and the mode is {mode!r} {at()}")
    _check_number("workers", workers, 1)
    given: dict[str, Any] = {
        "backups": backups, "staleness": staleness, "quorum": quorum, "grace_ms": grace_ms, "steps": steps, "outer": outer,
    }  # fmt: skip
    allowed = checked_allow(allow)
    if mode == AUTO:
        auto = Auto(allowed, {key: value for key, value in given.items() if value is not None}, all_reduce)
        return _automatic(optimizer, auto, workers, dense, elastic, name)
    if allowed:
        raise ValueError(f"allow is an argument of mode 'auto', and the mode is {mode!r} {at()}")
    for key, value in given.items():
        if value is not None and key not in TAKES[mode]:
            modes = ", ".join(repr(other) for other, takes in TAKES.items() if key in takes)
            raise ValueError(f"{key} is an argument of mode {modes}, and the mode is {mode!r} {at()}")
        if value is None and key in MODES[mode].requires:
            raise ValueError(f"mode {mode!r} needs {key} {at()}")
    needed = 0
    if mode == "backup":
        backups = min(1, workers - 1) if backups is None else backups
        needed = _without_backups(workers, backups)
    elif quorum is not None:
        _check_number("quorum", quorum, 1)
        if quorum > workers:
            raise ValueError(f"quorum is {quorum}, but there are {workers} workers {at()}")
        needed = quorum
    if staleness is not None:
        _check_number("staleness", staleness, 0)
    if grace_ms is not None and not (isinstance(grace_ms, (int, float)) and 0 <= grace_ms < float("inf")):
        raise ValueError(f"grace_ms must be a number of milliseconds, got {grace_ms!r} {at()}")
    if steps is not None:
        _check_number("steps", steps, 1)
    given |= {"backups": backups, "outer": outer and type(outer).__name__, "dense": dense, "elastic": bool(elastic)}
    said = {"mode": mode, "workers": workers} | {key: value for key, value in given.items() if value is not None}
    rule = {
        "workers": workers, "gathers": MODES[mode].gathers, "needed": needed, "grace": (grace_ms or 0) / 1000,
        "staleness": -1 if staleness is None else staleness, "elastic": bool(elastic), "copies": steps is not None,
        "all_reduce": all_reduce, "said": ", ".join(f"{key}={value!r}" for key, value in said.items()),
    }  # fmt: skip
    if steps is None:
        return (AllReduceOptimizer if all_reduce else ReplicasOptimizer)(optimizer, rule, name)
    return LocalStepsOptimizer(optimizer, rule, name, steps, outer)


def _automatic(
    optimizer: Optimizer, auto: Auto, workers: int, dense: str, elastic: bool, name: str
) -> ReplicasOptimizer:
    """The optimizer of the mode that was chosen; it remembers that it was."""
    settled = settle(auto, workers, told())
    said = "".join(f", {key}={value!r}" for key, value in settled.arguments.items())
    log.info("replicas %r: mode %r%s; %s", name, settled.mode, said, settled.why)
    made = replicas(optimizer, settled.mode, workers, **settled.arguments, dense=dense, elastic=elastic, name=name)
    made._auto, made._lossy = auto, settled.lossy
    return made


def _check_optimizer(name: str, value: Any) -> None:
    if not isinstance(value, Optimizer) or isinstance(value, (ReplicasOptimizer, SyncReplicasOptimizer)):
        raise TypeError(f"{name} must be a tf.train.Optimizer, and none of replicas; got {value!r} {at()}")


def _without_backups(workers: int, backups: int | str) -> int:
    """How many gradients an update takes; -1: to be chosen."""
    if backups == AUTO:
        return -1
    if not isinstance(backups, int) or isinstance(backups, bool) or not 0 <= backups < workers:
        raise ValueError(
            f"backups must be at least 0 and less than the {workers} workers, or 'auto'; got {backups!r} {at()}"
        )
    return workers - backups


def _check_number(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r} {at()}")

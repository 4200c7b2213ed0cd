"""What `replicas(mode="auto")` comes to: the mode that was chosen for the job, or one that follows the times of workers.

Pure.  Every worker settles it by itself from the same policy, so they agree; the servers refuse one that does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final

from headrace.core.policy import CHANGES, TOGETHER, Policy
from headrace.core.source import at

TAKES: Final = {
    "async": (), "stale": ("staleness",), "sync": (), "backup": ("backups",), "quorum": ("quorum", "grace_ms"),
    "local": ("steps", "outer"),
}  # fmt: skip
"""The arguments of each mode."""


@dataclass(frozen=True, slots=True)
class Auto:
    """``allow``: of CHANGES.  ``given``: arguments of modes that the program has passed, which stay as they are.

    ``sums``: gradients are summed among the workers, which only modes that average them can do.
    """

    allow: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    sums: bool = False

    def modes(self, more: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Those that may be chosen.  ``more``: what else is allowed."""
        others = () if self.sums else tuple(one for one in TAKES if one in (*self.allow, *more))
        return (*TOGETHER, *others)


def checked_allow(allow: Any) -> tuple[str, ...]:
    """The words, in the order of CHANGES."""
    words = (allow,) if isinstance(allow, str) else tuple(allow)
    strange = [word for word in words if word not in CHANGES]
    if strange:
        raise ValueError(f"allow takes some of {', '.join(map(repr, CHANGES))}; got {strange[0]!r} {at()}")
    return tuple(word for word in CHANGES if word in words)


@dataclass(frozen=True, slots=True)
class Settled:
    """A mode with its arguments, and whether gradients and variables travel as 16 bits.  ``why``: in words."""

    mode: str
    arguments: Mapping[str, Any]
    lossy: bool
    why: str


def settle(auto: Auto, workers: int, policy: Policy | None) -> Settled:
    """What a worker does.  ``policy``: what was chosen for the job; None: nobody has looked at it."""
    if policy is None:
        arguments = {"backups": auto.given.get("backups", "auto")}
        why = "no policy was chosen for this job (headrace launch --auto does): the times of workers decide"
        return Settled("backup", arguments, False, why)
    if policy.mode not in auto.modes(policy.allow):
        raise ValueError(
            f"HEADRACE_POLICY says mode {policy.mode!r}, and mode='auto' may choose {', '.join(auto.modes(policy.allow))}; "
            f"allow=({policy.mode!r},) allows more {at()}"
        )
    chosen = {
        "backups": "auto" if policy.backups == -1 else _fewer(policy.backups, workers), "staleness": policy.staleness,
        "quorum": None if policy.quorum is None else min(workers, max(1, ceil(policy.quorum * workers))),
        "grace_ms": policy.grace_ms, "steps": policy.steps, "outer": None,
    } | dict(auto.given)  # fmt: skip
    arguments = {name: chosen[name] for name in TAKES[policy.mode] if chosen[name] is not None}
    lossy = policy.lossy and "lossy" in (*auto.allow, *policy.allow)
    return Settled(policy.mode, arguments, lossy, "by HEADRACE_POLICY")


def _fewer(backups: int | None, workers: int) -> int | None:
    return None if backups is None else min(backups, workers - 1)

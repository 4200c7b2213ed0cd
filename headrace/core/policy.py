"""What was chosen for a job before it began: `headrace launch --auto` tells it to all tasks, as HEADRACE_POLICY.

Plain data.  Who chooses is `library/simulation/policy.py`; who follows are `tf.train.replicas` and `tf.get_variable`.  All tasks
read the same text, so they agree.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

TOGETHER: Final = ("sync", "backup", "quorum")  # one update of the gradients of many: the meaning of a large batch
CHANGES: Final = ("async", "stale", "local", "lossy", "partition")
"""What changes the values that training computes, so that somebody must allow it."""
SLICE: Final = 1 << 20  # bytes: a variable is not cut into smaller pieces; a round number
VARIABLE: Final = "HEADRACE_POLICY"


@dataclass(frozen=True, slots=True)
class Policy:
    """``servers``: parameter servers.  ``mode`` and what follows: as of `tf.train.replicas`.

    ``backups``: -1 follows the times of workers.  ``quorum``: a share of the workers.  ``lossy``: gradients, and variables that
    workers read, travel as 16 bits.  ``slices``: into how many pieces large variables are cut; 1 leaves them whole.
    ``allow``: of CHANGES, what the user has allowed.
    """

    servers: int = 1
    mode: str = "sync"
    backups: int | None = None
    staleness: int | None = None
    quorum: float | None = None
    grace_ms: float | None = None
    steps: int | None = None
    lossy: bool = False
    slices: int = 1
    allow: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The text that `policy_of` reads."""
        return json.dumps({name: value for name, value in asdict(self).items() if value is not None})


def policy_of(text: str) -> Policy:
    """The inverse of `Policy.to_json`; ValueError says what is wrong."""
    try:
        told = json.loads(text)
    except ValueError as e:
        raise ValueError(f"a policy is JSON, as headrace launch --auto --policy writes it: {e}") from None
    names = {one.name for one in fields(Policy)}
    if not isinstance(told, Mapping) or not told.keys() <= names:
        raise ValueError(f"a policy has some of {', '.join(sorted(names))}; got {text[:200]!r}")
    allow = told.get("allow", [])
    policy = Policy(**{**told, "allow": tuple(allow) if isinstance(allow, list) else allow})
    strange = [name for name, fits in _checks(policy).items() if not fits]
    if strange:
        raise ValueError(f"a policy's {strange[0]} cannot be {getattr(policy, strange[0])!r}")
    return policy


def _checks(policy: Policy) -> dict[str, bool]:
    return {
        "servers": _whole(policy.servers, 0), "slices": _whole(policy.slices, 1), "lossy": isinstance(policy.lossy, bool),
        "mode": policy.mode in (*TOGETHER, "async", "stale", "local"),
        "allow": isinstance(policy.allow, tuple) and all(one in CHANGES for one in policy.allow),
        "backups": policy.backups is None or _whole(policy.backups, -1),
        "staleness": policy.staleness is None or _whole(policy.staleness, 0),
        "steps": policy.steps is None or _whole(policy.steps, 1),
        "quorum": policy.quorum is None or (_number(policy.quorum) and 0 < policy.quorum <= 1),
        "grace_ms": policy.grace_ms is None or (_number(policy.grace_ms) and 0 <= policy.grace_ms < float("inf")),
    }  # fmt: skip


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def told() -> Policy | None:
    """What this task was told: HEADRACE_POLICY is a policy's text, or a file with it; None where there is none."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    try:
        if not text.lstrip().startswith("{"):
            with open(text, encoding="utf-8") as file:
                text = file.read()
        return policy_of(text)
    except (OSError, ValueError) as e:
        raise ValueError(f"{VARIABLE} is wrong: {e}") from None

"""A choice in plain words: what was chosen, what the runners-up would do, and what limits them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headrace.core.policy import CHANGES, SLICE, TOGETHER, Policy
from headrace.library.simulation.outcome import Outcome
from headrace.library.simulation.policy import FOLLOW, Choice, Seen

BUSY = 0.85  # of the time: what is used more limits a job
_CAUSES = {
    "worker": "the worker's own work", "server": "the work of servers", "queue": "servers that are busy with others",
    "network": "the network", "others": "other workers",
}  # fmt: skip
_CHANGE = {
    "async": "mode 'async'", "stale": "mode 'stale'", "local": "mode 'local'", "lossy": "16-bit transfers",
    "partition": "large variables in pieces",
}  # fmt: skip


def in_words(choice: Choice) -> str:
    """Some lines for people."""
    best, question = choice.best, choice.question
    lines = [
        f"chosen for {question.workers} workers: {said(best.policy)}",
        f"  {best.rate:,.4g} steps a second count; one takes {_time(best.outcome.times['mean'])}: {limit(best.outcome)}",
    ]
    if question.own is None and best.policy.backups == FOLLOW:
        lines.append("  while it trains, the number of backups follows the times that workers take")
    same = [
        one
        for one in choice.seen
        if replace(one.policy, servers=0, slices=1) == replace(best.policy, servers=0, slices=1)
    ]
    same = [one for one in same if (one.policy.slices > 1) == (best.policy.slices > 1)]
    if len(question.servers) > 1:
        lines += _compared(
            "servers", [one for one in same if one is not best], best, lambda p: _count(p.servers, "server")
        )
    else:
        lines.append(f"{_count(best.policy.servers, 'server')}: as you said")
    if question.own is not None:
        lines.append(f"{mode_said(best.policy)}: as the program says")
    else:
        beside = [
            one for one in choice.seen
            if one is not best and (one.policy.servers, one.policy.lossy, one.policy.slices)
            == (best.policy.servers, best.policy.lossy, best.policy.slices)
        ]  # fmt: skip
        lines += _compared("modes", beside, best, mode_said)
    lines += _compared("transfers and variables", _changed(choice), best, _transfers)
    never = [word for word in CHANGES if word not in question.allow]
    if never and question.own is None:
        listed = ", ".join(_CHANGE[word] for word in never)
        lines.append(
            f"not tried, as they change what training computes: {listed}; --allow {','.join(never)} allows them"
        )
    return "\n".join(lines)


def said(policy: Policy) -> str:
    """``2 servers, mode 'backup', backups='auto'``."""
    more = ", 16-bit transfers" if policy.lossy else ""
    if policy.slices > 1:
        more += f", variables of more than {SLICE >> 20} MiB in up to {policy.slices} pieces"
    return f"{_count(policy.servers, 'server')}, {mode_said(policy)}{more}"


def mode_said(policy: Policy) -> str:
    """``mode 'stale', staleness=2``."""
    words = [f"mode {policy.mode!r}"]
    if policy.backups is not None:
        words.append("backups='auto'" if policy.backups == FOLLOW else f"backups={policy.backups}")
    if policy.quorum is not None:
        words.append(f"quorum of {policy.quorum:.0%}")
    if policy.grace_ms:
        words.append(f"grace {policy.grace_ms:.3g} ms")
    words += [
        f"{name}={value}"
        for name, value in (("staleness", policy.staleness), ("steps", policy.steps))
        if value is not None
    ]
    return ", ".join(words)


def limit(outcome: Outcome) -> str:
    """What keeps a job from doing more."""
    busy = outcome.busy
    network = max(busy.get("in", 0.0), busy.get("out", 0.0))
    if max(network, busy.get("server", 0.0)) >= BUSY:
        what = "the network" if network >= busy.get("server", 0.0) else "the interpreter"
        return f"{what} of the busiest server is busy {max(network, busy.get('server', 0.0)):.0%} of the time"
    total = sum(outcome.causes.values()) or 1.0
    largest = sorted(outcome.causes, key=lambda name: -outcome.causes[name])[:2]
    late = 1 - outcome.counted / outcome.steps if outcome.steps else 0.0
    words = ", ".join(f"{outcome.causes[name] / total:.0%} into {_CAUSES[name]}" for name in largest)
    dropped = f"; {late:.0%} of the gradients come too late" if late >= 0.005 else ""
    old = f"; a gradient is {outcome.staleness:.1f} updates old" if outcome.staleness >= 0.05 else ""
    return f"of a step goes {words}{dropped}{old}"


def _compared(title: str, rows: Sequence[Seen], best: Seen, name: Callable[[Policy], str]) -> list[str]:
    if not rows:
        return []
    lines = [f"other {title}:"]
    for one in rows:
        gain = one.rate / best.rate - 1
        lines.append(f"  {name(one.policy)}: {one.rate:,.4g} ({gain:+.0%}): {_against(one, best, gain)}")
    return lines


def _against(one: Seen, best: Seen, gain: float) -> str:
    """Why it was not chosen."""
    if gain > 0 and one.policy.servers > best.policy.servers:
        return f"no reason for {_count(one.policy.servers - best.policy.servers, 'more server')}"
    if gain > 0 and one.policy.mode not in TOGETHER and best.policy.mode in TOGETHER:
        return "no reason to change what training computes"
    if gain > -0.05:
        return "much the same"
    return limit(one.outcome)


def _changed(choice: Choice) -> list[Seen]:
    """The best of each other kind of transfers and variables."""
    best = choice.best
    tops: dict[tuple[bool, bool], Seen] = {}
    for one in choice.seen:
        pair = (one.policy.lossy, one.policy.slices > 1)
        if pair not in tops or one.rate > tops[pair].rate:
            tops[pair] = one
    tops.pop((best.policy.lossy, best.policy.slices > 1), None)
    return list(tops.values())


def _transfers(policy: Policy) -> str:
    bits = "16-bit transfers" if policy.lossy else "whole transfers"
    cut = "large variables in pieces" if policy.slices > 1 else "whole variables"
    return f"{bits}, {cut}, {_count(policy.servers, 'server')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"

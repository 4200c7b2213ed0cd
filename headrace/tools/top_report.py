"""What ``headrace top`` shows, as data: two samples of the tasks' statuses -> rates, links, queues, and who waits on what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Status = Mapping[str, Any]
WATCHES: Final = ("_LeaseChange",)  # ops that wait as long as their job runs, and nothing is wrong with that
Sample = Mapping[str, Status]  # by the names of tasks


def report(before: Sample, after: Sample) -> dict[str, Any]:
    """The cluster as of ``after``; what is per second is the difference between the two samples."""
    return {
        "tasks": [_task(name, before.get(name, {}), status) for name, status in after.items()],
        "links": _links(before, after),
        "visitors": [
            {"on": task, **visitor} for task, status in after.items() for visitor in status.get("visitors", ())
        ],
        "queues": [{"task": task, **queue} for task, status in after.items() for queue in status.get("queues", ())],
        "replicas": [{"task": task, **one} for task, status in after.items() for one in status.get("replicas", ())],
        "stages": [
            stage
            for task, status in after.items()
            for stage in _stages(task, before.get(task, {}).get("iterators", ()), status)
        ],
        "waits": [
            {"task": task, "step": step["number"], "seconds": step["seconds"], **wait}
            for task, status in after.items()
            for step in status.get("steps", ())
            for wait in step["waits"]
            if wait["op"] not in WATCHES
        ],
    }


def _task(name: str, before: Status, after: Status) -> dict[str, Any]:
    if "error" in after:
        return {"task": name, "error": after["error"]}
    apart = ("links", "visitors", "queues", "replicas", "iterators", "time")
    own = {key: value for key, value in after.items() if key not in apart}
    return {**own, "steps_per_second": _rate(before, after, "steps_done", before, after)}


def _links(before: Sample, after: Sample) -> list[dict[str, Any]]:
    """One entry for each direction between a task and a peer.  What a task sent counts; else what the other received."""
    links: dict[tuple[str, str], dict[str, Any]] = {}
    for task, status in after.items():
        earlier = {link["peer"]: link for link in before.get(task, {}).get("links", ())}
        for link in status.get("links", ()):
            peer, old = link["peer"], earlier.get(link["peer"], {})
            links[task, peer] = _direction("sent", before.get(task, {}), status, old, link)
            if "links" not in after.get(peer, {}):  # a client, or a task that does not answer
                links[peer, task] = _direction("received", before.get(task, {}), status, old, link)
    return [{"from": start, "to": end, **link} for (start, end), link in links.items()]


def _stages(task: str, before: Sequence[Mapping[str, Any]], after: Status) -> list[dict[str, Any]]:
    """The stages of datasets, the last of each chain first: elements per second, and parts of the time between the samples.

    Figures that have fallen are of a new iterator, or of one that was looked at again after a while: they are as good as any.
    """
    old = {(one["device"], one["iterator"], stage["stage"]): stage for one in before for stage in one["stages"]}
    began = {(one["device"], one["iterator"]): one["seconds"] for one in before}
    rows = []
    for one in after.get("iterators", ()):
        place = (one["device"], one["iterator"])
        seconds = one["seconds"] - began.get(place, 0.0)
        fresh = seconds <= 0
        seconds = one["seconds"] if fresh else seconds
        for stage in one["stages"]:
            earlier = {} if fresh else old.get((*place, stage["stage"]), {})
            new = {key: stage[key] - earlier.get(key, 0) for key in ("elements", "computing_s", "waited_s")}
            rates = {key: value / seconds if seconds > 0 else None for key, value in new.items()}
            rows.append({
                "task": task, "iterator": one["iterator"], "stage": stage["stage"], "held": stage.get("held"),
                "room": stage.get("room"), "elements_per_second": rates["elements"], "computing": rates["computing_s"],
                "waited": rates["waited_s"],
            })  # fmt: skip
    return rows


def _direction(
    what: str, before: Status, after: Status, old: Mapping[str, Any], new: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "bytes": new[f"{what}_bytes"], "messages": new[f"{what}_messages"],
        "bytes_per_second": _rate(before, after, f"{what}_bytes", old, new),
        "messages_per_second": _rate(before, after, f"{what}_messages", old, new),
    }  # fmt: skip


def _rate(before: Status, after: Status, count: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> float | None:
    """How fast a count has risen; None where the samples are not of one process, or of one moment."""
    if before.get("incarnation") != after.get("incarnation") or after["time"] <= before["time"]:
        return None
    return max(0.0, (new[count] - old.get(count, 0)) / (after["time"] - before["time"]))

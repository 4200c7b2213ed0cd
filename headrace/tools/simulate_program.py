"""Runs a program up to the step of its loop, and plans that step for clusters of several sizes: jobs to be simulated.

A program for one machine runs on this one until then.  One for a cluster (`tf.train.Server`, a session on a target) starts no
server and runs nothing: what it fetches before its step is zeros.  It is told by its flags, or by ``TF_CONFIG``, that it is
worker 0 of a cluster with as many servers as are asked for.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from headrace.client.feed import expand_feeds
from headrace.client.fetch import Fetches
from headrace.client.session import BaseSession
from headrace.cluster.cluster_spec import ClusterSpec
from headrace.cluster.ray_engine.program import TaskName, arguments_for, flags_of, tf_config
from headrace.cluster.server import Server
from headrace.core.dtypes import string
from headrace.core.errors import OpError, OutOfRangeError
from headrace.core.policy import VARIABLE, Policy
from headrace.library.control.dependency import no_op
from headrace.library.scope import control_dependencies
from headrace.library.simulation.job import Job, Rules, computing, job_of, scaled, untaken
from headrace.library.simulation.machine import rule_of
from headrace.library.simulation.machines import machine
from headrace.library.simulation.modes import EVERY, Noted, build, instead, noting, own_rules, trained_by
from headrace.library.simulation.planning import MINE, Asked, Planning, servers_of
from headrace.library.train.coordinator import Coordinator
from headrace.library.train.replica.auto import Auto
from headrace.library.train.replica.device_setter import replica_device_setter
from headrace.resources.state.replicas.replicas import Replicas
from headrace.tools.explain import Choice, Watch, run_up_to
from headrace.tools.step_time import LARGEST, alone, median_time
from headrace.tools.watch import Call, is_main

LEAST_OWN: Final = 0.1  # of a step counts at least as computing, so that noise makes no step of nothing
_HOSTS: Final = "{job}{index}.simulated:2222"


@dataclass
class Plans:
    """What a program gives: a job for each number of servers.

    ``scale``: how many times as long a step takes here as its costs say; 0: nobody has tried.  ``clustered``: the program is for
    a cluster, so that each number of servers needs a run of its own.  ``trains``: with so many optimizers; ``own``: rules of
    the first, and ``auto`` what it may choose, if its mode is "auto".
    """

    jobs: dict[int, Job] = field(default_factory=dict)
    scale: float = 0.0
    step: float = 0.0
    title: str = ""
    mode: str = ""
    clustered: bool = False
    trains: int = 0
    own: Rules | None = None
    auto: Auto | None = None


@dataclass(frozen=True)
class Wish:
    """``mode``: "" for the program's own.  ``every``: steps between averages.  ``scale``: known already; 0: to be found.

    ``times``: the step of a program for a cluster is timed too, by itself.
    """

    servers: tuple[int, ...]
    workers: int = 1
    mode: str = ""
    every: int = EVERY
    scale: float = 0.0
    accelerator: str = ""
    step: int | None = None
    fetch: str | None = None
    times: bool = False


class Refused(Exception):
    """A step that cannot be planned as it was asked; the text says why."""


@dataclass
class _Planner(Watch):
    """Ends the program at its step, which is planned."""

    wish: Wish = Wish((1,))
    noted: Noted = field(default_factory=Noted)
    plans: Plans = field(default_factory=Plans)
    over: threading.Event = field(default_factory=threading.Event)
    trained: set[Any] = field(default_factory=set)  # what has trained in the program's graph, and in other modes
    refused: str = ""
    command = "simulate"

    def see(self, session: BaseSession, fetches: Any, feed_dict: Any, call: Call) -> Any:
        if session in _standing_in:
            return super().see(session, fetches, feed_dict, lambda **options: _zeros(session, fetches))
        return super().see(session, fetches, feed_dict, call)

    def found(self, session: BaseSession, fetches: Any, feed_dict: Any, request: Any, call: Call) -> None:
        try:
            self._plan(session, fetches, feed_dict, request, call)
        except (Refused, OpError) as e:  # what is raised here would end as an error of the program
            self.refused = str(e)

    def _plan(self, session: BaseSession, fetches: Any, feed_dict: Any, request: Any, call: Call) -> None:
        wish, plans = self.wish, self.plans
        number = list(self.requests).index(request) + 1
        plans.title, plans.clustered = f"Request {number}: {self.requests[request]}", session in _standing_in
        flat = Fetches(session.graph, fetches)
        fed = dict(expand_feeds(session.graph, feed_dict or {}))
        feeds = tuple((tensor, np.shape(value)) for tensor, value in fed.items())
        asked = Asked(feeds, tuple(flat.tensors), tuple(flat.targets))
        applied = trained_by(self.noted.applied, asked)
        own = own_rules(applied[0]) if applied else None
        plans.trains, plans.own = len(applied), own
        auto = getattr(applied[0].optimizer, "_auto", None) if applied else None
        if auto is not None:
            numbers = {name: value for name, value in auto.given.items() if name != "outer"}
            plans.auto = replace(auto, given=numbers)
        plans.mode = wish.mode or ("async" if own is None else own.mode)
        planning = Planning(
            session.graph, machine(), session._config, wish.accelerator, session._master.planner.options
        )
        try:
            plans.scale = wish.scale
            took = 0.0
            plain = not applied or not hasattr(applied[0].optimizer, "_opt")
            if not plans.scale and not plans.clustered and plain:
                plans.step = median_time(call)
                nothing = median_time(_nothing(session))  # one of the tolls
                took = max(plans.step - nothing, LEAST_OWN * plans.step)
            elif not plans.scale and wish.times:
                plans.step, costs = self._alone(planning, asked, fed, applied)
                plans.scale = plans.step / max(costs, 1e-9)
            self.over.set()  # from now on the graph is not as threads of the program know it
            if took:
                plans.scale = took / max(computing(planning.plan(asked, 0).steps), 1e-9)
            for servers in wish.servers[:1] if plans.clustered else wish.servers:
                plans.jobs[servers] = self._job(planning, asked, applied, servers)
        finally:
            planning.close()

    def _job(self, planning: Planning, asked: Asked, applied: Sequence[Any], servers: int) -> Job:
        mode, scale = self.plans.mode, self.plans.scale or 1.0
        own = own_rules(applied[0]) if applied else None
        as_it_is = mode == "async" and (own is None or own.mode == "async")
        there = servers_of(planning.graph)
        if self.plans.clustered and there != servers:
            raise Refused(
                f"the program has put its variables on {there} servers, and was told of {servers}; it must "
                "take them from --ps_hosts or TF_CONFIG"
            )
        update = None
        every = 1
        if not as_it_is:
            if len(applied) != 1:
                raise Refused(
                    f"the step trains with {len(applied)} optimizers, and --mode {mode} needs one tf.train.Optimizer; "
                    "without --mode it is simulated as it is"
                )
            put = replica_device_setter(servers, worker_device=MINE) or (lambda op: MINE)
            with planning.placed_for(servers):
                try:
                    variant = build(applied[0], mode, self.wish.every, put)
                except ValueError as e:
                    raise Refused(str(e)) from e
            self.trained.add(getattr(applied[0].result, "op", applied[0].result))
            if variant.update is not None:
                update = self._scaled(planning, variant.update, servers, scale).steps
            every = variant.every
            asked = instead(asked, self.trained, variant.train)
            self.trained.add(variant.train)
        planned = self._scaled(planning, asked, servers, scale)
        between = untaken(planned.steps) if every > 1 else None
        rules = own if own is not None and own.mode == mode else None
        job = Job(
            planned.steps, servers, update=update, between=between, every=every, state=planned.state,
            gradients=planned.gradients,
        )  # fmt: skip
        return job if rules is None else job.with_rules(rules)

    def _alone(
        self, planning: Planning, asked: Asked, fed: dict[Any, Any], applied: Sequence[Any]
    ) -> tuple[float, float]:
        """Seconds of the step without a cluster, measured and by its costs; 0 where it cannot run so, which is said."""
        there = max(1, servers_of(planning.graph))
        try:
            size = sum(planning.plan(asked, there).state)
            if size > LARGEST:
                raise ValueError(f"its variables take {size / 1e9:.0f} GB")
            return alone(planning, asked, fed, applied)
        except (OpError, ValueError) as e:
            said = (str(e).splitlines() or [""])[0]
            print(
                f"headrace {self.command}: the step is not timed here, its costs are computed: {said}", file=sys.stderr
            )
            return 0.0, 0.0

    def _scaled(self, planning: Planning, asked: Asked, servers: int, scale: float) -> Any:
        planned = planning.plan(asked, servers)
        return replace(planned, steps=scaled(planned.steps, scale))


def _nothing(session: BaseSession) -> Call:
    """Runs a step without work."""
    graph = session.graph
    graph._unsafe_unfinalize()
    with graph.as_default(), control_dependencies(None):
        nothing = no_op("simulated_nothing")
    return lambda **options: session.run(nothing)


def plan_program(program: Sequence[str], wish: Wish) -> Plans:
    """The jobs of a program, run in this process; raises SystemExit with the reason if there is no step."""
    watch = _Planner(Choice(wish.step, wish.fetch), sys.stderr, wish=wish)
    with noting() as noted, _stand_ins(watch.over), _told(program, wish) as arguments:
        watch.noted = noted
        status = run_up_to(watch, arguments)
    if status or not watch.done:
        raise SystemExit(status or 1)
    if watch.refused:
        raise SystemExit(f"headrace simulate: {watch.refused}")
    return watch.plans


def plan_elsewhere(program: Sequence[str], wish: Wish, policy: Policy | None = None) -> Plans:
    """The same in a process of its own, which is told the policy."""
    text = json.dumps(asdict(wish))
    command = [sys.executable, "-m", "headrace.tools.simulate_program", text, *program]
    environment = os.environ if policy is None else {**os.environ, VARIABLE: policy.to_json()}
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, env=environment)
    if done.returncode:
        raise SystemExit(done.returncode)
    plain = json.loads(done.stdout)
    plain["jobs"] = {int(servers): job_of(job) for servers, job in plain["jobs"].items()}
    plain["own"] = plain["own"] and Rules(**plain["own"])
    plain["auto"] = plain["auto"] and Auto(**{**plain["auto"], "allow": tuple(plain["auto"]["allow"])})
    return Plans(**plain)


def plan_all(program: Sequence[str], wish: Wish, modes: Sequence[str]) -> dict[str, Plans]:
    """For each mode and number of servers.  What can be planned in one run of the program is; the first is in this process."""
    first = plan_program(program, replace(wish, mode=modes[0], servers=_together(wish.servers, modes[0])))
    all_plans: dict[str, Plans] = {}
    scale = wish.scale or first.scale
    for i, mode in enumerate(modes):
        plans = first if i == 0 else Plans(scale=scale, title=first.title, mode=mode, clustered=first.clustered)
        left = tuple(n for n in wish.servers if n not in plans.jobs)
        while left:
            servers = left[:1] if first.clustered else _together(left, mode)
            more = plan_elsewhere(program, replace(wish, mode=mode, servers=servers, scale=scale))
            plans.jobs.update(more.jobs)
            plans.mode = more.mode
            left = left[len(servers) :]
        all_plans[plans.mode] = plans
    return all_plans


def _together(servers: tuple[int, ...], mode: str) -> tuple[int, ...]:
    """The mode "local" changes the graph, so each number of servers takes a run."""
    return servers[:1] if mode == "local" else servers


# ---- what a program for a cluster meets


_standing_in: set[BaseSession] = set()  # sessions of programs for a cluster: nothing runs in them


def _zeros(session: BaseSession, fetches: Any) -> Any:
    """What a step would return, as zeros; nothing where a size is not known."""
    flat = Fetches(session.graph, fetches)
    values: list[Any] = []
    for tensor in flat.tensors:
        dims = [0 if d is None else d for d in tensor.shape.tuple or ()]
        if tensor.op.type == "_ReplicasReport":
            values.append(_no_updates())
        elif tensor.dtype.base_dtype is string:
            values.append(np.full(dims, b"", object) if dims else b"")
        else:
            zeros = np.zeros(dims, tensor.dtype.base_dtype.as_numpy_dtype)
            values.append(zeros if dims else zeros[()])
    return flat.rebuild(values)


def _no_updates() -> bytes:
    """What replicas report that have made no update: the hook of `tf.train.replicas` asks for that before the first step."""
    return json.dumps({**Replicas("simulated", rule_of(Rules("sync"), 1), 0).counts(), "worker": "simulated"}).encode()


@contextmanager
def _stand_ins(over: threading.Event) -> Iterator[None]:
    """Servers do not start, and sessions on targets run nothing."""
    make, run, make_callable = BaseSession.__init__, BaseSession.run, BaseSession.make_callable
    join_all = Coordinator.join

    def init(self: BaseSession, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if target and config is not None:
            config = copy.deepcopy(config)
            del config.device_filters[:]
        make(self, "", graph, config)
        if target:
            _standing_in.add(self)

    def run_or_wait(self: BaseSession, *arguments: Any, **named: Any) -> Any:
        if self in _standing_in:  # a thread of the program, such as one that fills a queue
            over.wait()
            raise OutOfRangeError(None, None, "the program is at its step")
        if over.is_set() and not is_main():
            raise OutOfRangeError(None, None, "the program is at its step")
        return run(self, *arguments, **named)

    def callable_or_waits(self: BaseSession, fetches: Any, *arguments: Any, **named: Any) -> Any:
        if self in _standing_in:
            return lambda *values, **given: self.run(fetches)
        plain = make_callable(self, fetches, *arguments, **named)

        def call(*values: Any, **given: Any) -> Any:
            if over.is_set() and not is_main():
                raise OutOfRangeError(None, None, "the program is at its step")
            return plain(*values, **given)

        return call

    def join_threads(self: Coordinator, *arguments: Any, **named: Any) -> None:
        if _standing_in and is_main():  # the program ends before its step: its threads wait for nothing any more
            over.set()
        join_all(self, *arguments, **named)

    def join(self: Server) -> None:
        raise SystemExit(
            "headrace simulate: the program ran as a parameter server; let it be worker 0: --job_name=worker --task_index=0"
        )

    replaced = [
        (BaseSession, "__init__", init), (BaseSession, "run", run_or_wait),
        (BaseSession, "make_callable", callable_or_waits), (Server, "start", lambda self: None),
        (Server, "join", join), (Coordinator, "join", join_threads),
    ]  # fmt: skip
    before = [(owner, name, owner.__dict__[name]) for owner, name, _ in replaced]
    for owner, name, value in replaced:
        setattr(owner, name, value)
    try:
        yield
    finally:
        over.set()
        _standing_in.clear()
        for owner, name, value in before:
            setattr(owner, name, value)


@contextmanager
def _told(program: Sequence[str], wish: Wish) -> Iterator[list[str]]:
    """The arguments of the program, which say that it is worker 0; inside, ``TF_CONFIG`` says so too, if the program reads it."""
    arguments = list(program)
    servers, workers = wish.servers[0], max(wish.workers, 1)  # one for a cluster is planned for the first number only
    source = (
        Path(program[0]).read_text() if program and program[0].endswith(".py") and Path(program[0]).is_file() else ""
    )
    hosts = {
        job: [_HOSTS.format(job=job, index=i) for i in range(n)] for job, n in (("ps", servers), ("worker", workers))
    }
    task = TaskName("worker", 0)
    flags = flags_of(source)
    if flags:
        arguments = arguments_for(task, arguments, flags, hosts["ps"], hosts["worker"])[2:]
    before = os.environ.get("TF_CONFIG")
    if before is not None or "TF_CONFIG" in source:
        known = json.loads(before or "{}").get("cluster", {})
        chief = next((job for job in ("chief", "master") if job in known), None)
        if chief is None and "estimator" in source:  # which need one
            chief = "chief"
        if chief is not None:
            hosts[chief], task = [_HOSTS.format(job=chief, index=0)], TaskName(chief, 0)
        os.environ["TF_CONFIG"] = tf_config(task, ClusterSpec(hosts))
    try:
        yield arguments
    finally:
        if before is None:
            os.environ.pop("TF_CONFIG", None)
        else:
            os.environ["TF_CONFIG"] = before


def main(argv: Sequence[str]) -> int:
    """The process of `plan_elsewhere`: the plans as JSON on stdout."""
    told = json.loads(argv[0])
    plans = plan_program(argv[1:], Wish(**{**told, "servers": tuple(told["servers"])}))
    print(json.dumps(asdict(plans)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

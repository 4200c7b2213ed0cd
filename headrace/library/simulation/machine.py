"""The machine of a simulated job: events in the order of their times, no threads, no clock of its own.

Each task is one interpreter: it takes messages, runs short strands and sends, one after another, first come, first served.  Long
kernels run beside it on the cores of the host.  Who waits for whom is decided by the aggregator of `tf.train.replicas`
itself.

Every step has a *path*: seconds by cause, along what it waited for last each time.  They add up to the time of the step.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from math import ceil, isfinite
from random import Random
from typing import Any, Final

from headrace.cluster.transport.interface import DEFAULT_LIMITS
from headrace.core.process import no_collection
from headrace.library.simulation.cluster import LULL, NAMES, SHORT, SMALL, WARM, Cluster
from headrace.library.simulation.job import RELEASE, WORKER, Job, Rules, Steps, computing
from headrace.library.simulation.lines import Host, Port
from headrace.library.simulation.outcome import Counts
from headrace.resources.state.replicas import machine as replicas

# Places in a path, which are those of `outcome.CAUSES`.
_OWN, _SERVER, _QUEUE, _NETWORK, _OTHERS = range(5)
_NONE: Final = (0.0,) * 5
Path = tuple[float, ...]
TURN: Final = 1e-4  # seconds that a thread has the interpreter while others want it too


def rule_of(rules: Rules, workers: int) -> replicas.Rule:
    """What the aggregator of so many workers goes by."""
    needed = 0
    if rules.backups is not None:
        needed = -1 if rules.backups < 0 else max(1, workers - rules.backups)
    elif rules.quorum:
        needed = max(1, min(workers, ceil(rules.quorum * workers)))
    return replicas.Rule(
        workers, rules.gathers, needed, rules.grace, rules.staleness, copies=rules.mode == "local", said=rules.mode
    )


def _later(path: Path, cause: int, seconds: float) -> Path:
    if not seconds:
        return path
    return (*path[:cause], path[cause] + seconds, *path[cause + 1 :])


class _Strand:
    """A strand with all that follows from it looked up once."""

    __slots__ = ("begins", "followers", "missing", "part", "pieces", "waits")

    def __init__(self, part: int, waits: str, missing: int) -> None:
        self.part, self.waits, self.missing = part, waits, missing
        # interpreter, kernels, moves, moves for each gradient, messages, whether it tells
        self.pieces: list[tuple[float, float, float, float, tuple[int, ...], bool]] = []
        self.followers: list[int] = []
        self.begins = missing == 0


class _Course:
    """A step of a job, ready to be run."""

    def __init__(self, steps: Steps, cluster: Cluster) -> None:
        tolls = cluster.tolls
        self.tasks = [part.task for part in steps.partitions]
        self.live = [part.live for part in steps.partitions]
        self.own = next((i for i, task in enumerate(self.tasks) if task == WORKER), -1)
        self.others = [i for i in range(len(self.tasks)) if i != self.own]
        self.messages = steps.messages
        self.takers: list[list[int]] = [[] for _ in steps.messages]
        self.strands: list[_Strand] = []
        self.sizes = [len(part.strands) for part in steps.partitions]
        per_byte = 1 / tolls.copy if cluster.together else 1 / tolls.copy + 1 / tolls.cipher
        for i, part in enumerate(steps.partitions):
            first = len(self.strands)
            for strand in part.strands:
                one = _Strand(i, strand.waits, len(strand.after) + len(strand.takes))
                warming = WARM  # seconds of nodes until the caches have their code
                for piece in strand.pieces:
                    fetching = (tolls.cold - 1.0) * min(piece.interpreter, warming)
                    warming = max(warming - piece.interpreter, 0.0)
                    copied = sum(steps.messages[m].size for m in piece.sends) * per_byte
                    one.pieces.append(
                        (
                            piece.interpreter + fetching,
                            piece.kernels,
                            piece.moves + copied,
                            piece.gathered,
                            piece.sends,
                            piece.tells,
                        )
                    )
                for number in strand.takes:
                    self.takers[number].append(len(self.strands))
                self.strands.append(one)
            for k, strand in enumerate(part.strands):
                for before in strand.after:
                    self.strands[first + before].followers.append(first + k)
        self.missing = [strand.missing for strand in self.strands]
        self.begins = [
            [i for i, s in enumerate(self.strands) if s.part == p and s.begins] for p in range(len(self.tasks))
        ]
        own = self.begins[self.own] if self.own >= 0 else []
        self.first = sum(p[0] + p[1] + p[2] for i in own for p in self.strands[i].pieces)


class _Task:
    """A process: its interpreter and its end of the network."""

    __slots__ = ("busy", "bytes", "host", "is_worker", "most", "port", "used")

    def __init__(self, host: Host, port: Port, is_worker: bool) -> None:
        self.host, self.port, self.is_worker = host, port, is_worker
        self.busy = 0.0  # until then
        self.used = 0.0  # seconds of the interpreter
        self.bytes = self.most = 0.0  # bytes of values of partitions under way: now, and the most so far

    def hold(self, size: float) -> None:
        """A partition begins, or with less than 0 ends."""
        self.bytes += size
        self.most = max(self.most, self.bytes)

    def let_go(self, core: int, begun: float, time: float) -> None:
        """What has had the interpreter, and a core, needs them no more."""
        self.used += time - begun
        self.busy = max(self.busy, self.host.end(core, begun, time))


class _Worker:
    __slots__ = ("lives", "member", "number", "released", "runs", "steps", "task")

    def __init__(self, number: int, task: _Task) -> None:
        self.number, self.task = number, task
        self.lives = 0  # how often it was started again
        self.member = number
        self.released = 0  # the step that it may compute
        self.steps = 0
        self.runs: dict[str, _Run] = {}


class _Run:
    """One step under way."""

    __slots__ = (
        "alive", "along", "began", "counted", "course", "factor", "missing", "open", "parts", "queued", "running", "ticket",
        "waiting", "worker",
    )  # fmt: skip

    def __init__(self, course: _Course, worker: _Worker, began: float, factor: float) -> None:
        self.course, self.worker, self.began, self.factor = course, worker, began, factor
        self.missing = course.missing.copy()
        self.open = course.sizes.copy()  # strands of each partition that are not over
        self.parts = len(course.others) + (course.own >= 0 and course.sizes[course.own] > 0)  # that are not over
        self.running: set[int] = set()  # partitions whose thread has a long strand
        self.queued: list[tuple[int, float, Path]] = []  # long strands that wait for that thread
        self.along: dict[int, list[int]] | None = None  # messages that go along with those that begin partitions
        self.waiting: tuple[int, float, Path] | None = None  # the strand that waits, since when
        self.counted = 0
        self.ticket = -1
        self.alive = True


class Simulation:
    """Runs one job on one cluster.  ``seed``: of all that is random."""

    def __init__(self, job: Job, cluster: Cluster, seed: int = 0) -> None:
        if job.servers != cluster.servers:
            raise ValueError(f"the job was planned for {job.servers} servers, and the cluster has {cluster.servers}")
        self._job, self._cluster, self._tolls = job, cluster, cluster.tolls
        self._inline = (DEFAULT_LIMITS.shared if cluster.together else DEFAULT_LIMITS.inline) - NAMES
        self._random = Random(seed)
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = 0
        self.now = 0.0
        crowded = cluster.tolls.crowded
        shared = Host(cluster.cores, cluster.movers, crowded)

        def task(is_worker: bool) -> _Task:
            host = shared if cluster.together else Host(cluster.cores, cluster.movers, crowded)
            return _Task(host, Port(cluster.link), is_worker)

        self.servers = [task(False) for _ in range(cluster.servers)]
        self.workers = [_Worker(i, task(True)) for i in range(cluster.workers)]
        self._step = _Course(job.step, cluster)
        self._between = None if job.between is None else _Course(job.between, cluster)
        self._update = None if job.update is None else _Course(job.update, cluster)
        waits = any(strand.waits == RELEASE for strand in self._step.strands)
        self.aggregator = replicas.Aggregator(rule_of(job.rules, cluster.workers)) if waits else None
        self._members: dict[int, _Worker] = {}
        self._tick = 0
        self.counts = Counts(cluster.workers)

    # ---- the events

    def _at(self, time: float, action: Callable[..., None], *arguments: Any) -> None:
        self._number += 1
        heapq.heappush(self._events, (time, self._number, action, arguments))

    def run(self, rounds: int, warm: int = 2, lose: Sequence[tuple[float, int]] = ()) -> Counts:
        """Runs until workers have taken ``warm`` and then ``rounds`` steps, on average; counts those of the rounds.

        ``lose``: at which time which worker is lost.
        """
        counts = self.counts
        usual = self._cluster.tolls.step + computing(self._job.step) / self._cluster.speed
        for worker in self.workers:
            self._at(self._random.random() * usual, self._join, worker)
        for time, number in lose:
            self._at(time, self._lose, self.workers[number])
        begin, end = warm * len(self.workers), (warm + rounds) * len(self.workers)
        events = self._events
        done = 0
        with no_collection():
            while events and counts.ended < end:
                self.now, _, action, arguments = heapq.heappop(events)
                action(*arguments)
                done += 1
                if counts.since is None and counts.ended >= begin:
                    counts.start(self.now, self._used())
        counts.events = done
        counts.finish(self.now, self._used())
        counts.most = [task.most for task in self.servers]
        return counts

    def _used(self) -> dict[str, Any]:
        """What was used so far: seconds and bytes of each task, gradients that counted or were late."""
        tallies = [] if self.aggregator is None else list(self.aggregator.tallies.values())
        return {
            "servers": [(t.used, t.port.sent, t.port.received, t.port.sending, t.port.receiving) for t in self.servers],
            "workers": [
                (w.task.used, w.task.port.sent, w.task.port.received, w.task.port.sending, w.task.port.receiving)
                for w in self.workers
            ],
            "counted": sum(tally.counted for tally in tallies), "late": sum(tally.late for tally in tallies),
            "updates": 0 if self.aggregator is None else self.aggregator.updates,
            "staleness": {} if self.aggregator is None else dict(self.aggregator.staleness),
        }  # fmt: skip

    # ---- workers

    def _join(self, worker: _Worker) -> None:
        if self.aggregator is not None:
            worker.member = worker.number + worker.lives * len(self.workers)
            self._members[worker.member] = worker
            known = len(self.workers) if worker.lives else 0
            joins = replicas.Join(worker.member, f"{worker.number:05d}", known)
            self._follow(self.aggregator.take(joins, self.now), self.now)
            worker.released = self.aggregator.members[worker.member].step
            if self._update is not None:
                self._follow(self.aggregator.take(replicas.Stand(worker.member), self.now), self.now)
        self._next(worker, self.now)

    def _lose(self, worker: _Worker) -> None:
        for run in worker.runs.values():
            run.alive = False
        worker.runs.clear()
        failures = self._cluster.failures
        if isfinite(failures.noticed):
            self._at(self.now + failures.noticed, self._leave, worker.member)
            self._at(self.now + max(failures.restart, failures.noticed), self._start_again, worker)

    def _leave(self, member: int) -> None:
        self._members.pop(member, None)
        if self.aggregator is not None:
            self._follow(self.aggregator.take(replicas.Leave(member), self.now), self.now)

    def _start_again(self, worker: _Worker) -> None:
        worker.lives += 1
        self._join(worker)

    def _next(self, worker: _Worker, time: float) -> None:
        worker.steps += 1
        between = self._between if worker.steps % self._job.every else None
        factor = self._cluster.slow.draw(self._random, worker.number, len(self.workers)) / self._cluster.speed
        self._begin(between or self._step, worker, "step", time, factor)

    # ---- steps

    def _begin(self, course: _Course, worker: _Worker, role: str, time: float, factor: float = 1.0) -> None:
        run = worker.runs[role] = _Run(course, worker, time, factor)
        task = worker.task
        start = max(time, task.busy)
        core, start = task.host.begin(start)
        path = _later(_NONE, _QUEUE, start - time)
        t = start + self._tolls.step + self._woken(start - task.busy)
        if role == "step":
            t += self._job.outside + self._woken(self._job.outside)
        own = course.begins[course.own] if course.own >= 0 else []
        is_short = course.first * factor < SHORT
        if is_short:  # what it sends first goes along with the messages that begin the others
            run.along = {}
            t = self._drive(run, list(own), t, _later(path, _OWN, t - start), task)
        along, run.along = run.along or {}, None
        for part in course.others:
            messages = along.get(part, [])
            t += self._packing(course, messages)
            size = sum(course.messages[m].size for m in messages)
            self._deliver(run, part, task, size, t, _later(path, _OWN, t - start), ("begin", part, messages))
        task.let_go(core, start, t)
        if not is_short:
            self._drive(run, list(own), t, _later(path, _OWN, t - start), task)
        if not course.others and not own:  # a step of nothing
            self._at(t, self._ended, run, _later(path, _OWN, t - start))

    def _woken(self, seconds: float) -> float:
        """What a task takes longer that has done nothing for so many seconds."""
        return self._tolls.wake * min(seconds / LULL, 1.0)

    def _packing(self, course: _Course, messages: Iterable[int]) -> float:
        """Seconds to pack one message that carries these, or to take it."""
        carried = [course.messages[m] for m in messages]
        block = self._tolls.block if sum(one.size for one in carried) > self._inline else 0.0
        return self._tolls.message + block + self._tolls.value * sum(one.values for one in carried)

    def _deliver(
        self, run: _Run, part: int, source: _Task, size: float, time: float, path: Path, what: tuple[Any, ...]
    ) -> None:
        """A message leaves at a time.  ``part``: the partition that it goes to."""
        self._post(run, source, self._task(run, part), size, time, path, what)

    def _task(self, run: _Run, part: int) -> _Task:
        number = run.course.tasks[part]
        return run.worker.task if number == WORKER else self.servers[number]

    def _post(
        self, run: _Run, source: _Task, target: _Task, size: float, time: float, path: Path, what: tuple[Any, ...]
    ) -> None:
        if source.host is target.host:
            source.port.sent += size
            target.port.received += size
            self._at(time, self._receive, run, target, 0.0, path, what)
            return
        first, last = source.port.send(time, size)
        if size <= SMALL:  # it waits for nothing
            over = target.port.receive(first, size, last)
            self._at(over, self._receive, run, target, size, _later(path, _NETWORK, over - time), what)
            return
        self._at(first, self._arrive, run, target, size, last, time, path, what)

    def _arrive(
        self, run: _Run, target: _Task, size: float, last: float, sent: float, path: Path, what: tuple[Any, ...]
    ) -> None:
        """The first byte of a message is there."""
        over = target.port.receive(self.now, size, last)
        path = _later(path, _NETWORK, over - sent)
        self._at(over, self._receive, run, target, size, path, what)

    def _receive(self, run: _Run, task: _Task, size: float, path: Path, what: tuple[Any, ...]) -> None:
        """All of a message is there; the task takes it when those before it are taken."""
        if not run.alive:
            return
        now, tolls = self.now, self._tolls
        start = max(now, task.busy)
        core, start = task.host.begin(start)
        what_for, number, messages = what
        if what_for == "message":
            messages = (number,)
        t = start + self._packing(run.course, messages) + size / tolls.cipher
        if start == now:
            t += self._woken(now - task.busy)
        ready: list[int] = []
        if what_for == "begin":
            t += tolls.partition
            task.hold(run.course.live[number])
            ready += run.course.begins[number]
        for message in messages:
            for strand in run.course.takers[message]:
                run.missing[strand] -= 1
                if not run.missing[strand]:
                    ready.append(strand)
        if what_for == "message" and ready:
            t += tolls.resume
        path = _later(_later(path, _QUEUE, start - now), _OWN if task.is_worker else _SERVER, t - start)
        if what_for == "begin" and not run.open[number]:
            t = self._over(run, number, t, path, task)
        t = self._drive(run, ready, t, path, task)
        task.let_go(core, start, t)
        if what_for == "done":
            self._part_is_over(run, t, path)

    def _drive(self, run: _Run, ready: list[int], t: float, path: Path, task: _Task) -> float:
        """Runs short strands that are ready, from ``t`` on; long ones go to threads.  Returns when the interpreter is free."""
        course, cause = run.course, _OWN if task.is_worker else _SERVER
        while ready:
            number = ready.pop(0)
            strand = course.strands[number]
            if strand.waits:
                self._wait(run, number, t, path)
                continue
            if self._seconds(run, strand, task) >= SHORT:
                self._thread(run, number, 0, t, path, task)
                continue
            for interpreter, kernels, moves, gathered, sends, tells in strand.pieces:
                factor = run.factor if task.is_worker else 1.0
                moved = task.host.stretched(t, moves + gathered * run.counted)
                seconds = (interpreter + kernels + moved) * factor
                t, path = t + seconds, _later(path, cause, seconds)
                if sends:
                    t, path = self._send(run, sends, t, path, task)
                if tells:
                    self._tell(run, t)
            t, path = self._follow_on(run, number, ready, t, path, task)
        return t

    def _seconds(self, run: _Run, strand: _Strand, task: _Task) -> float:
        seconds = sum(p[0] + p[1] + p[2] + p[3] * run.counted for p in strand.pieces)
        return seconds * run.factor if task.is_worker else seconds

    def _send(self, run: _Run, sends: Iterable[int], t: float, path: Path, task: _Task) -> tuple[float, Path]:
        cause = _OWN if task.is_worker else _SERVER
        for number in sends:
            message = run.course.messages[number]
            if run.along is not None and task.is_worker:
                run.along.setdefault(message.destination, []).append(number)
                continue
            packing = self._packing(run.course, (number,))
            t, path = t + packing, _later(path, cause, packing)
            self._deliver(run, message.destination, task, message.size, t, path, ("message", number, ()))
        return t, path

    def _follow_on(
        self, run: _Run, number: int, ready: list[int], t: float, path: Path, task: _Task
    ) -> tuple[float, Path]:
        """A strand is over."""
        strand = run.course.strands[number]
        for follower in strand.followers:
            run.missing[follower] -= 1
            if not run.missing[follower]:
                ready.append(follower)
        run.open[strand.part] -= 1
        if not run.open[strand.part]:
            after = self._over(run, strand.part, t, path, task)
            t, path = after, _later(path, _OWN if task.is_worker else _SERVER, after - t)
        return t, path

    def _over(self, run: _Run, part: int, t: float, path: Path, task: _Task) -> float:
        """A partition is over: the one who asked is told."""
        if part == run.course.own:
            self._part_is_over(run, t, path)
            return t
        t += self._tolls.message
        task.hold(-run.course.live[part])
        path = _later(path, _SERVER, self._tolls.message)
        self._post(run, task, run.worker.task, 0.0, t, path, ("done", part, ()))
        return t

    def _part_is_over(self, run: _Run, t: float, path: Path) -> None:
        run.parts -= 1
        if not run.parts:
            self._at(t, self._ended, run, path)

    def _ended(self, run: _Run, path: Path) -> None:
        if not run.alive:
            return
        worker = run.worker
        if run.course is self._update:
            self._begin(run.course, worker, "update", self.now)
            return
        self.counts.note(self.now - run.began, path)
        self._next(worker, self.now)

    # ---- long strands

    def _thread(self, run: _Run, number: int, piece: int, t: float, path: Path, task: _Task) -> None:
        """One piece of a strand is for the thread of its partition."""
        strand = run.course.strands[number]
        if piece == 0:
            if strand.part in run.running:
                run.queued.append((number, t, path))
                return
            run.running.add(strand.part)
        seconds = strand.pieces[piece][0] * (run.factor if task.is_worker else 1.0)
        self._at(t, self._interpret, run, number, piece, seconds, path, task)

    def _interpret(self, run: _Run, number: int, piece: int, left: float, path: Path, task: _Task) -> None:
        """What needs the interpreter takes turns with messages; then the kernels run without it."""
        if not run.alive:
            return
        begun, own = max(self.now, task.busy), task.is_worker
        turn = min(left, TURN)
        core, begun = task.host.begin(begun)
        over = task.host.end(core, begun, begun + turn)
        task.busy = over
        task.used += turn
        path = _later(_later(path, _OWN if own else _QUEUE, begun - self.now), _OWN if own else _SERVER, over - begun)
        if left > turn:
            self._at(over, self._interpret, run, number, piece, left - turn, path, task)
        else:
            self._at(over, self._compute, run, number, piece, path, task)

    def _compute(self, run: _Run, number: int, piece: int, path: Path, task: _Task) -> None:
        factor = run.factor if task.is_worker else 1.0
        _, kernels, moves, gathered, _, _ = run.course.strands[number].pieces[piece]
        over = task.host.compute(self.now, kernels * factor, (moves + gathered * run.counted) * factor)
        path = _later(path, _OWN if task.is_worker else _SERVER, over - self.now)
        self._at(over, self._piece_is_over, run, number, piece, path, task)

    def _piece_is_over(self, run: _Run, number: int, piece: int, path: Path, task: _Task) -> None:
        if not run.alive:
            return
        strand = run.course.strands[number]
        sends, tells = strand.pieces[piece][4:]
        t = self.now
        last = piece + 1 == len(strand.pieces)
        if sends or tells or last:
            start = max(t, task.busy)
            core, start = task.host.begin(start)
            path = _later(path, _OWN if task.is_worker else _QUEUE, start - t)
            t, path = self._send(run, sends, start, path, task)
            if tells:
                self._tell(run, t)
            if last:
                ready: list[int] = []
                t, path = self._follow_on(run, number, ready, t, path, task)
                t = self._drive(run, ready, t, path, task)
            task.let_go(core, start, t)
        if not last:
            self._thread(run, number, piece + 1, t, path, task)
            return
        run.running.discard(strand.part)
        for i, (other, since, before) in enumerate(run.queued):
            if run.course.strands[other].part == strand.part:
                del run.queued[i]
                self._thread(run, other, 0, t, _later(before, _OWN if task.is_worker else _QUEUE, t - since), task)
                break

    # ---- who waits for whom

    def _wait(self, run: _Run, number: int, t: float, path: Path) -> None:
        run.waiting = (number, t, path)
        worker, strand = run.worker, run.course.strands[number]
        if self.aggregator is None or worker.member not in self.aggregator.members:
            return
        if strand.waits == RELEASE:
            event: replicas.Event = replicas.Arrive(worker.member, worker.released)
        else:
            event = replicas.Ready(worker.member)
        self._follow(self.aggregator.take(event, t), t)

    def _tell(self, run: _Run, t: float) -> None:
        if self.aggregator is not None:
            self._follow(self.aggregator.take(replicas.Updated(run.ticket), t), t)

    def _follow(self, instructions: Iterable[replicas.Instruction], t: float) -> None:
        for one in instructions:
            if isinstance(one, replicas.Wake):
                self._tick += 1
                if isfinite(one.seconds):
                    self._at(max(t + one.seconds, self.now), self._wake, self._tick)
                continue
            if isinstance(one, replicas.Release):
                worker = self._members[one.member]
                worker.released = one.step
                self._resume(worker, "step", t)
            elif isinstance(one, replicas.Update):
                worker = self._members[one.by]
                run = worker.runs.get("update")
                if run is not None:
                    run.counted, run.ticket = len(one.counted), one.ticket
                    self._resume(worker, "update", t)
            elif self._update is not None:
                self._at(max(t, self.now), self._lead, self._members[one.member])

    def _lead(self, worker: _Worker) -> None:
        if self._update is not None and self._members.get(worker.member) is worker:
            self._begin(self._update, worker, "update", self.now)

    def _wake(self, number: int) -> None:
        if number == self._tick and self.aggregator is not None:
            self._follow(self.aggregator.take(replicas.Tick(), self.now), self.now)

    def _resume(self, worker: _Worker, role: str, t: float) -> None:
        run = worker.runs.get(role)
        if run is None or run.waiting is None:
            return
        number, since, path = run.waiting
        run.waiting = None
        self._at(max(t, self.now), self._released, run, number, _later(path, _OTHERS, max(t, self.now) - since))

    def _released(self, run: _Run, number: int, path: Path) -> None:
        """What a strand has waited for has happened."""
        if not run.alive:
            return
        task = self._task(run, run.course.strands[number].part)
        now = self.now
        start = max(now, task.busy)
        core, start = task.host.begin(start)
        path = _later(path, _QUEUE, start - now)
        ready: list[int] = []
        again = self._tolls.resume
        path = _later(path, _OWN if task.is_worker else _SERVER, again)
        t, path = self._follow_on(run, number, ready, start + again, path, task)
        t = self._drive(run, ready, t, path, task)
        task.let_go(core, start, t)

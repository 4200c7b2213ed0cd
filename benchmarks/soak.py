"""Queues under stress: sixteen threads add, take, move, close, run out of time, lose their session and are interrupted.

Nothing may hang, no thread may stay, and no element may be lost, doubled or changed, except by a step that failed half-way.
`python -m benchmarks soak --seconds 600` runs for ten minutes and ends with 1 if anything was wrong.
"""

import argparse
import contextlib
import faulthandler
import os
import random
import signal
import sys
import threading
import time

import numpy as np

import headrace as tf
from benchmarks._soak_account import Account

THREADS = 16  # the main thread is one of them
SESSIONS = 4
ROUND_S = (0.3, 1.5)
TIMEOUT_MS = (1, 40)
HANG_S = 60.0  # after which a round has hung
MOST = 6  # elements in one step


# ---- the queues


class Line:
    """One queue and the steps on it.  An element is a number and something computed from it."""

    def __init__(self, queue, components):
        self.queue, self._components = queue, components
        self.fed = [tf.placeholder(d, s) for d, s in zip(queue.dtypes, queue.shapes, strict=True)]
        self.fed_many = [tf.placeholder(d, [None, *s]) for d, s in zip(queue.dtypes, queue.shapes, strict=True)]
        self.count = tf.placeholder(tf.int32, [])
        self.enqueue, self.enqueue_many = queue.enqueue(self.fed), queue.enqueue_many(self.fed_many)
        self.dequeue = queue.dequeue()
        self.dequeue_many, self.dequeue_up_to = queue.dequeue_many(self.count), queue.dequeue_up_to(self.count)
        self.close, self.cancel = queue.close(), queue.close(cancel_pending_enqueues=True)
        self.size = queue.size()

    def feed(self, number):
        return dict(zip(self.fed, self._components(number), strict=True))

    def feed_many(self, numbers):
        """All payloads must have one size: that of the first."""
        rows = [self._components(number, numbers[0]) for number in numbers]
        return {p: np.stack(c) for p, c in zip(self.fed_many, zip(*rows, strict=True), strict=True)}

    def numbers(self, components, many):
        """The numbers of what was taken; ValueError if an element is not what was put."""
        first = self._index_of_number()
        numbers = components[first] if many else components[first : first + 1]
        for i, number in enumerate(numbers):
            for got, expected in zip(components, self._components(int(number), None), strict=True):
                self._compare(np.asarray(got[i] if many else got), np.asarray(expected), int(number))
        return [int(number) for number in numbers]

    def _index_of_number(self):
        return 1 if isinstance(self.queue, tf.PriorityQueue) else 0

    def _compare(self, got, expected, number):
        if isinstance(self.queue, tf.PaddingFIFOQueue) and got.ndim:
            got = got[got != 0]
            expected = np.full(len(got), number)
        if not np.array_equal(got, expected):
            raise ValueError(f"element {number} of {self.queue.name} came out as {got}, not {expected}")


def make_lines():
    """A queue of each kind, shared by the sessions of a server."""
    plain = {"dtypes": [tf.int64, tf.float32], "shapes": [[], [3]]}

    def constant_size(number, like=None):
        return np.int64(number), np.full(3, number, np.float32)

    def padded(number, like=None):
        return np.int64(number), np.full((number if like is None else like) % 5, number, np.int64)

    def by_priority(number, like=None):
        return np.int64(number % 7), np.int64(number)

    return [
        Line(tf.FIFOQueue(8, **plain, shared_name="fifo"), constant_size),
        Line(tf.FIFOQueue(-1, **plain, shared_name="endless"), constant_size),
        Line(tf.RandomShuffleQueue(12, 3, **plain, shared_name="shuffle"), constant_size),
        Line(tf.PaddingFIFOQueue(5, [tf.int64, tf.int64], [[], [None]], shared_name="padding"), padded),
        Line(tf.PriorityQueue(7, [tf.int64], [[]], shared_name="priority"), by_priority),
    ]


# ---- one round


class Round:
    """Threads and queues until the queues are closed; then an account of every element."""

    def __init__(self, seed, first, tally):
        self._random = random.Random(seed)
        self._account = Account(first)
        self._tally = tally
        self._over = threading.Event()
        self._errors = []
        self.armed = False  # whether the main thread is in a step that may be interrupted
        self._server = tf.train.Server.create_local_server()
        with tf.Graph().as_default() as self._graph:
            self.lines = make_lines()
            self._moves = {}
            for line in self.lines[:3]:
                for other in self.lines[:3]:
                    self._moves[line, other] = other.queue.enqueue(line.queue.dequeue())
        self._sessions = [self._session() for _ in range(SESSIONS)]
        self._ended = []

    def _session(self):
        return tf.Session(self._server.target, graph=self._graph)

    def run(self):
        """Runs the round; gives what was wrong, and the next free number."""
        seeds = [self._random.getrandbits(32) for _ in range(THREADS)]
        threads = [threading.Thread(target=self._work, args=(seed, False)) for seed in seeds[1:]]
        conductor = threading.Thread(target=self._conduct, args=(self._random.uniform(*ROUND_S), seeds[0]))
        for thread in (*threads, conductor):
            thread.start()
        self._work(seeds[0], True)
        for thread in (*threads, conductor):
            thread.join()
        self._drain()
        for session in self._sessions:
            session.close()
        return [*self._errors, *self._account.problems()], self._account.next

    def _conduct(self, seconds, seed):
        """Interrupts the main thread now and then, and ends the round."""
        chance = random.Random(seed)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(chance.uniform(0.001, 0.05))
            self._interrupt()
        self._over.set()
        with self._session() as session:
            for line in self.lines:
                with contextlib.suppress(tf.errors.CancelledError):  # somebody has closed it
                    session.run(line.cancel)

    def _interrupt(self):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    # ---- what a thread does

    def _work(self, seed, is_main):
        chance = random.Random(seed)
        try:
            while not self._over.is_set():
                self._act(chance, is_main)
        except Exception as error:
            self._errors.append(f"{type(error).__name__}: {error}")
            self._over.set()

    def _act(self, chance, is_main):
        line = chance.choice(self.lines)
        slot = chance.randrange(SESSIONS)
        action = chance.choices(list(ACTIONS), list(ACTIONS.values()))[0]
        if action == "end_session":
            self._replace(slot)
            return
        options = tf.RunOptions(timeout_in_ms=chance.randint(*TIMEOUT_MS)) if chance.random() < 0.9 else None
        session = self._sessions[slot]

        def run(fetches, feed_dict=None):
            return session.run(fetches, feed_dict, options)

        getattr(self, f"_{action}")(chance, line, _Interruptible(self, run) if is_main else run)

    def _replace(self, slot):
        """Closes a session under the steps that others run in it."""
        session, self._sessions[slot] = self._sessions[slot], self._session()
        session.close()
        self._ended.append(session)  # Ctrl-C in a destructor would be printed

    def _add(self, chance, line, run):
        number = self._account.number()
        outcome = self._attempt(lambda: run(line.enqueue, line.feed(number)))
        self._account.added([number], outcome)

    def _add_many(self, chance, line, run):
        numbers = [self._account.number() for _ in range(chance.randint(1, MOST))]
        outcome = self._attempt(lambda: run(line.enqueue_many, line.feed_many(numbers)))
        self._account.added(numbers, outcome)

    def _take(self, chance, line, run):
        self._taking(line, 1, lambda: run(line.dequeue), False)

    def _take_many(self, chance, line, run):
        count = chance.randint(1, MOST)
        self._taking(line, count, lambda: run(line.dequeue_many, {line.count: count}), True)

    def _take_up_to(self, chance, line, run):
        count = chance.randint(1, MOST)
        self._taking(line, count, lambda: run(line.dequeue_up_to, {line.count: count}), True)

    def _taking(self, line, count, step, many):
        elements = []
        outcome = self._attempt(lambda: elements.append(step()))
        if outcome == "done":
            self._account.taken(line.numbers(elements[0], many))
        elif outcome == "interrupted":
            self._account.may_have_lost(count)

    def _move(self, chance, line, run):
        """A step that takes and then adds may fail in between, and loses its element then."""
        source, target = (chance.choice(self.lines[:3]) for _ in range(2))
        if self._attempt(lambda: run(self._moves[source, target])) != "done":
            self._account.may_have_lost(1)

    def _close(self, chance, line, run):
        self._attempt(lambda: run(line.cancel if chance.random() < 0.5 else line.close))

    def _size(self, chance, line, run):
        self._attempt(lambda: run(line.size))

    def _attempt(self, step):
        """Runs a step: how it ended."""
        try:
            step()
            outcome = "done"
        except KeyboardInterrupt:
            outcome = "interrupted"
        except tf.errors.DeadlineExceededError:
            outcome = "out of time"
        except tf.errors.CancelledError:
            outcome = "cancelled"
        except tf.errors.OutOfRangeError:
            outcome = "closed"
        except RuntimeError as error:
            if "closed Session" not in str(error):
                raise
            outcome = "no session"
        self._tally.count(outcome)
        return outcome

    # ---- the end

    def _drain(self):
        with self._session() as session:
            for line in self.lines:
                while session.run(line.size):
                    taken = session.run(line.dequeue_up_to, {line.count: 100})
                    self._account.taken(line.numbers(taken, True))


ACTIONS = {
    "add": 30, "add_many": 20, "take": 30, "take_many": 15, "take_up_to": 10, "move": 10, "size": 5, "end_session": 0.5,
    "close": 0.1,
}  # fmt: skip


class _Interruptible:
    """A run in the main thread, in which alone Ctrl-C is heard."""

    def __init__(self, current_round, run):
        self._round, self._run = current_round, run

    def __call__(self, *arguments):
        try:
            self._round.armed = True
            return self._run(*arguments)
        finally:
            self._round.armed = False


class Tally:
    """How many steps ended in which way.  Thread-safe."""

    def __init__(self):
        self.outcomes = {}
        self._lock = threading.Lock()

    def count(self, outcome):
        with self._lock:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1


# ---- all rounds


def soak(seconds, seed):
    """Runs rounds for that many seconds; gives what was wrong in the last one, the rounds and the tally."""
    threads = set(threading.enumerate())
    tally, rounds, first = Tally(), 0, 1
    end = time.monotonic() + seconds
    current = []

    def interrupted(*_):
        if current and current[0].armed:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        problems = []
        while not problems and time.monotonic() < end:
            faulthandler.dump_traceback_later(HANG_S, exit=True)
            current[:] = [Round(seed + rounds, first, tally)]
            problems, first = current[0].run()
            rounds += 1
    finally:
        signal.signal(signal.SIGINT, before)
        faulthandler.cancel_dump_traceback_later()
    return [*problems, *_left(threads)], rounds, tally


def _left(threads):
    """Threads that are there and were not before; those of pools have a few seconds to end."""
    patience = time.monotonic() + 5.0
    while (left := set(threading.enumerate()) - threads) and time.monotonic() < patience:
        time.sleep(0.05)
    return [f"thread {thread.name} is still there" for thread in left]


def main(argv=None):
    """Prints how it went; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of the first round (default: the clock's)")
    options = parser.parse_args(argv)
    os.environ.setdefault("HEADRACE_COMPILE", "off")  # it is about queues
    seed = int(time.time()) if options.seed is None else options.seed
    problems, rounds, tally = soak(options.seconds, seed)
    ways = ", ".join(f"{count} {outcome}" for outcome, count in sorted(tally.outcomes.items()))
    print(f"{rounds} rounds from seed {seed}: {sum(tally.outcomes.values())} steps ({ways})")
    for problem in problems:
        print(f"WRONG: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

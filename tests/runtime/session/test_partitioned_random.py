"""Random programs with loops, conditionals and variables, cut at random places: the results are those of one device."""

import gc
import random
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from golden import control_flow_cases, state_flow_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from running import initialized_session

import headrace as tf
from headrace.resources.stepping.rendezvous import Rendezvous

UNARY = [tf.sin, tf.tanh, lambda x: x * 0.5, lambda x: tf.reduce_mean(x) + x, tf.square]
BINARY = [tf.add, tf.multiply, tf.subtract, lambda a, b: tf.where(a > b, a, b)]


class Program:
    """A program drawn from a seed.  Every node is on a device of its own drawing."""

    def __init__(self, seed, devices):
        self.random = random.Random(seed)
        self.devices = devices
        self.x = tf.placeholder(tf.float64, [3])
        self.variables = [self.on(tf.Variable, np.full(3, 0.1 * (i + 1))) for i in range(2)]
        values = [self.x, *(v.value() for v in self.variables)]
        results = self.grow(values, 6, 2)
        loss = tf.add_n([tf.reduce_sum(r) for r in results])
        slopes = tf.gradients(loss, [self.x, *self.variables])
        with tf.control_dependencies([loss, *(g for g in slopes if g is not None)]):
            updates = [
                self.on(v.assign_sub, 0.1 * tf.clip_by_value(g, -1.0, 1.0))
                for v, g in zip(self.variables, slopes[1:], strict=True)
                if g is not None
            ]
        self.fetches = [loss, *(g for g in slopes if g is not None), *updates]

    def on(self, function, *arguments):
        with tf.device(f"/cpu:{self.random.randrange(self.devices)}"):
            return function(*arguments)

    def grow(self, values, count, depth):
        """More values, made of these."""
        values = list(values)
        for _ in range(count):
            choice = self.random.random()
            a, b = self.random.choice(values), self.random.choice(values)
            if choice < 0.35:
                made = self.on(self.random.choice(UNARY), a)
            elif choice < 0.7:
                made = self.on(self.random.choice(BINARY), a, b)
            elif choice < 0.85 and depth:
                made = self.on(
                    tf.cond, self.on(lambda a=a: tf.reduce_sum(a) > 0.31),
                    lambda a=a, b=b: self.grow([a, b], 2, depth - 1)[-1] + self.variables[0] * a,
                    lambda a=a, b=b: self.grow([a, b], 2, depth - 1)[-1] * 0.5,
                )  # fmt: skip
            elif depth:
                made = self.loop(a, b, depth)
            else:
                made = self.on(tf.add, a, 1.0)
            made.set_shape([3])
            values.append(tf.clip_by_value(made, -3.0, 3.0))
        return values

    def loop(self, a, b, depth):
        limit, many = self.random.choice([2.0, 5.0]), self.random.randint(1, 4)

        def go_on(i, x, y):
            return self.on(lambda: tf.logical_and(i < many, tf.reduce_sum(tf.abs(x)) < limit * 10))

        def body(i, x, y):
            made = self.grow([x, y, a], 2, depth - 1)[-1]
            return i + 1, self.on(tf.tanh, made + y), self.on(tf.sin, x)

        return tf.while_loop(go_on, body, [0, a, b], parallel_iterations=self.random.randint(1, 3))[1]


def run(seed, devices, config):
    with tf.Graph().as_default():
        program = Program(seed, devices)
        with initialized_session(config=config) as session:
            results = [session.run(program.fetches, {program.x: [0.3, -0.2, 0.5 + 0.1 * i]}) for i in range(2)]
            results.append(session.run(program.variables))
            plan = session._master.plan([program.x], program.fetches, [])
            left = len(session._master.worker.rendezvous), session.waiting()
    return results, plan, left


class Pinned:
    """``tf`` whose graphs draw a device for each node, those of gradients too; some nodes ask for none."""

    def __init__(self, seed, devices, share):
        self.random = random.Random(seed)
        self.devices = devices
        self.share = share

    def __getattr__(self, name):
        return getattr(tf, name)

    def Graph(self):  # noqa: N802 - TensorFlow's name
        return self

    @contextmanager
    def as_default(self):
        with tf.Graph().as_default(), tf.device(self.draw):
            yield

    def draw(self, op):
        return f"/cpu:{self.random.randrange(self.devices)}" if self.random.random() < self.share else ""


def cut(devices):
    return tf.ConfigProto(
        compile="off", device_count={"CPU": devices}, partition="always", operation_timeout_in_ms=60_000
    )


class Delayed:
    """Hands messages over on other threads, late and in another order; those under one key stay in order."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.keys = {}
        self.lock = threading.Lock()
        self.send = Rendezvous.send

    def __call__(self, table, step, key, message):
        with self.lock:
            before = self.keys.get((step, key))
            thread = threading.Thread(target=self.deliver, args=(before, table, step, key, message))
            self.keys[step, key] = thread
            delay = self.random.random() * 2e-3
        timer = threading.Timer(delay, thread.start)
        timer.start()

    def deliver(self, before, *message):
        if before is not None:
            while before.ident is None or before.is_alive():
                before.join(0.01) if before.ident is not None else threading.Event().wait(1e-3)
        self.send(*message)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), devices=st.integers(2, 4))
def test_results_are_those_of_one_device(seed, devices):
    one = run(seed, devices, tf.ConfigProto(compile="off", allow_soft_placement=True))[0]
    many, plan, left = run(seed, devices, tf.ConfigProto(compile="off", device_count={"CPU": devices}))
    for a, b in zip(one, many, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-12)
    assert plan.partitions is not None
    assert left == (0, "")


@pytest.mark.parametrize(("seed", "devices", "depth"), [(17, 2, 1), (3401, 2, 1), (1007, 4, 3), (1043, 4, 3)])
def test_state_is_read_and_written_in_order(seed, devices, depth):
    """Loops, conditionals and functions that change variables of several devices; statement by statement in Python."""
    grower = state_flow_cases.Grower(seed)
    program = grower.block(depth)
    found = state_flow_cases.record(Pinned(seed, devices, 0.5), program, grower.resource, cut(devices))
    np.testing.assert_allclose(found, state_flow_cases.expected(program, grower.resource), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", [1000, 1001, 1002])
def test_gradients_of_nested_bodies_over_devices(seed):
    """Every node is on a device of its own drawing, those of the gradients among them."""
    one = control_flow_cases.record(tf, seed, tf.ConfigProto(compile="off", device_count={"CPU": 1}), 2, 1)
    many = control_flow_cases.record(Pinned(seed, 4, 0.5), seed, cut(4), 2, 1)
    for x, y in zip(one, many, strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-7, atol=1e-10)


def test_late_messages_change_nothing(monkeypatch):
    for seed in (3, 11):
        one = run(seed, 3, tf.ConfigProto(compile="off", allow_soft_placement=True))[0]
        with monkeypatch.context() as patch:
            delayed = Delayed(seed)
            patch.setattr(Rendezvous, "send", lambda *a, delayed=delayed: delayed(*a))
            many = run(seed, 3, tf.ConfigProto(compile="off", device_count={"CPU": 3}))[0]
            for thread in delayed.keys.values():
                thread.join() if thread.ident is not None else None
        for a, b in zip(one, many, strict=True):
            for x, y in zip(a, b, strict=True):
                np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-12)


def tensors():
    gc.collect()
    return sum(type(o) is torch.Tensor for o in gc.get_objects())


def test_no_buffer_outlives_its_step():
    """Threads of the step, and of tests before this one, may have theirs for a moment longer."""
    with tf.Graph().as_default():
        program = Program(5, 3)
        with initialized_session(config=tf.ConfigProto(compile="off", device_count={"CPU": 3})) as session:
            for _ in range(3):
                session.run(program.fetches, {program.x: [0.1, 0.2, 0.3]})
            before = tensors()
            for _ in range(20):
                session.run(program.fetches, {program.x: [0.1, 0.2, 0.3]})
            last = time.monotonic() + 10
            while (after := tensors()) > before and time.monotonic() < last:
                time.sleep(0.05)
            assert after <= before

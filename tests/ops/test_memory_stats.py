"""The memory of devices: as ops (tf.contrib.memory_stats), in the list of devices, and from the session."""

import numpy as np
import pytest
import torch

import headrace as tf
from headrace.library.system.device_list import list_local_devices
from headrace.resources.state import memory

CPU = "/job:localhost/replica:0/task:0/device:CPU:"
TWO_CPUS = {"CPU": 2, "GPU": 0}


def test_bytes_in_use_on_the_cpu_are_those_of_its_variables() -> None:
    with tf.device("/cpu:0"):
        here = tf.contrib.memory_stats.BytesInUse()
        a = tf.get_variable("a", [10, 10])
    with tf.device("/cpu:1"):
        there = tf.contrib.memory_stats.BytesInUse()
        b = tf.get_variable("b", [3], tf.float64)
    with tf.Session(config=tf.ConfigProto(device_count=TWO_CPUS)) as session:
        assert session.run([here, there]) == [0, 0]
        session.run(a.initializer)
        assert session.run([here, there]) == [400, 0]
        session.run(b.initializer)
        assert session.run([here, there]) == [400, 24]
        assert session.run(here).dtype == np.int64
        stats = session.device_stats()
        assert [stats[CPU + i].variable_bytes for i in "01"] == [400, 24]
        assert stats[CPU + "0"].bytes_in_use is None and stats[CPU + "0"].max_bytes_in_use is None


def test_the_most_bytes_in_use_are_counted_on_accelerators_only() -> None:
    with tf.device("/cpu:0"):
        most = tf.contrib.memory_stats.MaxBytesInUse()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
        session.run(most)


def test_the_limit_of_the_cpu_is_the_memory_of_the_machine(session: tf.Session) -> None:
    with tf.device("/cpu:0"):
        limit = tf.contrib.memory_stats.BytesLimit()
    number = session.run(limit)
    listed = next(d for d in session.list_devices() if d.device_type == "CPU")
    assert number == listed.memory_limit_bytes == session.device_stats()[CPU + "0"].bytes_limit
    assert number == next(d for d in list_local_devices() if d.device_type == "CPU").memory_limit
    assert 2**26 < number < 2**50


@pytest.mark.parametrize(("text", "limit"), [("1048576\n", 1 << 20), ("max\n", None)])
def test_a_control_group_may_leave_less(text: str, limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.Path, "read_text", lambda path: text)
    whole = memory.os.sysconf("SC_PAGE_SIZE") * memory.os.sysconf("SC_PHYS_PAGES")
    assert memory.host_memory.__wrapped__() == (limit or whole)


def test_a_type_of_which_nobody_knows_the_memory() -> None:
    assert memory.memory_limit(torch.device("meta")) == 0

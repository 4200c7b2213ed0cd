"""The list of devices, and the worker: constants shared, state made once, containers reset."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from passes.steps import step

import headrace as tf
from headrace.core.config import ConfigProto
from headrace.graph import raw_ops
from headrace.runtime.host import device as devices
from headrace.runtime.host.device import local_devices, register_device, unregister_device
from headrace.runtime.host.registered import RegisteredGraph
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.session.partition_worker import PartitionWorker
from headrace.runtime.session.partitioned import PartitionedStep

PREFIX = "/job:localhost/replica:0/task:0/device:"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    unregister_device("TESTED")


class TestDevices:
    def test_there_is_always_a_cpu(self) -> None:
        found = local_devices()
        assert found[-1].name == PREFIX + "CPU:0" and found[-1].device_type == "CPU"
        assert local_devices({"CPU": 0})[-1].name == PREFIX + "CPU:0"

    def test_several_cpus(self) -> None:
        assert [d.name for d in local_devices({"cpu": 3}) if d.device_type == "CPU"] == [
            PREFIX + f"CPU:{i}" for i in range(3)
        ]
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.device("/cpu:1"):
            x = raw_ops.Neg(tf.constant(1.0))
        with tf.Session(config=config) as session:
            assert session.run(x) == -1.0
            assert sum(d.device_type == "CPU" for d in session.list_devices()) == 2

    def test_a_limit_is_a_limit(self) -> None:
        assert [d for d in local_devices({"GPU": 0}) if d.device_type == "GPU"] == []

    def test_unknown_types(self) -> None:
        with pytest.raises(ValueError, match="unknown device type 'NPU9'; known: CPU, GPU"):
            local_devices({"npu9": 1})

    def test_registered_types(self, session: tf.Session) -> None:
        register_device("Tested", "cpu", lambda: 2, priority=500)
        assert [d.name for d in local_devices()][:2] == [PREFIX + "TESTED:0", PREFIX + "TESTED:1"]
        assert "TESTED" in devices.device_types()
        x = raw_ops.Neg(tf.constant(1.0))
        assert session.run(x) == -1.0
        with pytest.raises(ValueError, match="'TESTED' is registered already"):
            register_device("tested", "cpu")
        unregister_device("tested")
        assert all(d.device_type != "TESTED" for d in local_devices())

    def test_refused_types(self) -> None:
        with pytest.raises(ValueError, match="named by letters"):
            register_device("a/b", "cpu")
        with pytest.raises(RuntimeError):
            register_device("Tested", "no such device")
        with pytest.raises(ValueError, match="CPU cannot be unregistered"):
            unregister_device("cpu")

    def test_another_task(self) -> None:
        assert local_devices(prefix="/job:ps/replica:0/task:3")[-1].name == "/job:ps/replica:0/task:3/device:CPU:0"


class TestBudgets:
    """Threads of virtual CPUs, and limits of memory."""

    @staticmethod
    def worker(cpus: int, threads: int = 6, **budgets: int) -> LocalWorker:
        config = ConfigProto(device_count={"CPU": cpus, "GPU": 0}, intra_op_parallelism_threads=threads)
        config.device_threads.update({"/" + name.replace("_", ":"): number for name, number in budgets.items()})
        return LocalWorker(config)

    def test_the_cpus_of_a_step_divide_the_sessions_threads(self) -> None:
        worker = self.worker(4)
        names = [PREFIX + f"CPU:{i}" for i in range(4)]
        assert worker.thread_budgets(names[:1]) == {names[0]: 6}
        assert worker.thread_budgets(names[1:3]) == {names[1]: 3, names[2]: 3}
        assert list(worker.thread_budgets(names).values()) == [2, 2, 1, 1]
        assert list(self.worker(4, threads=2).thread_budgets(names).values()) == [1, 1, 1, 1]

    def test_budgets_of_the_config(self) -> None:
        worker = self.worker(3, cpu_1=4)
        names = [PREFIX + f"CPU:{i}" for i in range(3)]
        assert [d.threads for d in worker.devices] == [0, 4, 0]
        assert worker.thread_budgets(names) == dict(zip(names, [1, 4, 1], strict=True))
        assert worker.cores == 6 and self.worker(2, cpu_0=4, cpu_1=4).cores == 8
        assert [d.threads for d in self.worker(3, cpu=2, cpu_2=1).devices] == [2, 2, 1]

    def test_a_program_may_use_the_threads_of_all_its_cpus(self) -> None:
        worker = self.worker(3, cpu_1=1)
        names = [PREFIX + f"CPU:{i}" for i in range(3)]
        assert worker.thread_limit({names[1]}) == 1
        assert worker.thread_limit({names[0], names[1]}) == 6
        assert worker.thread_limit({""}) == 6

    def test_partitions_divide_the_threads_of_the_whole_step(self) -> None:
        config = tf.ConfigProto(device_count={"CPU": 3, "GPU": 0}, intra_op_parallelism_threads=6, compile="off")
        with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=config) as session:
            x = tf.placeholder(tf.float32, [2])
            for i in range(3):
                with tf.device(f"/cpu:{i}"):
                    x = tf.sin(x)
            plan = session._master.plan([graph.get_tensor_by_name("Placeholder:0")], [x], [])
            assert isinstance(plan.partitions, PartitionedStep)
            limits = [
                {part.plan.threads._limit for part in member.worker.plan(member.handle).parts if part.plan is not None}
                or {member.worker.plan(member.handle).threads._limit}
                for member in plan.partitions.members
                if isinstance(member.worker, PartitionWorker)
            ]
            assert limits == [{2}] * 3

    def test_a_plan_takes_the_budget_of_its_device(self) -> None:
        config = tf.ConfigProto(
            device_count={"CPU": 2}, device_threads={"/cpu:1": 1}, intra_op_parallelism_threads=4, compile="off"
        )
        x = tf.placeholder(tf.float32, [None])
        plans = []
        with tf.Session(config=config) as session:
            for i in range(2):
                with tf.device(f"/cpu:{i}"):
                    plans.append(session._master.plan([x], [tf.tanh(x)], []))
        assert [plan.threads.pick() for plan in plans] == [4, 1]
        assert [plan.threads.cores for plan in plans] == [4, 4]

    def test_refused_budgets(self) -> None:
        with pytest.raises(ValueError, match="names '/cpu:2', which is none of this session's CPUs: .*CPU:0, .*CPU:1"):
            self.worker(2, cpu_2=1)
        with pytest.raises(ValueError, match="gives '/cpu:0' 0 threads; accepted are 1 and more"):
            self.worker(2, cpu_0=0)

    def test_limits_of_gpus(self) -> None:
        split = tf.GPUOptions.Experimental.VirtualDevices
        gpus = [devices.Device(f"{PREFIX}GPU:{i}", "GPU", torch.device("cuda", i)) for i in range(2)]
        assert devices._memory_limits(gpus, [split(memory_limit_mb=[512]), split()]) == {PREFIX + "GPU:0": 512 << 20}
        assert devices._memory_limits(local_devices({"GPU": 0}), [split(memory_limit_mb=[1, 2])]) == {}
        with pytest.raises(
            ValueError, match="splits .*GPU:0 into 2 devices.*accepted is one memory_limit_mb for each GPU"
        ):
            devices._memory_limits(gpus, [split(memory_limit_mb=[512, 512])])
        with pytest.raises(ValueError, match="without a priority"):
            devices._memory_limits(gpus, [split(memory_limit_mb=[512], priority=[-1])])


class TestWorker:
    def test_constants_are_made_once(self) -> None:
        worker = RegisteredGraph(LocalWorker(ConfigProto()))
        (node,) = step([tf.constant([1.0, 2.0])]).nodes
        device = worker.torch_device("")
        assert worker.constant(node, device) is worker.constant(node, device)
        assert worker.constant(node, device).tolist() == [1.0, 2.0]

    def test_state_is_made_once_and_gone_after_a_reset(self) -> None:
        worker = RegisteredGraph(LocalWorker(ConfigProto()))
        v = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="v")
        first, again = step([v]).nodes[0], step([v]).nodes[0]
        state = worker.state(first)
        assert worker.state(again) is state
        worker.resources.reset("")
        assert worker.state(first) is not state

    def test_shared_names_share_state(self) -> None:
        worker = RegisteredGraph(LocalWorker(ConfigProto()))
        a = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="a", shared_name="both")
        b = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="b", shared_name="both")
        c = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="c", shared_name="both", container="other")
        states = [worker.state(step([t]).nodes[0]) for t in (a, b, c)]
        assert states[0] is states[1] is not states[2]

    def test_evaluate_never_raises(self) -> None:
        """A kernel that fails while planning gives None: the error belongs to the run, where it names the node."""
        node = raw_ops.Reshape(tf.constant([1.0, 2.0]), [2, 1]).op
        assert LocalWorker.evaluate(node.op_def, [np.ones(2, np.float32), np.array([2, 1])], node.attrs)[0].shape == (
            2,
            1,
        )
        assert LocalWorker.evaluate(node.op_def, [np.ones(2, np.float32), np.array([3, 1])], node.attrs) is None

    def test_kernels_by_device(self) -> None:
        worker = LocalWorker(ConfigProto())
        node = step([raw_ops.Neg(tf.constant(1.0))]).nodes[-1]
        assert worker.has_kernel(node, "CPU")
        node.attrs = {"T": tf.string}
        assert worker.kernel(node, "cpu") is not None

    def test_closing_drops_everything(self) -> None:
        v = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="v")
        session = tf.Session()
        session.run(raw_ops.Assign(v, [1.0, 2.0]))
        session.close()
        with pytest.raises(RuntimeError, match="closed"):
            session.run(v)
        with tf.Session() as fresh, pytest.raises(tf.errors.FailedPreconditionError):
            fresh.run(v)


def test_each_session_has_its_own_variables() -> None:
    v = raw_ops.VariableV2(shape=[], dtype=tf.float32, name="v")
    with tf.Session() as a, tf.Session() as b:
        a.run(raw_ops.Assign(v, 1.0))
        b.run(raw_ops.Assign(v, 2.0))
        assert (a.run(v), b.run(v)) == (1.0, 2.0)

"""What resolvers answer: given clusters, TF_CONFIG, Slurm's variables, clients of clouds that the tests stand in for."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as tf
from headrace.library.system.resolver.slurm import expanded_counts, expanded_hosts

resolvers = tf.distribute.cluster_resolver
CLUSTER = {"ps": ["p0:1"], "worker": ["w0:1", "w1:1"]}


def simple(cluster: Any = CLUSTER, **kwargs: Any) -> Any:
    return resolvers.SimpleClusterResolver(tf.train.ClusterSpec(cluster), **kwargs)


# ---- simple, and unions


def test_simple_says_what_it_was_told():
    one = simple(
        master="m:1",
        task_type="ps",
        task_id=0,
        environment="here",
        num_accelerators={"GPU": 2},
        rpc_layer="grpc",
    )
    assert one.cluster_spec() == tf.train.ClusterSpec(CLUSTER)
    assert (one.task_type, one.task_id, one.environment, one.rpc_layer) == ("ps", 0, "here", "grpc")
    assert one.master() == "grpc://m:1"
    assert one.master("worker", 1) == "grpc://w1:1"
    assert one.master("worker", 0, rpc_layer="other") == "other://w0:1"
    assert one.num_accelerators() == {"GPU": 2}
    assert simple().num_accelerators() == {} and simple().master() == ""
    one.task_type, one.task_id = "worker", 1
    assert (one.task_type, one.task_id) == ("worker", 1)


def test_simple_refuses_other_types():
    with pytest.raises(TypeError, match=r"cluster_spec must be a `tf.train.ClusterSpec`, got \{.*test_resolver.py"):
        resolvers.SimpleClusterResolver(CLUSTER)
    with pytest.raises(TypeError, match="master must be a string"):
        simple(master=3)


def test_union_joins_lists_and_merges_dictionaries():
    lists = resolvers.UnionResolver(simple(), simple({"worker": ["w2:1"], "chief": ["c:1"]}))
    assert lists.cluster_spec().as_dict() == {"ps": ["p0:1"], "worker": ["w0:1", "w1:1", "w2:1"], "chief": ["c:1"]}
    assert lists.master("worker", 2) == "w2:1"
    merged = resolvers.UnionResolver(simple(), simple({"worker": {5: "w5:1"}}))
    assert merged.cluster_spec().as_dict()["worker"] == {0: "w0:1", 1: "w1:1", 5: "w5:1"}
    with pytest.raises(KeyError, match=r"task 1 of job 'worker'.*'w1:1'.*'other:1'"):
        resolvers.UnionResolver(simple(), simple({"worker": {1: "other:1"}})).cluster_spec()


def test_union_is_otherwise_its_first():
    first = simple(master="m:1", task_type="ps", task_id=0, environment="e", num_accelerators={"GPU": 1})
    union = resolvers.UnionResolver(first, simple(master="n:1"))
    assert (union.task_type, union.task_id, union.environment) == ("ps", 0, "e")
    assert union.master() == "m:1" and union.num_accelerators() == {"GPU": 1}
    union.task_type = "worker"
    assert union.task_type == "worker" and first.task_type == "ps"
    own = resolvers.UnionResolver(first, task_type="chief", task_id=3, rpc_layer="grpc")
    assert (own.task_type, own.task_id, own.rpc_layer) == ("chief", 3, "grpc")
    assert own.master("ps", 0) == "grpc://p0:1"


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        ((), {}, ValueError, "At least one ClusterResolver"),
        ((3,), {}, TypeError, "must be of a subclass of `ClusterResolver`, got 3"),
        ((), {"job": 1}, ValueError, r"Unexpected arguments \['job'\]"),
    ],
)
def test_union_refuses(arguments, options, error, text):
    with pytest.raises(error, match=text):
        resolvers.UnionResolver(*arguments, **options)


# ---- TF_CONFIG


def test_tf_config(monkeypatch):
    config = {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}, "rpc_layer": "grpc"}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    one = resolvers.TFConfigClusterResolver()
    assert one.cluster_spec() == tf.train.ClusterSpec(CLUSTER)
    assert (one.task_type, one.task_id, one.rpc_layer, one.environment) == ("worker", 1, "grpc", None)
    assert one.master() == "grpc://w1:1" and one.master("ps", 0, rpc_layer="x") == "x://p0:1"
    other = resolvers.TFConfigClusterResolver("ps", 0, rpc_layer="x", environment="e")
    assert (other.master(), other.environment) == ("x://p0:1", "e")
    monkeypatch.setenv("TF_CONFIG", json.dumps(config | {"session_master": "m"}))
    assert one.master() == "m"
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER}))
    with pytest.raises(RuntimeError, match="which task"):
        one.master()
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["w0:1"]}}))
    assert one.master() == ""
    monkeypatch.delenv("TF_CONFIG")
    assert not one.cluster_spec() and one.task_type is None and one.master() == ""


@pytest.mark.parametrize("text", ["{", "[1]", '{"task": 3}'])
def test_tf_config_is_checked(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="TF_CONFIG"):
        resolvers.TFConfigClusterResolver().task_type  # noqa: B018 - reading it asks


def test_accelerators_are_counted_by_a_session(monkeypatch):
    class Here(resolvers.ClusterResolver):
        def cluster_spec(self):
            return tf.train.ClusterSpec({})

        def master(self, task_type=None, task_id=None, rpc_layer=None):
            return ""

    names = ["/job:worker/replica:0/task:1/device:CPU:0", "/job:worker/replica:0/task:1/device:GPU:0"]
    names += ["/job:worker/replica:0/task:1/device:GPU:1", "/job:worker/replica:0/task:11/device:GPU:0"]
    devices = [SimpleNamespace(name=name, device_type=name[-5:-2]) for name in names]
    monkeypatch.setattr(tf.Session, "list_devices", lambda self: devices)
    assert Here().num_accelerators() == {"GPU": 3}
    assert Here().num_accelerators("worker", 1) == {"GPU": 2}
    assert Here().num_accelerators("worker", 2) == {}
    assert Here().environment == "" and Here().task_type is None


# ---- Slurm


@pytest.fixture
def slurm(monkeypatch):
    variables = {
        "SLURM_PROCID": "3",
        "SLURM_STEP_NUM_TASKS": "5",
        "SLURM_STEP_NODELIST": "t[02-04]",
        "SLURM_STEP_TASKS_PER_NODE": "2(x2),1",
        "CUDA_VISIBLE_DEVICES": "0,1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_slurm_tasks(slurm):
    one = resolvers.SlurmClusterResolver({"ps": 1, "worker": 4}, gpus_per_node=2, auto_set_gpu=True)
    assert one.get_task_info() == (None, None) and one.master() == ""
    assert one.cluster_spec().as_dict() == {
        "ps": ["t02:8888"],
        "worker": ["t02:8889", "t03:8888", "t03:8889", "t04:8888"],
    }
    assert one.get_task_info() == ("worker", 2) and one.master() == "grpc://t03:8889"
    assert one.num_accelerators() == {"GPU": 1}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"


def test_slurm_counts_what_is_not_told(slurm):
    one = resolvers.SlurmClusterResolver(None, 5000, gpus_per_node=None, gpus_per_task=None, auto_set_gpu=False)
    assert one.num_accelerators() == {"GPU": 1}
    assert one.cluster_spec().num_tasks("worker") == 5
    with pytest.raises(RuntimeError, match="SLURM_PROCID is 3, but there are 3"):
        resolvers.SlurmClusterResolver({"worker": 3}, tasks_per_node=1)
    slurm.setenv("SLURM_PROCID", "0")
    two = resolvers.SlurmClusterResolver({"worker": 3}, tasks_per_node={"b": 1, "a": 2}, gpus_per_node=2)
    assert two.cluster_spec().as_dict() == {"worker": ["a:8888", "a:8889", "b:8888"]}


def test_slurm_refuses(slurm):
    with pytest.raises(RuntimeError, match="Requested 7 tasks .* but 5 were assigned"):
        resolvers.SlurmClusterResolver({"worker": 7}, gpus_per_node=2)
    with pytest.raises(RuntimeError, match="Requested more GPUs per node than available: 2 tasks with 1 each, of 1"):
        resolvers.SlurmClusterResolver({"worker": 5})
    slurm.setenv("SLURM_STEP_TASKS_PER_NODE", "2(x2)")
    with pytest.raises(RuntimeError, match="3 nodes and the tasks of 2"):
        resolvers.SlurmClusterResolver({"worker": 5}, gpus_per_node=2)
    slurm.delenv("SLURM_PROCID")
    with pytest.raises(RuntimeError, match="SLURM_PROCID is not set"):
        resolvers.SlurmClusterResolver({"worker": 5})


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", []),
        ("n1", ["n1"]),
        ("n[1-2],m5,o[3-4,6,7-9]", "n1 n2 m5 o3 o4 o6 o7 o8 o9".split()),
        ("a-[08-10],b", "a-08 a-09 a-10 b".split()),
    ],
)
def test_hosts(text, hosts):
    assert expanded_hosts(text) == hosts


@pytest.mark.parametrize("text", ["n[1-2", "n]", "n[a-b]", "n[]", ",", "n[1-2]m", "n[1-999999999999]"])
def test_hosts_are_checked(text):
    with pytest.raises(ValueError, match="Invalid list of hosts"):
        expanded_hosts(text)


def test_counts():
    assert expanded_counts("3(x2),2,1") == [3, 3, 2, 1]
    with pytest.raises(ValueError, match="'x' is not of the form"):
        expanded_counts("3,x")


# ---- clouds


class _Pods:
    phases: dict[str, str] = {}

    def list_pod_for_all_namespaces(self, label_selector):
        names = [f"{label_selector}-1", f"{label_selector}-0"]
        pods = [
            SimpleNamespace(
                metadata=SimpleNamespace(name=name),
                status=SimpleNamespace(phase=self.phases.get(name, "Running"), host_ip=f"ip-{name}"),
            )
            for name in names
        ]
        return SimpleNamespace(items=pods)


def test_kubernetes():
    client = _Pods()
    one = resolvers.KubernetesClusterResolver({"worker": ["b", "a"]}, 99, override_client=client)
    assert one.cluster_spec().as_dict() == {"worker": ["ip-b-0:99", "ip-b-1:99", "ip-a-0:99", "ip-a-1:99"]}
    assert one.master() == "" and one.master("worker", 1) == "grpc://ip-b-1:99"
    one.task_type, one.task_id = "worker", 0
    assert one.master() == "grpc://ip-b-0:99"
    client.phases = {"a-0": "Pending"}
    with pytest.raises(RuntimeError, match='Pod "a-0" is not running; phase: "Pending"'):
        one.cluster_spec()


def test_clients_that_are_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    monkeypatch.setitem(sys.modules, "googleapiclient", None)
    with pytest.raises(ImportError, match="pip install kubernetes"):
        resolvers.KubernetesClusterResolver()
    with pytest.raises(ImportError, match="pip install google-api-python-client"):
        resolvers.GCEClusterResolver("p", "z", "g", 1)


class _Compute:
    """Two pages of machines."""

    def instanceGroups(self):  # noqa: N802 - the service's name
        return self

    instances = instanceGroups

    def listInstances(self, **asked):  # noqa: N802 - the service's name
        assert asked["body"] == {"instanceState": "RUNNING"} and asked["instanceGroup"] == "g"
        page = {"items": [{"instance": "https://x/b"}, {"instance": "https://x/a"}]}
        return SimpleNamespace(execute=lambda: page, pages=1)

    def listInstances_next(self, previous_request, previous_response):  # noqa: N802 - the service's name
        return SimpleNamespace(execute=dict, pages=0) if previous_request.pages else None

    def get(self, project, zone, instance):
        assert (project, zone) == ("p", "z")
        return SimpleNamespace(execute=lambda: {"networkInterfaces": [{"networkIP": f"ip-{instance}"}]})


def test_compute_engine():
    one = resolvers.GCEClusterResolver("p", "z", "g", 8, task_id=1, service=_Compute())
    assert one.cluster_spec().as_dict() == {"worker": ["ip-a:8", "ip-b:8"]}
    assert one.master() == "grpc://ip-b:8" and one.master("worker", 0, "x") == "x://ip-a:8"


# ---- TPUs


def test_no_tpu():
    for tpu in (None, "", "local"):
        one = tf.contrib.cluster_resolver.TPUClusterResolver(tpu, zone="z", project="p", job_name="j")
        assert (one.master(), one.get_master(), one.get_job_name(), one.num_accelerators()) == ("", "", "j", {})
        assert not one.cluster_spec()
    with pytest.raises(ValueError, match=r"tpu='my-tpu'.*use_tpu=False.*test_resolver.py"):
        resolvers.TPUClusterResolver("my-tpu")

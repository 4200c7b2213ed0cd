"""JobDef, ClusterDef and ServerDef: fields, checks, and TensorFlow's encoding."""

import pytest
from google.protobuf import text_format

from headrace.core.config import ConfigProto
from headrace.core.server_def import ClusterDef, JobDef, ServerDef


def definition() -> ServerDef:
    cluster = ClusterDef()
    job = cluster.job.add()
    job.name = "worker"
    job.tasks[0] = "host:2222"
    job.tasks[3] = "other:2222"
    return ServerDef(
        cluster=cluster, job_name="worker", task_index=3, protocol="grpc",
        default_session_config=ConfigProto(device_count={"CPU": 2}),
    )  # fmt: skip


def test_fields_have_tensorflows_defaults() -> None:
    empty = ServerDef()
    assert (empty.job_name, empty.task_index, empty.protocol, empty.cluster) == ("", 0, "", ClusterDef())


def test_the_encoding_is_tensorflows() -> None:
    """The bytes are what TensorFlow 2.21 writes for the same message."""
    encoded = ServerDef(
        cluster=ClusterDef(job=[JobDef(name="a", tasks={0: "x:1"})]), job_name="a", task_index=1, protocol="grpc"
    ).SerializeToString(deterministic=True)
    assert encoded == b"\n\x0e\n\x0c\n\x01a\x12\x07\x08\x00\x12\x03x:1\x12\x01a\x18\x01*\x04grpc"


def test_bytes_and_text_round_trip() -> None:
    one = definition()
    assert ServerDef.FromString(one.SerializeToString()) == one
    assert text_format.Parse(text_format.MessageToString(one), ServerDef()) == one


def test_tasks_are_numbered_strings() -> None:
    job = JobDef()
    with pytest.raises(TypeError, match=r"JobDef.tasks key received '0' of type str; accepted is int.*test_server_def"):
        job.tasks["0"] = "host:1"
    with pytest.raises(TypeError, match=r"JobDef.tasks\[\] received 7"):
        job.tasks[0] = 7

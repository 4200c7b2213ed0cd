"""Room for tasks on the nodes of a Ray cluster."""

import pytest

from headrace.cluster.ray_engine.room import shortage

CPU = {"CPU": 1.0}


@pytest.mark.parametrize(
    "tasks, nodes, problem",
    [
        ([CPU] * 4, [{"CPU": 1.0}, {"CPU": 3.0}], None),
        ([CPU] * 5, [{"CPU": 1.0}, {"CPU": 3.0}], "5 CPUs are asked for, and the cluster has 4"),
        ([{"CPU": 0.5}] * 3, [{"CPU": 1.0}, {"CPU": 0.5}], None),
        ([{"CPU": 1.0, "GPU": 1.0}], [{"CPU": 8.0}], "1 GPUs are asked for, and the cluster has 0"),
        ([CPU, {"CPU": 1.0, "GPU": 1.0}], [{"CPU": 1.0, "GPU": 1.0}, {"CPU": 1.0}], None),
        ([CPU, {"CPU": 3.0}], [{"CPU": 3.0}, {"CPU": 1.0}], None),
        (
            [{"CPU": 2.0}] * 2,
            [{"CPU": 3.0, "GPU": 1.0}, {"CPU": 1.0}],
            "no node has room for a task with 2 CPUs, beside the others; the nodes have 3 CPUs and 1 GPUs; 1 CPUs",
        ),
    ],
)
def test_shortage(tasks: list[dict[str, float]], nodes: list[dict[str, float]], problem: str | None) -> None:
    assert shortage(tasks, nodes) == problem

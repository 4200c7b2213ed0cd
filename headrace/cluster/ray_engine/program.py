"""What a task runs: its arguments, and what it is told of the cluster.  Pure: starts nothing."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.cluster.cluster_spec import ClusterSpec

FLAGS: Final = ("job_name", "task_index", "ps_hosts", "worker_hosts")
SERVE: Final = ("-m", "headrace.cluster.serve")  # the program of a task that only serves sessions
_RUN: Final = ("-m", "headrace.tensorflow")  # runs a script; `import tensorflow` in it means Headrace


@dataclass(frozen=True, slots=True)
class TaskName:
    """A task: ``str(TaskName("ps", 0))`` is "ps 0"."""

    job: str
    index: int

    def __str__(self) -> str:
        return f"{self.job} {self.index}"

    @property
    def device(self) -> str:
        """What ``tf.device`` takes."""
        return f"/job:{self.job}/task:{self.index}"


def flags_of(source: str) -> list[str]:
    """The flags of ``FLAGS`` that a script defines with absl, ``tf.flags`` or argparse.

    >>> from headrace.cluster.ray_engine.program import flags_of
    >>> print(flags_of("flags.DEFINE_string('job_name', '', ''); parser.add_argument('--ps_hosts')"))
    ['job_name', 'ps_hosts']
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:  # Python says so better, when a task runs the script
        return []
    texts = {
        argument.value
        for call in ast.walk(tree) if isinstance(call, ast.Call) and _defines_flag(call)
        for argument in call.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }  # fmt: skip
    return [flag for flag in FLAGS if flag in texts or f"--{flag}" in texts]


def _defines_flag(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name.startswith("DEFINE_") or name in ("add_argument", "add_option", "option")


def arguments_for(
    task: TaskName, program: Sequence[str], flags: Collection[str], ps: Sequence[str], workers: Sequence[str]
) -> list[str]:
    """Python's arguments for a task: the script, the flags that it takes and was not given, and its own arguments."""
    script, *own = program
    values = {
        "job_name": task.job, "task_index": str(task.index), "ps_hosts": ",".join(ps), "worker_hosts": ",".join(workers),
    }  # fmt: skip
    given = {argument.lstrip("-").partition("=")[0] for argument in own if argument.startswith("-")}
    added = [f"--{flag}={values[flag]}" for flag in FLAGS if flag in flags and flag not in given]
    return [*_RUN, script, *added, *own]


def tf_config(task: TaskName, cluster: ClusterSpec) -> str:
    """The text of ``TF_CONFIG`` for a task."""
    jobs: Mapping[str, object] = cluster.as_dict()
    return json.dumps({"cluster": jobs, "task": {"type": task.job, "index": task.index}})

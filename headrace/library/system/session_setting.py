"""``tf.config``: what later sessions have that are given no ConfigProto: threads, placement, compiling, rewrites.

Owns the checks and the messages.  Where the settings are kept, and how a session takes them, is in `runtime.host.defaults`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.errors import UnimplementedError
from headrace.core.source import at
from headrace.runtime.host.defaults import FLAGS, TOGGLES, settings


def check_not_initialized(what: str) -> None:
    """Raises if devices are as they are already: ops have run eagerly, or the logical devices were asked for."""
    if settings().initialized:
        raise RuntimeError(
            f"{what} cannot be modified after being initialized: call this before the first op that runs eagerly, and before "
            f"list_logical_devices. A session takes its own: tf.Session(config=tf.ConfigProto(...)) {at()}"
        )


# ---- threads


def get_intra_op_parallelism_threads() -> int:
    """How many threads a kernel may use in sessions without a ConfigProto; 0 means as many as there are cores.

    Returns:
      The number of threads.

    >>> tf.config.threading.get_intra_op_parallelism_threads()
    0
    """
    return settings().intra_op_threads or 0


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Sets how many threads a kernel may use in sessions made from now on.

    Args:
      num_threads: The number of threads; 0 for as many as there are cores.

    >>> tf.config.threading.set_intra_op_parallelism_threads(2)
    >>> tf.config.threading.get_intra_op_parallelism_threads()
    2
    """
    threads = _threads("set_intra_op_parallelism_threads", num_threads)
    if get_intra_op_parallelism_threads() != threads:
        check_not_initialized("Intra op parallelism")
        settings().intra_op_threads = threads


def get_inter_op_parallelism_threads() -> int:
    """How many threads compute for a session at a time, in sessions without a ConfigProto; 0 means that there is no limit.

    Returns:
      The number of threads.

    >>> tf.config.threading.get_inter_op_parallelism_threads()
    0
    """
    return settings().inter_op_threads or 0


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Sets how many threads compute at a time for a session made from now on.

    Args:
      num_threads: The number of threads; 0 for no limit.

    >>> tf.config.threading.set_inter_op_parallelism_threads(1)
    >>> tf.config.threading.get_inter_op_parallelism_threads()
    1
    """
    threads = _threads("set_inter_op_parallelism_threads", num_threads)
    if get_inter_op_parallelism_threads() != threads:
        check_not_initialized("Inter op parallelism")
        settings().inter_op_threads = threads


def _threads(name: str, received: Any) -> int:
    if isinstance(received, bool) or not isinstance(received, int) or received < 0:
        raise ValueError(f"{name}: num_threads must be a number of threads, 0 or more, got {received!r} {at()}")
    return received


# ---- placement


def get_soft_device_placement() -> bool:
    """Whether nodes that ask for a device that is not there run on the CPU, in sessions without a ConfigProto.

    Returns:
      True or False.

    >>> tf.config.get_soft_device_placement()
    False
    """
    return bool(settings().soft_placement)


def set_soft_device_placement(enabled: bool) -> None:
    """Sets whether nodes that ask for a device that is not there run on the CPU, in sessions made from now on.

    Args:
      enabled: True or False.

    >>> tf.config.set_soft_device_placement(True)
    >>> with tf.device("/gpu:7"):
    ...     x = tf.constant(3.0)
    >>> with tf.Session() as sess:
    ...     print(sess.run(x))
    3.0
    """
    settings().soft_placement = _truth("set_soft_device_placement", enabled)


def get_log_device_placement() -> bool:
    """Whether sessions without a ConfigProto log on which device each node is.

    Returns:
      True or False.

    >>> tf.debugging.get_log_device_placement()
    False
    """
    return bool(settings().log_placement)


def set_log_device_placement(enabled: bool) -> None:
    """Sets whether sessions made from now on log on which device each node is.

    Args:
      enabled: True or False.

    >>> tf.debugging.set_log_device_placement(True)
    >>> tf.debugging.get_log_device_placement()
    True
    """
    settings().log_placement = _truth("set_log_device_placement", enabled)


def _truth(name: str, received: Any) -> bool:
    if received not in (True, False):
        raise ValueError(f"{name}: enabled must be True or False, got {received!r} {at()}")
    return bool(received)


# ---- compiling and rewrites


def get_jit() -> bool:
    """Whether sessions without a ConfigProto compile every step before it first runs.

    Returns:
      True or False.

    >>> tf.config.optimizer.get_jit()
    False
    """
    return bool(settings().jit)


def set_jit(enabled: bool) -> None:
    """Sets whether sessions made from now on compile every step before it first runs.

    True is ``ConfigProto(compile="always")`` and False ``compile="off"``, for sessions that do not set ``compile``; without a
    call, hot parts of steps on accelerators are compiled in the background.

    Args:
      enabled: True or False.

    >>> tf.config.optimizer.set_jit(True)
    >>> tf.config.optimizer.get_jit()
    True
    """
    settings().jit = _truth("set_jit", enabled)


def get_experimental_options() -> dict[str, Any]:
    """The rewrites of graphs that were turned on or off, by name.

    Returns:
      A dictionary.

    >>> tf.config.optimizer.get_experimental_options()
    {'disable_model_pruning': False, 'disable_meta_optimizer': False}
    """
    given = settings().rewrites
    found: dict[str, Any] = {name: bool(given[name]) for name in TOGGLES if name in given}
    found.update({name: bool(given.get(name, False)) for name in FLAGS})
    if given.get("min_graph_nodes"):
        found["min_graph_nodes"] = given["min_graph_nodes"]
    return found


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Turns rewrites of graphs on or off, in the ``RewriterConfig`` of sessions made from now on.

    ``auto_mixed_precision`` decides whether products on accelerators are computed in 16 bits.  The others are kept for programs
    that ask for them; Headrace's own passes do not depend on them.

    Args:
      options: A dictionary from names of rewrites, such as "auto_mixed_precision", to True or False; what it does not name
        stays as it was.

    >>> tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})
    >>> tf.config.optimizer.get_experimental_options()["auto_mixed_precision"]
    True
    """
    accepted = [*TOGGLES, *FLAGS, "min_graph_nodes"]
    if not isinstance(options, Mapping):
        raise TypeError(f"set_experimental_options: options must be a dictionary, got {options!r} {at()}")
    checked: dict[str, int] = {}
    for name, value in options.items():
        if name not in accepted:
            raise ValueError(
                f"set_experimental_options: there is no rewrite {name!r}; accepted are {', '.join(accepted)} {at()}"
            )
        whole = name == "min_graph_nodes"
        if not isinstance(value, int) or (not whole and value not in (True, False)):
            accepts = "a number" if whole else "True or False"
            raise ValueError(f"set_experimental_options: {name!r} must be {accepts}, got {value!r} {at()}")
        checked[name] = value
    settings().rewrites.update(checked)


# ---- clusters


def experimental_connect_to_cluster(
    cluster_spec_or_resolver: Any, job_name: str = "localhost", task_index: int = 0, protocol: str | None = None
) -> None:
    """Raises: eager ops run in this process alone.  Sessions reach a cluster by the address of one of its servers.

    Args:
      cluster_spec_or_resolver: The cluster.
      job_name: The job of this process.
      task_index: The task of this process.
      protocol: The protocol between tasks.

    Example: ``tf.Session(tf.train.Server(cluster, "worker", 0).target)``
    """
    raise UnimplementedError(
        None, None,
        f"tf.config.experimental_connect_to_cluster({cluster_spec_or_resolver!r}, {job_name!r}, {task_index!r}) is not "
        "supported: ops that run eagerly run in this process. Start a server in each process, tf.train.Server(cluster, job_name, "
        f"task_index) with a tf.train.ClusterSpec, and run graphs on it with tf.Session(server.target) {at()}",
    )  # fmt: skip


def experimental_connect_to_host(remote_host: Any = None, job_name: str = "worker") -> None:
    """Raises: eager ops run in this process alone.  Sessions reach another process by the address of its server.

    Args:
      remote_host: The address of the other process.
      job_name: The job of the other process.

    Example: ``tf.Session("grpc://host:2222")``
    """
    raise UnimplementedError(
        None, None,
        f"tf.config.experimental_connect_to_host({remote_host!r}, {job_name!r}) is not supported: ops that run eagerly run in "
        "this process. Start a tf.train.Server there, with a tf.train.ClusterSpec that has both processes, and run graphs on it "
        f"with tf.Session('grpc://host:port') {at()}",
    )  # fmt: skip

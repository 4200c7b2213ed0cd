"""Which tensors a run leaves in files: ``RunOptions.debug_options``, filled by name or by patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from headrace.client.observe import operations_within
from headrace.core.dtypes import resource, variant


class WatchOptions:
    """What a ``watch_fn`` of `DumpingDebugWrapperSession` returns: debug ops, and patterns that choose tensors.

    Args:
      debug_ops: What to keep of each tensor: "DebugIdentity", "DebugNanCount", "DebugNumericSummary", or a list of these.
      node_name_regex_whitelist: A pattern for the names of nodes; None for all.
      op_type_regex_whitelist: A pattern for the types of ops; None for all.
      tensor_dtype_regex_whitelist: A pattern for the dtypes of tensors; None for all.
      tolerate_debug_op_creation_failures: Accepted as TensorFlow does; every debug op fits every tensor.

    >>> from headrace.library.debugging import tfdbg
    >>> options = tfdbg.WatchOptions(debug_ops=['DebugNanCount'], op_type_regex_whitelist='MatMul')
    """

    def __init__(
        self, debug_ops: Any = None, node_name_regex_whitelist: str | None = None,
        op_type_regex_whitelist: str | None = None, tensor_dtype_regex_whitelist: str | None = None,
        tolerate_debug_op_creation_failures: bool = False,
    ) -> None:  # fmt: skip
        self.debug_ops = debug_ops or ["DebugIdentity"]
        self.node_name_regex_whitelist = node_name_regex_whitelist
        self.op_type_regex_whitelist = op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures

    def __repr__(self) -> str:
        return f"WatchOptions({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def _listed(values: Any) -> list[str]:
    return [values] if isinstance(values, str) else list(values or [])


def add_debug_tensor_watch(
    run_options: Any, node_name: str, output_slot: int = 0, debug_ops: Any = "DebugIdentity", debug_urls: Any = None,
    tolerate_debug_op_creation_failures: bool = False, global_step: int = -1,
) -> None:  # fmt: skip
    """Has a run with these options leave one tensor in files.

    Args:
      run_options: a `tf.RunOptions`, which is changed.
      node_name: the node whose output it is.
      output_slot: which output.
      debug_ops: DebugIdentity (the value), DebugNanCount, DebugNumericSummary, or a list of these.
      debug_urls: folders, ``file:///path``.
      tolerate_debug_op_creation_failures: taken and not used, since every debug op fits every tensor.
      global_step: a number that the files tell.

    >>> from headrace.library.debugging import tfdbg
    >>> options = tf.RunOptions()
    >>> tfdbg.add_debug_tensor_watch(options, 'y', debug_urls='file:///tmp/dumps')
    """
    options = run_options.debug_options
    options.global_step = global_step
    options.debug_tensor_watch_opts.add(
        node_name=node_name, output_slot=output_slot, debug_ops=_listed(debug_ops), debug_urls=_listed(debug_urls),
        tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
    )  # fmt: skip


def watch_graph(
    run_options: Any, graph: Any, debug_ops: Any = "DebugIdentity", debug_urls: Any = None,
    node_name_regex_whitelist: str | None = None, op_type_regex_whitelist: str | None = None,
    tensor_dtype_regex_whitelist: str | None = None, tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1, reset_disk_byte_usage: bool = False,
) -> None:  # fmt: skip
    """Has a run with these options leave the tensors of a graph in files: all, or those that fit all the given patterns.

    Nodes inside loops, conditionals and functions are among them.  A pattern fits the beginning of a name.

    Args:
      run_options: A `tf.RunOptions`, which is changed.
      graph: The graph.
      debug_ops: What to keep of each tensor: "DebugIdentity", "DebugNanCount", "DebugNumericSummary", or a list of these.
      debug_urls: Folders to write to, ``file:///path``, one or a list.
      node_name_regex_whitelist: A pattern for the names of nodes; None for all.
      op_type_regex_whitelist: A pattern for the types of ops; None for all.
      tensor_dtype_regex_whitelist: A pattern for the dtypes of tensors; None for all.
      tolerate_debug_op_creation_failures: Accepted as TensorFlow does; every debug op fits every tensor.
      global_step: A number that the files tell.
      reset_disk_byte_usage: Kept in the options; it changes nothing.

    >>> from headrace.library.debugging import tfdbg
    >>> y = tf.negative(tf.constant(1.0, name='x'), name='y')
    >>> options = tf.RunOptions()
    >>> tfdbg.watch_graph(options, y.graph, debug_urls='file:///tmp/dumps', op_type_regex_whitelist='Neg')
    >>> [watch.node_name for watch in options.debug_options.debug_tensor_watch_opts]
    ['y']
    """
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage
    _watch(run_options, graph, debug_ops, debug_urls, global_step, tolerate_debug_op_creation_failures, (
        (node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist), True,
    ))  # fmt: skip


def watch_graph_with_blacklists(
    run_options: Any, graph: Any, debug_ops: Any = "DebugIdentity", debug_urls: Any = None,
    node_name_regex_blacklist: str | None = None, op_type_regex_blacklist: str | None = None,
    tensor_dtype_regex_blacklist: str | None = None, tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1, reset_disk_byte_usage: bool = False,
) -> None:  # fmt: skip
    """Has a run leave every tensor of a graph in files, but for those whose node, op or dtype fits one of the patterns.

    Args:
      run_options: A `tf.RunOptions`, which is changed.
      graph: The graph.
      debug_ops: What to keep of each tensor: "DebugIdentity", "DebugNanCount", "DebugNumericSummary", or a list of these.
      debug_urls: Folders to write to, ``file:///path``, one or a list.
      node_name_regex_blacklist: A pattern for the names of nodes to leave out; None for none.
      op_type_regex_blacklist: A pattern for the types of ops to leave out; None for none.
      tensor_dtype_regex_blacklist: A pattern for the dtypes of tensors to leave out; None for none.
      tolerate_debug_op_creation_failures: Accepted as TensorFlow does; every debug op fits every tensor.
      global_step: A number that the files tell.
      reset_disk_byte_usage: Kept in the options; it changes nothing.

    >>> from headrace.library.debugging import tfdbg
    >>> y = tf.negative(tf.constant(1.0, name='x'), name='y')
    >>> options = tf.RunOptions()
    >>> tfdbg.watch_graph_with_blacklists(options, y.graph, debug_urls='file:///tmp/dumps', op_type_regex_blacklist='Neg')
    >>> [watch.node_name for watch in options.debug_options.debug_tensor_watch_opts]
    ['x']
    """
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage
    _watch(run_options, graph, debug_ops, debug_urls, global_step, tolerate_debug_op_creation_failures, (
        (node_name_regex_blacklist, op_type_regex_blacklist, tensor_dtype_regex_blacklist), False,
    ))  # fmt: skip


def _watch(
    run_options: Any, graph: Any, debug_ops: Any, debug_urls: Any, global_step: int, tolerate: bool, choice: Any
) -> None:
    given, allowed = choice
    patterns = [None if one is None else re.compile(one) for one in given]
    for op in operations_within(graph):
        name = f"{op.graph.prefix}{op.name}"
        for slot, tensor in enumerate(op.outputs):
            if tensor.dtype.base_dtype in (resource, variant):
                continue
            if _chosen(patterns, (name, op.type, tensor.dtype.name), allowed):
                add_debug_tensor_watch(run_options, name, slot, debug_ops, debug_urls, tolerate, global_step)


def _chosen(patterns: Sequence[Any], texts: Sequence[str], allowed: bool) -> bool:
    fits = [bool(p.match(text)) for p, text in zip(patterns, texts, strict=True) if p is not None]
    return all(fits) if allowed else not any(fits)

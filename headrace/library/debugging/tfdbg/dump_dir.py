"""Reading what watched runs have left in files, TensorFlow's or ours."""

from __future__ import annotations

import collections
import json
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.client.debug_dump import PREFIX
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.core.tensor_proto import decode

_DEVICE = f"{PREFIX}device_"
_FILE = re.compile(r"(?P<node>.*)_(?P<slot>\d+)_(?P<op>[A-Za-z]+)_(?P<when>\d+)(?:-(?P<number>\d+))?")
CoreMetadata = collections.namedtuple(
    "CoreMetadata", "global_step session_run_index executor_step_index input_names output_names target_nodes"
)


def load_tensor_from_event(event: Any) -> Any:
    """The array in an event of a dump.

    Args:
      event: A ``tf.Event`` of a dump.

    Returns:
      A numpy array.

    Example: ``tfdbg.load_tensor_from_event(next(tf.train.summary_iterator(path)))``
    """
    return decode(event.summary.value[0].tensor.SerializeToString())[1]


def load_tensor_from_event_file(event_file_path: str) -> Any:
    """The array in a file of a dump.

    Args:
      event_file_path: The path of the file.

    Returns:
      A numpy array.

    Example: ``tfdbg.load_tensor_from_event_file(datum.file_path)``
    """
    return load_tensor_from_event(_event(event_file_path))


def _event(path: str) -> Any:
    with open(path, "rb") as file:
        return protos().Event.FromString(file.read())


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """Whether a tensor has numbers that are NaN or infinite: a filter for `DebugDumpDir.find` and `add_tensor_filter`.

    Args:
      datum: The `DebugTensorDatum` of the tensor; not used.
      tensor: A numpy array.

    Returns:
      True or False.

    >>> from headrace.library.debugging import tfdbg
    >>> import numpy as np
    >>> tfdbg.has_inf_or_nan(None, np.array([1.0, np.inf])), tfdbg.has_inf_or_nan(None, np.array([1, 2]))
    (True, False)
    """
    return tensor.dtype.kind in "fc" and not bool(np.isfinite(tensor).all())


class DebugTensorDatum:
    """One file: a tensor of one run, or of one iteration.

    Args:
      dump_root: The folder of the dump.
      debug_dump_rel_path: The path of the file below it.

    Example: ``dump.find(tfdbg.has_inf_or_nan)[0].get_tensor()``
    """

    def __init__(self, dump_root: str, debug_dump_rel_path: str) -> None:
        device, _, rest = debug_dump_rel_path.partition(os.sep)
        found = _FILE.fullmatch(rest.replace(os.sep, "/"))
        if not device.startswith(_DEVICE) or found is None:
            raise ValueError(f"{debug_dump_rel_path} is no file of a dump: {_DEVICE}.../node_slot_op_time {at()}")
        self.file_path = os.path.join(dump_root, debug_dump_rel_path)
        self.device_name = "/".join(part.replace("_", ":", 1) for part in device.removeprefix(_DEVICE).split(","))
        self.device_name = re.sub(r"/device:(\w+?)_(\d+)$", r"/device:\1:\2", self.device_name)
        self.node_name, self.output_slot, self.debug_op = found["node"], int(found["slot"]), found["op"]
        self.timestamp = int(found["when"])
        self.extended_timestamp = self.timestamp, int(found["number"] or 0)

    @property
    def tensor_name(self) -> str:
        """The name of the tensor, such as "x:0"."""
        return f"{self.node_name}:{self.output_slot}"

    @property
    def watch_key(self) -> str:
        """The names of the tensor and of the debug op, such as "x:0:DebugIdentity"."""
        return f"{self.tensor_name}:{self.debug_op}"

    @property
    def dump_size_bytes(self) -> int:
        """The size of the file."""
        return os.path.getsize(self.file_path)

    def get_tensor(self) -> Any:
        """The value, a numpy array."""
        return load_tensor_from_event_file(self.file_path)

    def __repr__(self) -> str:
        return f"{{DebugTensorDatum ({self.device_name}) {self.watch_key} @ {self.timestamp}}}"


class DebugDumpDir:
    """What one run has left in a folder.

    Args:
      dump_root: The folder; OSError if it is not there.
      partition_graphs: Accepted as TensorFlow does; it changes nothing.
      validate: Accepted as TensorFlow does; it changes nothing.

    >>> from headrace.library.debugging import tfdbg
    >>> import tempfile
    >>> y = tf.log(tf.constant([1.0, 0.0], name='x'), name='y')
    >>> options = tf.RunOptions()
    >>> with tempfile.TemporaryDirectory() as folder, tf.Session() as sess:
    ...     tfdbg.watch_graph(options, sess.graph, debug_urls=f'file://{folder}')
    ...     result = sess.run(y, options=options)
    ...     dump = tfdbg.DebugDumpDir(folder)
    ...     print(dump.nodes(), [datum.node_name for datum in dump.find(tfdbg.has_inf_or_nan)])
    ['x', 'y'] ['y']
    """

    def __init__(self, dump_root: str, partition_graphs: Any = None, validate: bool = True) -> None:
        """``partition_graphs`` and ``validate`` are taken and not used: files are not compared with graphs."""
        if not os.path.isdir(dump_root):
            raise OSError(f"Dump root directory {dump_root} does not exist {at()}")
        self._root = dump_root
        self._data = []
        for folder, _, files in os.walk(dump_root):
            inside = os.path.relpath(folder, dump_root)
            if inside.startswith(_DEVICE):
                self._data += [
                    DebugTensorDatum(dump_root, os.path.join(inside, name))
                    for name in files
                    if not name.startswith(PREFIX)
                ]
        self._data.sort(key=lambda datum: datum.extended_timestamp)
        self.python_graph: Any = None

    def set_python_graph(self, python_graph: Any) -> None:
        """Says which graph was run, for `node_traceback` and `node_op_type`."""
        self.python_graph = python_graph

    # ---- the whole

    @property
    def dumped_tensor_data(self) -> list[DebugTensorDatum]:
        """All files, in the order of time."""
        return list(self._data)

    @property
    def size(self) -> int:
        """How many tensors were left."""
        return len(self._data)

    @property
    def t0(self) -> int | None:
        """When the first tensor was computed, in microseconds."""
        return self._data[0].timestamp if self._data else None

    def devices(self) -> list[str]:
        """The devices of the nodes that have left something."""
        return list(dict.fromkeys(datum.device_name for datum in self._data))

    def nodes(self, device_name: str | None = None) -> list[str]:
        """The nodes that have left something."""
        return list(dict.fromkeys(d.node_name for d in self._data if device_name in (None, d.device_name)))

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Whether the node has left something."""
        return node_name in self.nodes(device_name)

    def node_device(self, node_name: str) -> Any:
        """The device of a node, or a list if it ran on several; ValueError if it has left nothing."""
        found = list(dict.fromkeys(d.device_name for d in self._data if d.node_name == node_name))
        if not found:
            raise ValueError(f"Node '{node_name}' is not in the dump of {self._root} {at()}")
        return found[0] if len(found) == 1 else found

    @property
    def core_metadata(self) -> Any:
        """Which run it was."""
        found = [CoreMetadata(**json.loads(text)) for text in self._texts("core_metadata_")]
        return found[0] if len(found) == 1 else found

    @property
    def run_fetches_info(self) -> Any:
        """What was fetched, in words; a list if the folder has several runs."""
        return self._one(self._texts("fetches_info_"))

    @property
    def run_feed_keys_info(self) -> Any:
        """What was fed, in words; a list if the folder has several runs."""
        return self._one(self._texts("feed_keys_info_"))

    def _texts(self, tag: str) -> list[str]:
        names = sorted(name for name in os.listdir(self._root) if name.startswith(PREFIX + tag))
        return [_event(os.path.join(self._root, name)).log_message.message for name in names]

    @staticmethod
    def _one(texts: list[str]) -> Any:
        return texts[0] if len(texts) == 1 else texts

    # ---- single tensors

    def find(
        self, predicate: Callable[[DebugTensorDatum, Any], bool], first_n: int = 0, device_name: str | None = None,
        exclude_node_names: str | None = None,
    ) -> list[DebugTensorDatum]:  # fmt: skip
        """The files for which ``predicate(datum, tensor)`` holds, in the order of time; at most ``first_n``, 0 for all."""
        left_out = re.compile(exclude_node_names) if exclude_node_names else None
        found = []
        for datum in self._data:
            if device_name not in (None, datum.device_name) or (left_out and left_out.match(datum.node_name)):
                continue
            if predicate(datum, datum.get_tensor()):
                found.append(datum)
                if 0 < first_n == len(found):
                    break
        return found

    def debug_watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """The watch keys of a node, such as "x:0:DebugIdentity"."""
        chosen = [d for d in self._data if d.node_name == node_name and device_name in (None, d.device_name)]
        return list(dict.fromkeys(d.watch_key for d in chosen))

    def watch_key_to_data(self, debug_watch_key: str, device_name: str | None = None) -> list[DebugTensorDatum]:
        """What was left under a watch key, in the order of time."""
        return [d for d in self._data if d.watch_key == debug_watch_key and device_name in (None, d.device_name)]

    def _of(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None) -> list[DebugTensorDatum]:
        key = f"{node_name}:{output_slot}:{debug_op}"
        found = self.watch_key_to_data(key, device_name)
        if not found:
            raise ValueError(f'Watch key "{key}" does not exist in the debug dump of {self._root} {at()}')
        return found

    def get_tensors(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[Any]:  # fmt: skip
        """The values of a tensor, one for each time that it was computed."""
        return [datum.get_tensor() for datum in self._of(node_name, output_slot, debug_op, device_name)]

    def get_tensor_file_paths(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[str]:
        """The files with the values of an output, in the order of time."""
        return [datum.file_path for datum in self._of(node_name, output_slot, debug_op, device_name)]

    def get_rel_timestamps(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """Microseconds since the first tensor of the run."""
        return [datum.timestamp - (self.t0 or 0) for datum in self._of(node_name, output_slot, debug_op, device_name)]

    def get_dump_sizes_bytes(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """The sizes of the files with the values of an output."""
        return [datum.dump_size_bytes for datum in self._of(node_name, output_slot, debug_op, device_name)]

    # ---- with the graph

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """The type of op of a node; call `set_python_graph` first."""
        return str(self._operation(node_name).type)

    def node_traceback(self, element_name: str) -> Any:
        """Where the program made a node or tensor."""
        return self._operation(element_name.partition(":")[0]).traceback

    def _operation(self, name: str) -> Any:
        if self.python_graph is None:
            raise LookupError(f"Python graph is not available for traceback lookup: call set_python_graph first {at()}")
        return self.python_graph.get_operation_by_name(name)

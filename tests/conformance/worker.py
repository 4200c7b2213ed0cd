"""Calls of ops, run by real TensorFlow: reads calls from standard input, writes results to standard output.

Started by `oracle.py` with an interpreter that has tensorflow; imports nothing of Headrace.  The calls and results are
described in `call.py`, their encoding in `wire.py`.
"""

from __future__ import annotations

import inspect
import os
import sys
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_registry
from wire import CallRun, receive, send

CONFIG = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
CONFIG.graph_options.rewrite_options.disable_meta_optimizer = True
CONFIG.graph_options.optimizer_options.opt_level = -1
# What TensorFlow says where it only lacks a kernel or a dtype, so that running is no contradiction.
UNSUPPORTED = (
    "not in list of allowed values", "No OpKernel was registered", "Could not satisfy device",
    "only supports NHWC", "only supports NDHWC",
    "only supports the NHWC", "on the CPU", "on CPU", "for the CPU", "Unsupported type", "not supported on", "is not implemented",
    "It has been removed in version", "CPU implementation", "kernel implementation does not support dilations",
)  # fmt: skip
QUANTIZED = {"qint8": np.int8, "quint8": np.uint8, "qint16": np.int16, "quint16": np.uint16, "qint32": np.int32}


def to_numpy(value: Any, dtype: str) -> Any:
    """An array as it came over the pipe, in numpy's form of TensorFlow's dtype."""
    if dtype == "string":
        return value
    wanted = np.dtype(tf.as_dtype(dtype).as_numpy_dtype)
    return value.view(wanted) if dtype in QUANTIZED else value.astype(wanted)


def from_numpy(value: Any, dtype: str) -> Any:
    """The other way round: bfloat16 as float32, quantized types as the integers they are."""
    if dtype == "string":
        return np.asarray(value, dtype=object)
    value = np.asarray(value)
    if dtype == "bfloat16":
        return value.astype(np.float32)
    return value.view(QUANTIZED[dtype]) if dtype in QUANTIZED else value


class Run(CallRun):
    """A call in TensorFlow."""

    def __init__(self, call: dict[str, Any]) -> None:
        super().__init__(tf, CONFIG, call)
        self.session: Any = None

    def input(self, item: dict[str, Any]) -> Any:
        dtype = tf.as_dtype(item["dtype"])
        value = None if item["value"] is None else to_numpy(item["value"], item["dtype"])
        if item.get("ref"):
            shape = tf.TensorShape(None if value is None else value.shape)
            made = tf.raw_ops.VariableV2(shape=shape, dtype=dtype)
            self.refs.append(made)
            if value is not None:
                given = tf.placeholder(dtype, value.shape)
                self.setup.append((tf.raw_ops.Assign(ref=made, value=given).op, {given: value}))
        elif self.call.get("form") == "static" or (item.get("host") and self.call.get("form") != "late"):
            made = tf.constant(value, dtype, value.shape)
        else:
            made = tf.placeholder(dtype, self.shown(item, value))
            self.feed[made] = value
        self.flat.append(made)
        return made

    def shown(self, item: dict[str, Any], value: Any) -> Any:
        """What the graph is told of the shape of an input."""
        known = self.call.get("known", True) and self.call.get("form") != "late"
        return item.get("shape", value.shape) if known else None

    def call_op(self, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        definition = op_def_registry.get(self.call["op"])
        names = [arg.name for arg in definition.input_arg]
        if len(names) != len(inputs):
            raise LookupError(f"{self.call['op']} takes {names}, given were {len(inputs)} inputs")
        if self.call["op"] == "Const":  # numpy has no bfloat16, so that its values come as float32
            attrs["value"] = tf.make_tensor_proto(tf.make_ndarray(attrs["value"]), attrs["dtype"])
        inferred = {arg.type_attr for arg in definition.input_arg} | {arg.number_attr for arg in definition.input_arg}
        inferred |= {arg.type_list_attr for arg in definition.input_arg}
        attrs = {name: value for name, value in attrs.items() if name not in inferred}
        attributes = [attr.name for attr in definition.attr]
        given = dict(zip(names, inputs, strict=True))
        function = getattr(tf.raw_ops, self.call["op"])
        known = inspect.signature(function).parameters
        spare = [p for p in known if p not in (*given, *attributes, "name")]  # a few go by other names in Python
        given = {n if n in known else spare.pop(0): v for n, v in {**given, **attrs}.items()}
        return function(**given)

    def tensor(self, value: Any, dtype: str) -> Any:
        return tf.make_tensor_proto(to_numpy(value, dtype), tf.as_dtype(dtype))

    def array(self, value: Any, dtype: str) -> Any:
        return from_numpy(value, dtype)

    def outcome(self) -> dict[str, Any]:
        """Whether the call fails: the phase and the class of the error; the static shapes if it was only to be built."""
        with tf.Graph().as_default() as self.graph:
            try:
                self.node = self.build()
            except Exception as e:
                return self.failure("building", e)
        if self.call["form"] == "partial":
            return {"static": self.static(self.node)}
        if self.call["form"] == "static":
            return {}
        self.session = tf.Session(config=CONFIG, graph=self.graph)
        return self.run_late()

    def run_late(self) -> dict[str, Any]:
        """Whether the node fails with what is fed."""
        try:
            self.run_node(self.session, self.node)
        except Exception as e:
            return self.failure("running", e)
        return {}

    def again(self, call: dict[str, Any]) -> dict[str, Any]:
        """The outcome of another call that differs in the values of its inputs only."""
        values = [to_numpy(item["value"], item["dtype"]) for item in flat_items(call)]
        self.feed = dict(zip(self.flat, values, strict=True))
        return self.run_late()

    def failure(self, phase: str, error: Exception) -> dict[str, Any]:
        text = str(error).split("\n\nOriginal stack trace")[0].rpartition("\nNode: ")[2]
        if isinstance(error, TypeError) and UNSUPPORTED[0] in text:
            return {"phase": phase, "error": "no such dtype", "message": text[:200]}
        if any(words in text for words in UNSUPPORTED):
            return {"unsupported": text[:200]}
        return {"phase": phase, "error": type(error).__name__, "message": text[:200]}


def flat_items(call: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for x in call["inputs"] for item in (x if isinstance(x, list) else [x])]


class Late:
    """The last call whose inputs were all fed, to be run again with other values: making a session takes long."""

    def __init__(self) -> None:
        self.key: Any = None
        self.run: Run | None = None

    def outcome(self, call: dict[str, Any]) -> dict[str, Any]:
        key = call["op"], repr(call["attrs"]), [item["dtype"] for item in flat_items(call)]
        if self.run is not None and key == self.key:
            return self.run.again(call)
        if self.run is not None:
            self.run.session.close()
        made = Run(call)
        found = made.outcome()
        self.key, self.run = key, None
        if made.session is not None and made.refs:
            made.session.close()  # what it wrote must not reach the next call
        elif made.session is not None:
            self.run = made
        return found


LATE = Late()


def answer(call: dict[str, Any]) -> dict[str, Any]:
    if op_def_registry.get(call["op"]) is None:
        return {"unknown": True}
    if "form" in call:
        return LATE.outcome(call) if call["form"] == "late" else Run(call).outcome()
    try:
        return Run(call).run()
    except Exception as e:
        message = str(e).split("\n\nOriginal stack trace")[0].rpartition("\nNode: ")[2]
        unsupported = any(text in message for text in UNSUPPORTED)
        return {"error": type(e).__name__, "message": message[-300:], **({"unsupported": True} if unsupported else {})}


def signature(name: str) -> dict[str, Any] | None:
    """What TensorFlow's own description of an op says."""
    found = op_def_registry.get(name)
    if found is None:
        return None

    def default(attr: Any) -> Any:
        if not attr.HasField("default_value"):
            return None
        return str(attr.default_value).strip()

    return {
        "inputs": [arg.name for arg in found.input_arg],
        "outputs": [arg.name for arg in found.output_arg],
        "attrs": {attr.name: [attr.type, default(attr)] for attr in found.attr},
        "types": {
            attr.name: [tf.as_dtype(t).name for t in attr.allowed_values.list.type]
            for attr in found.attr
            if attr.type in ("type", "list(type)")
        },
    }


def main() -> None:
    tf.disable_v2_behavior()
    tf.logging.set_verbosity("FATAL")
    inlet, outlet = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what TensorFlow prints must not get between the messages
    send(outlet, {"version": tf.__version__})
    while True:
        try:
            call = receive(inlet)
        except EOFError:
            return
        send(outlet, signature(call["signature"]) if "signature" in call else answer(call))


if __name__ == "__main__":
    main()

"""What of TensorFlow is not in Headrace, and what to use today: one answer, whoever asks.

`headrace.X`, `tensorflow.X`, ``headrace port`` and ``docs/coverage.md`` all take it from here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import headrace

# What to use in place of names, and of everything below them; the longest name that fits counts.  ``tf.linalg.LinearOperator*``
# is all names that begin so.  What is near a name counts more than ``tf.raw_ops.*``, the rest of a namespace that is here.
_ADVICE = {
    "tf.contrib.keras tf.layers.experimental": (
        "tf.layers for the model, tf.Session or tf.estimator.Estimator to train it"
    ),
    "tf.contrib.all_reduce": "tf.train.SyncReplicasOptimizer adds gradients of several workers",
    "tf.tpu.* tf.estimator.tpu.* tf.contrib.tpu.* tf.contrib.tpu_estimator tf.distribute.experimental.TPUStrategy": (
        "tf.contrib.tpu.TPUEstimator with use_tpu=False: Headrace runs where PyTorch runs, not on TPUs"
    ),
    "tf.lite tf.contrib.lite tf.contrib.tensorrt tf.contrib.hvx tf.contrib.android": (
        "tf.saved_model.simple_save, and TensorFlow to convert what it writes"
    ),
    "tf.contrib.quantization tf.train.do_quantize_training_on_graphdef": (
        "tf.quantization.fake_quant_with_min_max_vars, put into the model by hand: the rewrites are for TensorFlow Lite"
    ),
    "tf.compat.v2 tf.enable_v2_behavior tf.enable_tensor_equality tf.disable_tensor_equality tf.enable_v2_tensorshape "
    "tf.enable_control_flow_v2": (
        "tf.compat.v1: Headrace is TensorFlow 1, with tf.enable_eager_execution and tf.function"
    ),
    "tf.config.* tf.experimental": "tf.ConfigProto, given to tf.Session: device_count, threads, log_device_placement",
    "tf.autograph tf.contrib.autograph": "tf.cond and tf.while_loop",
    "tf.xla": "nothing: steps on accelerators are compiled by themselves",
    "tf.saved_model.save tf.saved_model.load_v2 tf.saved_model.experimental": (
        "tf.saved_model.simple_save and tf.saved_model.load, TensorFlow 1's"
    ),
    "tf.train.VocabInfo": "tf.train.init_from_checkpoint, for variables whose vocabulary is the same",
    "tf.RaggedTensor tf.RaggedTensorSpec tf.ragged tf.data.experimental.RaggedTensorStructure": (
        "tf.SparseTensor, or a padded batch with its lengths (tf.sequence_mask)"
    ),
    "tf.TypeSpec tf.IndexedSlicesSpec tf.TensorArraySpec tf.data.experimental.Structure "
    "tf.data.experimental.TensorArrayStructure": "tf.TensorSpec and tf.SparseTensorSpec",
    "tf.TensorInfo": "tf.saved_model.utils.build_tensor_info, which makes these messages",
    "tf.data.experimental.TFRecordWriter": "tf.python_io.TFRecordWriter, in a loop",
    "tf.io.decode_proto tf.io.encode_proto tf.contrib.proto": (
        "tf.io.parse_example for a tf.train.Example, tf.py_func for other messages"
    ),
    "tf.debugging.assert_shapes": "tf.assert_rank and tf.Tensor.set_shape",
    "tf.errors.raise_exception_on_not_ok_status": "nothing: errors are raised by what fails",
    "tf.contrib.bayesflow": (
        "those that dir(tf.distributions) and dir(tf.contrib.distributions) show"
    ),
    "tf.estimator.B* tf.estimator.LogisticRegressionHead tf.estimator.MultiHead tf.estimator.MultiLabelHead "
    "tf.estimator.PoissonRegressionHead tf.estimator.experimental.LinearSDCA "
    "tf.contrib.boosted_trees tf.contrib.tensor_forest tf.contrib.timeseries "
    "tf.contrib.linear_optimizer tf.contrib.factorization.* tf.contrib.kernel_methods tf.contrib.decision_trees": (
        "tf.estimator.Estimator with a model_fn, or what dir(tf.estimator) shows"
    ),
    "tf.estimator.experimental.*": "a tf.train.SessionRunHook that calls run_context.request_stop()",
    "tf.train.sdca_fprint tf.train.sdca_optimizer tf.train.sdca_shrink_l1": "tf.train.FtrlOptimizer",
    "tf.feature_column.sequence* tf.contrib.feature_column": (
        "tf.io.parse_single_sequence_example and tf.nn.embedding_lookup, for features that are sequences"
    ),
    "tf.linalg.LinearOperator* tf.linalg.logm tf.contrib.solvers": (
        "tf.linalg.LinearOperatorFullMatrix, or what dir(tf.linalg) shows"
    ),
    "tf.load_library tf.load_file_system_library tf.user_ops": (
        "headrace.extend to declare the op in Python; fsspec for file systems"
    ),
    "tf.nn.compute_average_loss tf.nn.scale_regularization_loss": "tf.reduce_mean, divided by the number of workers",
    "tf.nn.with_space_to_batch": "the `dilations` of tf.nn.convolution",
    "tf.nn.quantized_avg_pool tf.nn.quantized_conv2d tf.nn.quantized_max_pool tf.nn.quantized_relu_x "
    "tf.quantization.quantized_concat tf.quantized_concat tf.quantize_v2": (
        "compute in float: tf.quantization.dequantize, the op, tf.quantization.quantize"
    ),
    "tf.nondifferentiable_batch_function tf.contrib.batching": "tf.train.batch, or queues",
    "tf.pywrap_tensorflow": "tf.train.NewCheckpointReader, its commonest use",
    "tf.random.experimental tf.random.Generator": "tf.random.stateless_uniform and kin, with seeds of your own",
    "tf.strings.unicode_script": "tf.py_func",
    "tf.vectorized_map": "tf.map_fn",
    "tf.wrap_function": "tf.function",
    "tf.raw_ops.*": "the public function that makes the op, or headrace.extend to declare it",
    "tf.raw_ops.TensorArray* tf.raw_ops.TensorList*": "tf.TensorArray",
    "tf.contrib.recurrent tf.contrib.grid_rnn": "tf.nn.dynamic_rnn with a cell of your own",
    "tf.contrib.receptive_field": "tf.import_graph_def with an input_map, and tf.graph_util",
    "tf.contrib.libsvm tf.contrib.bigtable tf.contrib.kafka tf.contrib.kinesis tf.contrib.ignite tf.contrib.hadoop "
    "tf.contrib.input_pipeline": "tf.data.Dataset.from_generator around a reader in Python",
    "tf.contrib.ffmpeg": "tf.audio.decode_wav, or tf.py_func around a decoder",
    "tf.contrib.text": "tf.strings and tf.contrib.lookup",
    "tf.contrib.optimizer_v2": "the optimizers of tf.train",
    "tf.contrib.model_pruning": "a mask that is a variable, multiplied into the weights",
    "tf.contrib.session_bundle": "tf.saved_model.load",
    "tf.contrib.meta_graph_transform": "tf.graph_util, on the GraphDef of the SavedModel",
    "tf.contrib.labeled_tensor": "tf.Tensor, with names of axes in comments",
    "tf.contrib.verbs tf.contrib.mpi tf.contrib.gdr": "tf.train.Server: the transport is chosen by itself",
    "tf.contrib.integrate": "tf.while_loop, or tf.py_func around scipy",
}  # fmt: skip
ADVICE = {name: text for names, text in _ADVICE.items() for name in names.split()}


class Missing(AttributeError):
    """A name that is not here.  What to say is looked up when it is shown: programs ask with `hasattr` too."""

    def __init__(self, module: str, name: str, targets: Sequence[Any]) -> None:
        super().__init__(module, name, obj=())  # not the module: Python would add names that are near by letters
        self.targets = targets

    def __str__(self) -> str:
        module, name = self.args
        return missing_name(module, name, self.targets)


Missing.__module__, Missing.__name__, Missing.__qualname__ = (
    "builtins",
    "AttributeError",
    "AttributeError",
)  # as tracebacks show


def gap(name: str) -> str:
    """The entry of the table for a name, ``tf.keras`` for ``tf.keras.layers.Dense``; empty if there is none."""
    fitting = (one for one in ADVICE if name.startswith(one[:-1] if one.endswith("*") else f"{one}.") or name == one)
    return max(fitting, key=len, default="")


def missing_name(module: str, name: str, targets: Sequence[Any] = ()) -> str:
    """Says that Headrace lacks a TensorFlow name, and what to use: the table's advice, or the names that are really near."""
    whole = f"{module}.{name}"
    known = gap(whole)
    if known and not known.endswith(".*"):
        return f"Headrace has no {whole}. Use today: {ADVICE[known]}"
    elsewhere = [where for where, one in _everything() if one == name and where != whole]
    near = [f"{module}.{one}" for target in targets for one in difflib.get_close_matches(name, public(target), 3, 0.8)]
    if nearest := list(dict.fromkeys([*elsewhere, *near]))[:3]:
        return f"Headrace has no {whole}; nearest: {', '.join(nearest)}"
    return f"Headrace has no {whole}" + (f". Use today: {ADVICE[known]}" if known else "")


def public(target: Any) -> list[str]:
    """The public names of a module or class."""
    names = {name for name in dir(target) if not name.startswith("_")}
    return sorted(names - headrace._PARTS if target is headrace else names)


@cache
def _everything() -> tuple[tuple[str, str], ...]:
    return tuple(_walk())


def _walk() -> Iterator[tuple[str, str]]:
    """Every public name but those of modules: (where, last part)."""
    modules: list[tuple[str, Any]] = [("tf", headrace)]
    seen = {id(headrace), id(headrace.compat.v1)}
    for where, module in modules:
        for name in public(module):
            value = getattr(module, name)
            if not isinstance(value, (ModuleType, SimpleNamespace)):
                yield f"{where}.{name}", name
            elif isinstance(value, ModuleType) and value.__name__.startswith("headrace.") and id(value) not in seen:
                seen.add(id(value))
                modules.append((f"{where}.{name}", value))

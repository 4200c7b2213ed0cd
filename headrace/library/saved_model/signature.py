"""Signatures: which tensors of a graph go in, which come out, under which names.  Each is a SignatureDef of TensorInfos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.core import dtypes
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor

CLASSIFY_INPUTS: Final = "inputs"
CLASSIFY_METHOD_NAME: Final = "tensorflow/serving/classify"
CLASSIFY_OUTPUT_CLASSES: Final = "classes"
CLASSIFY_OUTPUT_SCORES: Final = "scores"
DEFAULT_SERVING_SIGNATURE_DEF_KEY: Final = "serving_default"
PREDICT_INPUTS: Final = "inputs"
PREDICT_METHOD_NAME: Final = "tensorflow/serving/predict"
PREDICT_OUTPUTS: Final = "outputs"
REGRESS_INPUTS: Final = "inputs"
REGRESS_METHOD_NAME: Final = "tensorflow/serving/regress"
REGRESS_OUTPUTS: Final = "outputs"


# ---- tensors


def build_tensor_info(tensor: Any) -> Any:
    """The TensorInfo of a tensor, a sparse tensor or a variable: its name, dtype and shape.

    Args:
      tensor: A tensor, sparse tensor or variable of a graph.

    Returns:
      A TensorInfo.

    >>> x = tf.placeholder(tf.float32, [None, 3], name="x")
    >>> tf.saved_model.utils.build_tensor_info(x).name
    'x:0'
    """
    if context.executing_eagerly():
        raise RuntimeError(f"build_tensor_info is not supported in eager execution: a signature names nodes {at()}")
    if not all(hasattr(tensor, name) for name in ("dtype", "get_shape")) or not (
        isinstance(tensor, SparseTensor) or isinstance(getattr(tensor, "name", None), str)
    ):
        raise TypeError(
            f"build_tensor_info takes a Tensor, a SparseTensor or a Variable; it was given {tensor!r} of type "
            f"{type(tensor).__name__} {at()}"
        )
    info = protos().TensorInfo(
        dtype=dtypes.as_dtype(tensor.dtype).base_dtype.as_datatype_enum, tensor_shape=tensor.get_shape().as_proto()
    )
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def tensor_names(info: Any) -> list[str]:
    """The names of the tensors that a TensorInfo describes."""
    encoding = info.WhichOneof("encoding")
    if encoding == "name":
        return [info.name]
    if encoding == "coo_sparse":
        sparse = info.coo_sparse
        return [sparse.indices_tensor_name, sparse.values_tensor_name, sparse.dense_shape_tensor_name]
    if encoding == "composite_tensor":
        return [name for component in info.composite_tensor.components for name in tensor_names(component)]
    return []


def get_tensor_from_tensor_info(tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None) -> Any:
    """The tensor, or the sparse tensor, of a graph (default: the default graph) that a TensorInfo describes.

    Args:
      tensor_info: A TensorInfo.
      graph: The graph to look in; None for the default graph.
      import_scope: The scope under which the nodes were imported; None for none.

    Returns:
      A `tf.Tensor` or `tf.SparseTensor`; KeyError if it is not there.

    >>> x = tf.placeholder(tf.float32, name='x')
    >>> tf.saved_model.get_tensor_from_tensor_info(tf.saved_model.build_tensor_info(x)) is x
    True
    """
    graph = context.get_default_graph() if graph is None else graph
    encoding = tensor_info.WhichOneof("encoding")
    if encoding not in ("name", "coo_sparse"):
        raise ValueError(
            f"Invalid TensorInfo.encoding: {encoding}. Headrace reads `name`, of a dense tensor, and `coo_sparse` {at()}"
        )
    prefix = f"{import_scope.rstrip('/')}/" if import_scope else ""
    tensors = []
    for name in tensor_names(tensor_info):
        try:
            tensors.append(graph.get_tensor_by_name(prefix + name))
        except (KeyError, ValueError) as error:
            reason = error.args[0] if error.args else error
            raise KeyError(
                f"The tensor {prefix + name!r} of a TensorInfo is not in the graph: {reason} {at()}"
            ) from None
    return tensors[0] if encoding == "name" else SparseTensor(*tensors)


# ---- signatures


def build_signature_def(
    inputs: Mapping[str, Any] | None = None, outputs: Mapping[str, Any] | None = None, method_name: str | None = None
) -> Any:
    """A SignatureDef with these TensorInfos, by name.

    Args:
      inputs: A dict from names to TensorInfos; None for none.
      outputs: A dict from names to TensorInfos; None for none.
      method_name: What the signature is for, such as ``tf.saved_model.signature_constants.PREDICT_METHOD_NAME``.

    Returns:
      A SignatureDef.

    >>> x = tf.saved_model.build_tensor_info(tf.placeholder(tf.float32, name='x'))
    >>> list(tf.saved_model.build_signature_def(inputs={'x': x}).inputs)
    ['x']
    """
    signature = protos().SignatureDef()
    for label, field, infos in (("inputs", signature.inputs, inputs), ("outputs", signature.outputs, outputs)):
        for name, info in (infos or {}).items():
            if getattr(getattr(info, "DESCRIPTOR", None), "name", "") != "TensorInfo":
                raise TypeError(
                    f"build_signature_def: {label}[{name!r}] must be a TensorInfo (tf.saved_model.utils.build_tensor_info makes "
                    f"one); it is {info!r} of type {type(info).__name__} {at()}"
                )
            field[name].ParseFromString(info.SerializeToString())
    if method_name is not None:
        signature.method_name = method_name
    return signature


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """The signature of a model that takes and gives tensors of any type.

    Args:
      inputs: A dict from names to tensors.
      outputs: A dict from names to tensors.

    Returns:
      A SignatureDef.

    >>> x = tf.placeholder(tf.float32, name='x')
    >>> tf.saved_model.predict_signature_def({'x': x}, {'y': tf.square(x)}).method_name
    'tensorflow/serving/predict'
    """
    for label, tensors in (("inputs", inputs), ("outputs", outputs)):
        if not tensors:
            raise ValueError(f"Prediction `{label}` cannot be None or empty. {at()}")
        if not isinstance(tensors, Mapping):
            raise TypeError(f"Prediction `{label}` must be a dict from names to tensors, got {tensors!r} {at()}")
    return build_signature_def(
        {name: build_tensor_info(tensor) for name, tensor in inputs.items()},
        {name: build_tensor_info(tensor) for name, tensor in outputs.items()},
        PREDICT_METHOD_NAME,
    )


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """The signature of a classifier: serialized Examples in; the names of classes, their scores, or both out.

    Args:
      examples: A string tensor of serialized Examples.
      classes: A string tensor with names of classes, or None.
      scores: A float32 tensor with a score for each class, or None.

    Returns:
      A SignatureDef.

    >>> examples, scores = tf.placeholder(tf.string, [None]), tf.placeholder(tf.float32, [None, 3])
    >>> tf.saved_model.classification_signature_def(examples, None, scores).method_name
    'tensorflow/serving/classify'
    """
    if classes is None and scores is None:
        raise ValueError(f"Classification `classes` and `scores` cannot both be None. {at()}")
    outputs = {}
    if classes is not None:
        outputs[CLASSIFY_OUTPUT_CLASSES] = _typed_info("Classification", "classes", classes, dtypes.string)
    if scores is not None:
        outputs[CLASSIFY_OUTPUT_SCORES] = _typed_info("Classification", "scores", scores, dtypes.float32)
    return build_signature_def(
        {CLASSIFY_INPUTS: _examples_info("Classification", examples)}, outputs, CLASSIFY_METHOD_NAME
    )


def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """The signature of a regressor: serialized Examples in, numbers out.

    Args:
      examples: A string tensor of serialized Examples.
      predictions: A float32 tensor.

    Returns:
      A SignatureDef.

    >>> examples, predictions = tf.placeholder(tf.string, [None]), tf.placeholder(tf.float32, [None, 1])
    >>> tf.saved_model.regression_signature_def(examples, predictions).method_name
    'tensorflow/serving/regress'
    """
    if predictions is None:
        raise ValueError(f"Regression `predictions` cannot be None. {at()}")
    return build_signature_def(
        {REGRESS_INPUTS: _examples_info("Regression", examples)},
        {REGRESS_OUTPUTS: _typed_info("Regression", "predictions", predictions, dtypes.float32)},
        REGRESS_METHOD_NAME,
    )


def _examples_info(task: str, examples: Any) -> Any:
    if examples is None:
        raise ValueError(f"{task} `examples` cannot be None. {at()}")
    if not isinstance(examples, Tensor):
        raise ValueError(
            f"{task} `examples` must be a string Tensor; it is {examples!r} of type {type(examples).__name__} {at()}"
        )
    return _typed_info(task, "examples", examples, dtypes.string)


def _typed_info(task: str, label: str, tensor: Any, dtype: dtypes.DType) -> Any:
    info = build_tensor_info(tensor)
    if info.dtype != dtype.as_datatype_enum:
        raise ValueError(
            f"{task} `{label}` must be of type {dtype.name}; {tensor.name} is {dtypes.as_dtype(info.dtype).name} {at()}"
        )
    return info


# ---- what can be served


def is_valid_signature(signature_def: Any) -> bool:
    """Whether a server of SavedModels can serve it: a proper predict, classify or regress signature.

    Args:
      signature_def: A SignatureDef, or None.

    Returns:
      True or False.

    >>> tf.saved_model.is_valid_signature(tf.saved_model.build_signature_def())
    False
    """
    if signature_def is None:
        return False
    method = signature_def.method_name
    if method == PREDICT_METHOD_NAME:
        return bool(signature_def.inputs and signature_def.outputs)
    if method == CLASSIFY_METHOD_NAME:
        allowed = {CLASSIFY_OUTPUT_CLASSES: dtypes.string, CLASSIFY_OUTPUT_SCORES: dtypes.float32}
        return _takes_examples(signature_def, CLASSIFY_INPUTS) and _are(signature_def.outputs, allowed)
    if method == REGRESS_METHOD_NAME:
        allowed = {REGRESS_OUTPUTS: dtypes.float32}
        return _takes_examples(signature_def, REGRESS_INPUTS) and _are(signature_def.outputs, allowed)
    return False


def _takes_examples(signature_def: Any, name: str) -> bool:
    return _are(signature_def.inputs, {name: dtypes.string})


def _are(infos: Mapping[str, Any], allowed: Mapping[str, dtypes.DType]) -> bool:
    """Whether there are some, and each has a name that is allowed and the dtype for it."""
    return bool(infos) and all(
        name in allowed and info.dtype == allowed[name].as_datatype_enum for name, info in infos.items()
    )

"""What a model offers to those who serve it: outputs, and the signature that each of them becomes."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.saved_model import signature


class ExportOutput(abc.ABC):
    """One way to ask a model that is served.

    It is a base class: make a `ClassificationOutput`, a `RegressionOutput` or a `PredictOutput`.

    >>> isinstance(tf.estimator.export.PredictOutput(tf.constant(1.0)), tf.estimator.export.ExportOutput)
    True
    """

    @abc.abstractmethod
    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """The SignatureDef from what is received to this output."""


class ClassificationOutput(ExportOutput):
    """Scores, names of classes, or both: one row for each example.

    Args:
      scores: A float tensor with a score for each class, or None.
      classes: A string tensor with names of classes, or None.

    >>> output = tf.estimator.export.ClassificationOutput(scores=tf.constant([[0.2, 0.8]]))
    """

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores!r} {at()}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype == dtypes.string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes!r} {at()}")
        if scores is None and classes is None:
            raise ValueError(f"At least one of scores and classes must be set {at()}")
        self._scores, self._classes = scores, classes

    @property
    def scores(self) -> Any:
        """A score for each class, or None."""
        return self._scores

    @property
    def classes(self) -> Any:
        """The names of classes, or None."""
        return self._classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """The signature: its one input is a vector of encoded examples."""
        examples = _only_strings("Classification", receiver_tensors)
        return signature.classification_signature_def(examples, self._classes, self._scores)


class RegressionOutput(ExportOutput):
    """Numbers, one row for each example.

    Args:
      value: A float tensor.

    >>> output = tf.estimator.export.RegressionOutput(tf.constant([[1.5]]))
    """

    def __init__(self, value: Any) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value!r} {at()}")
        self._value = value

    @property
    def value(self) -> Any:
        """The numbers."""
        return self._value

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """The signature: its one input is a vector of encoded examples."""
        examples = _only_strings("Regression", receiver_tensors)
        return signature.regression_signature_def(examples, self._value)


class PredictOutput(ExportOutput):
    """Any tensors by name; a single one is called "output".

    Args:
      outputs: A dictionary from names to tensors, or one tensor.

    >>> list(tf.estimator.export.PredictOutput({'age': tf.constant([30.0])}).outputs)
    ['age']
    """

    def __init__(self, outputs: Any) -> None:
        named = dict(outputs) if isinstance(outputs, Mapping) else {"output": outputs}
        for key, value in named.items():
            if not isinstance(key, str):
                raise ValueError(f"Prediction output key must be a string; got {key!r} {at()}")
            if not isinstance(value, Tensor):
                raise ValueError(f"Prediction output value must be a Tensor; got {value!r} of {key!r} {at()}")
        self._outputs = named

    @property
    def outputs(self) -> dict[str, Any]:
        """The tensors by name."""
        return self._outputs

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """The signature from all that is received."""
        return signature.predict_signature_def(dict(receiver_tensors), self._outputs)


def _only_strings(model: str, receiver_tensors: Mapping[str, Any]) -> Any:
    tensors = list(receiver_tensors.values())
    if len(tensors) != 1 or tensors[0].dtype != dtypes.string:
        raise ValueError(
            f"{model} input must be a single string Tensor; got {dict(receiver_tensors)}. A PredictOutput takes any {at()}"
        )
    return tensors[0]

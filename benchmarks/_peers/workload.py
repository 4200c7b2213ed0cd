"""The workloads: which model, at which size on which kind of machine. Knows no framework."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Workload:
    """One row of the table: a model of `headrace.models`, or one of the two bare ones, and its arguments."""

    title: str
    model: str
    batch: int
    learning_rate: float = 0.01
    arguments: dict[str, Any] = field(default_factory=dict)  # of `build`; `example` takes those it knows


CPU = {
    "null": Workload("null step", "null", 1),
    "tiny": Workload("1,000 tiny ops", "tiny", 1),
    "logistic": Workload("logistic regression, batch 1", "logistic", 1),
    "mlp": Workload("MLP 784-128-10, batch 32", "mlp", 32, 0.1),
    "lenet": Workload("LeNet, batch 64", "lenet", 64, 0.02),
    "alexnet": Workload("AlexNet, batch 8", "alexnet", 8),
    "overfeat": Workload("Overfeat, batch 4", "overfeat", 4),
    "vgg": Workload("VGG-A, batch 2", "vgg", 2),
    "googlenet": Workload("GoogLeNet, batch 4", "googlenet", 4),
    "inception_v3": Workload("Inception-v3, batch 2", "inception_v3", 2),
    "lstm_lm": Workload("LSTM 2x512, 20 steps, batch 8", "lstm_lm", 8, 0.5),
    "transformer": Workload("transformer 6x512, batch 2x64", "transformer", 2, 0.1),
    "embedding": Workload("embedding, 10,000 of 1M rows", "embedding", 10_000, 1.0, {"rows": 1_000_000}),
}

SMALL = {  # the same programs, small enough to check correctness anywhere in a second
    "null": CPU["null"],
    "tiny": CPU["tiny"],
    "logistic": CPU["logistic"],
    "mlp": Workload("MLP, small", "mlp", 4, 0.1, {"hidden": 16}),
    "lenet": Workload("LeNet, small", "lenet", 4, 0.02, {"filters": (4, 8), "hidden": 32}),
    "lstm_lm": Workload("LSTM, small", "lstm_lm", 2, 0.5, {"steps": 4, "hidden": 16, "vocabulary": 50}),
}

GPU: dict[str, Workload] = {}

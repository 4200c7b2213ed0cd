"""The workloads: which model, at which size on which kind of machine. Knows no framework."""

from dataclasses import dataclass, field
from typing import Any

# Ninety-four batch normalisations magnify rounding: two layouts of the same pictures in one framework differ as much.
ROUGH = 5e-3


@dataclass(frozen=True)
class Workload:
    """One row of the table: a model of `headrace.models`, or one of the two bare ones, and its arguments."""

    title: str
    model: str
    batch: int
    learning_rate: float = 1e-4
    arguments: dict[str, Any] = field(default_factory=dict)  # of `build`; other functions take those they know
    tolerance: float = 1e-3  # relative, of the first losses
    resident: bool = False  # whether the batch stays on the device, as in the paper's Table 1, or is fed to every step

    @property
    def bare(self) -> bool:
        return self.model in ("null", "tiny")


DYNAMIC = {"dynamic": True}  # a loop over time in the graph
CPU = {
    "null": Workload("null step", "null", 1),
    "tiny": Workload("1,000 tiny ops", "tiny", 1),
    "logistic": Workload("logistic regression, batch 1", "logistic", 1, 0.01),
    "mlp": Workload("MLP 784-128-10, batch 32", "mlp", 32, 0.1),
    "lenet": Workload("LeNet, batch 64", "lenet", 64, 0.001),
    "alexnet": Workload("AlexNet, batch 8", "alexnet", 8),
    "overfeat": Workload("Overfeat, batch 4", "overfeat", 4),
    "vgg": Workload("VGG-A, batch 2", "vgg", 2),
    "googlenet": Workload("GoogLeNet, batch 4", "googlenet", 4),
    "inception_v3": Workload("Inception-v3, batch 2", "inception_v3", 2, 0.001, tolerance=ROUGH),
    "lstm_lm": Workload("LSTM 2x512, 20 steps, batch 8", "lstm_lm", 8, 0.5),
    "lstm_dynamic": Workload("LSTM 2x512, dynamic, batch 8", "lstm_lm", 8, 0.5, DYNAMIC),
    "transformer": Workload("transformer 6x512, batch 2x64", "transformer", 2, 0.1),
    "embedding": Workload("embedding, 10,000 of 1M rows", "embedding", 10_000, 0.1, {"rows": 1_000_000}),
    "embedding16m": Workload("embedding, 10,000 of 16M rows", "embedding", 10_000, 0.1, {"rows": 16_000_000}),
}
CPU_DEFAULT = [name for name in CPU if name != "embedding16m"]  # which takes 4 GiB in each of six processes

_SEQUENCE = {"steps": 4, "vocabulary": 50}
SMALL = {  # the same programs, small enough to check anywhere that all frameworks agree
    "null": CPU["null"],
    "tiny": CPU["tiny"],
    "logistic": CPU["logistic"],
    "mlp": Workload("MLP, small", "mlp", 4, 0.1, {"hidden": 16}),
    "lenet": Workload("LeNet, small", "lenet", 4, 0.005, {"filters": (4, 8), "hidden": 32}),
    "alexnet": Workload("AlexNet, small", "alexnet", 2, 0.001, {"size": 64, "divide": 16}),
    "overfeat": Workload("Overfeat, small", "overfeat", 2, 0.001, {"size": 71, "divide": 16}),
    "vgg": Workload("VGG-A, small", "vgg", 2, 0.001, {"size": 32, "divide": 16}),
    "googlenet": Workload("GoogLeNet, small", "googlenet", 2, 0.001, {"size": 64, "divide": 4}),
    "inception_v3": Workload("Inception-v3, small", "inception_v3", 2, 0.001, {"size": 139, "divide": 8}, ROUGH),
    "lstm_lm": Workload("LSTM, small", "lstm_lm", 2, 0.5, {"hidden": 16, **_SEQUENCE}),
    "lstm_dynamic": Workload("LSTM, dynamic, small", "lstm_lm", 2, 0.5, {"hidden": 16, **_SEQUENCE, **DYNAMIC}),
    "transformer": Workload(
        "transformer, small", "transformer", 2, 0.1, {"width": 16, "layers": 2, "heads": 2, **_SEQUENCE}
    ),
    "embedding": Workload("embedding, small", "embedding", 50, 0.1, {"rows": 1000}),
}

TF32 = {"tolerance": 2e-2}  # ten bits of each factor
GPU = {  # the batches of the paper's Table 1 first, on the device as there
    "alexnet": Workload("AlexNet, batch 128", "alexnet", 128, resident=True, **TF32),
    "overfeat": Workload("Overfeat, batch 128", "overfeat", 128, resident=True, **TF32),
    "vgg": Workload("VGG-A, batch 64", "vgg", 64, resident=True, **TF32),
    "googlenet": Workload("GoogLeNet, batch 128", "googlenet", 128, resident=True, **TF32),
    "lstm_lm": Workload("LSTM 2x512, 20 steps, batch 64", "lstm_lm", 64, 0.5, **TF32),
    "transformer": Workload("transformer 6x512, batch 16x128", "transformer", 16, 0.1, {"steps": 128}, **TF32),
    "mlp": Workload("MLP 784-128-10, batch 32", "mlp", 32, 0.1, **TF32),
    "inception_v3": Workload("Inception-v3, batch 32", "inception_v3", 32, 0.001, resident=True, **TF32),
    "lenet": Workload("LeNet, batch 64", "lenet", 64, 0.001, **TF32),
    "lstm_dynamic": Workload("LSTM 2x512, dynamic, batch 64", "lstm_lm", 64, 0.5, DYNAMIC, **TF32),
}
GPU_SMALL = {name: SMALL[name] for name in GPU}

"""The training of ``_programs/keras_fit.py`` as one writes it for PyTorch: ``keras_torch.py EPOCHS``, with KERAS_NETWORK."""

import os
import sys

import numpy as np
import torch
from torch import nn

NETWORKS = {
    "mlp": lambda: nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    ),
    "convnet": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 10),
    ),
}  # fmt: skip


def main() -> None:
    network = os.environ.get("KERAS_NETWORK", "mlp")
    samples = 20_000 if network == "mlp" else 6_000
    random = np.random.RandomState(0)
    x = torch.from_numpy(random.rand(samples, 784).astype(np.float32))
    y = torch.from_numpy(random.randint(0, 10, samples))
    model = NETWORKS[network]()
    optimizer, criterion = torch.optim.Adam(model.parameters()), nn.CrossEntropyLoss()
    total = 0.0
    for _ in range(int(sys.argv[1])):
        total, right = 0.0, 0
        order = torch.randperm(samples)
        for start in range(0, samples, 128):
            chosen = order[start : start + 128]
            inputs, labels = x[chosen], y[chosen]
            optimizer.zero_grad()
            logits = model(inputs)
            loss = criterion(logits, labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            right += int((logits.argmax(1) == labels).sum())
    print(f"loss {total / samples:.3f}")


if __name__ == "__main__":
    main()

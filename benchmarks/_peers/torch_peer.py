"""PyTorch: layers for `architecture`, and the training step, eager or compiled.

Pictures are held as `[batch, channels, height, width]`. The step asks autograd for the gradients and updates all parameters
in one call, which is quicker than an optimizer object.
"""

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks._peers import architecture
from headrace.models.seeded import initial_value

CHAIN = 1000


class Layers:
    """The layers; parameters by name, made when first asked for."""

    relu, sigmoid, tanh = staticmethod(torch.relu), staticmethod(torch.sigmoid), staticmethod(torch.tanh)
    concat, stack = staticmethod(torch.cat), staticmethod(torch.stack)

    def __init__(self, device):
        self.device = device
        self.parameters = {}

    def parameter(self, name, *shape):
        if name not in self.parameters:
            value = torch.from_numpy(initial_value(name, shape))
            if value.ndim == 4:  # [height, width, in, out] -> [out, in, height, width]
                value = value.permute(3, 2, 0, 1).contiguous()
            self.parameters[name] = value.to(self.device).requires_grad_()
        return self.parameters[name]

    def affine(self, x, kernel, bias):
        return torch.addmm(bias, x, kernel)

    def dense(self, x, name, units):
        return self.affine(
            x, self.parameter(f"{name}/kernel", x.shape[-1], units), self.parameter(f"{name}/bias", units)
        )

    def convolution(self, x, name, filters, size, stride=1, padding="SAME"):
        height, width = size if isinstance(size, tuple) else (size, size)
        kernel = self.parameter(f"{name}/kernel", height, width, x.shape[1], filters)
        return torch.relu(
            F.conv2d(x, kernel, self.parameter(f"{name}/bias", filters), stride, _pixels(padding, height, width))
        )

    def max_pool(self, x, size, stride, padding="VALID"):
        # Windows that hang over the end: what SAME means for an even length and stride 2.
        if stride == 1:
            return F.max_pool2d(x, size, 1, _pixels(padding, size, size))
        return F.max_pool2d(x, size, stride, ceil_mode=padding == "SAME")

    def flatten(self, x):
        return x.permute(0, 2, 3, 1).flatten(1)

    def look_up(self, name, rows, width, ids):
        return F.embedding(ids, self.parameter(f"{name}/table", rows, width))

    def split(self, x, count):
        return x.chunk(count, 1)

    def squeeze(self, x):
        return x.squeeze(1)

    def zeros(self, *shape):
        return torch.zeros(shape, device=self.device)

    def loss(self, logits, labels):
        return F.cross_entropy(logits, labels)

    def sigmoid_loss(self, logits, labels):
        return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))


def _pixels(padding, height, width):
    if padding == "SAME":
        return (height // 2, width // 2)
    return 0 if padding == "VALID" else padding


def prepare(workload, batch, device, mode):
    """Makes the parameters; returns the step, which takes NumPy arrays and returns the loss. `mode`: None runs eagerly."""
    compiled = (lambda f: f) if mode is None else (lambda f: torch.compile(f, mode=None if mode == "default" else mode))
    if workload.model in ("null", "tiny"):
        return _bare(workload.model, device, compiled)
    layers = Layers(device)
    forward = getattr(architecture, workload.model)
    with torch.no_grad():
        forward(layers, *_tensors(batch, device), **workload.arguments)
    parameters = list(layers.parameters.values())

    @compiled
    def loss_of(inputs, labels):
        return forward(layers, inputs, labels, **workload.arguments)

    def step(*arrays):
        loss = loss_of(*_tensors(arrays, device))
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-workload.learning_rate)
        return loss.item()

    return step


def arrange(batch):
    """The batch as PyTorch's user would have it: pictures with the channels first, labels in 64 bits."""
    inputs, *labels = batch
    if inputs.ndim == 4:
        inputs = np.ascontiguousarray(inputs.transpose(0, 3, 1, 2))
    return inputs, *(label.astype(np.int64) if label.dtype == np.int32 else label for label in labels)


def _tensors(arrays, device):
    return [torch.as_tensor(array).to(device, non_blocking=True) for array in arrays]


def _bare(name, device, compiled):
    if name == "null":
        add = compiled(lambda x: x + 1.0)
        return lambda x: add(torch.as_tensor(x, device=device)).item()
    other = torch.full((8,), 1.5, device=device)

    @compiled
    def chain(value):
        for i in range(CHAIN):
            value = torch.sin(value) if i % 2 else value * other
        return value.sum()

    @torch.no_grad()
    def step(x):
        return chain(torch.as_tensor(x, device=device)).item()

    return step

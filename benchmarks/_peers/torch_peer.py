"""PyTorch: layers for `architecture`, and the training step, eager or compiled.

Pictures are channels-last, which was quicker than PyTorch's own layout for every network tried. The step asks autograd for
the gradients and updates all parameters in one call, which is quicker than an optimizer object. Compiled without CUDA
graphs, the whole step is one function.
"""

import time

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks._peers import architecture
from headrace.models.layer import EPSILON, MOMENTUM
from headrace.models.seeded import initial_value

CHAIN = 1000


class Layers:
    """The layers; parameters by name, made when first asked for. Values of which only moving averages are kept: `averages`.

    With a dict `seen`, what is to be averaged is put there instead, for a step that keeps the averages itself.
    """

    sigmoid, tanh = staticmethod(torch.sigmoid), staticmethod(torch.tanh)
    join, stack = staticmethod(torch.cat), staticmethod(torch.stack)

    def __init__(self, device, seen=None):
        self.device = device
        self.parameters = {}
        self.averages = {}
        self.seen = seen

    def parameter(self, name, *shape):
        if name not in self.parameters:
            self.parameters[name] = self._made(name, shape).requires_grad_()
        return self.parameters[name]

    def _average(self, name, *shape):
        if name not in self.averages:
            self.averages[name] = self._made(name, shape)
        return self.averages[name]

    def _made(self, name, shape):
        value = torch.from_numpy(initial_value(name, shape))
        if value.ndim == 4:  # [height, width, in, out] -> [out, in, height, width]
            value = value.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
        return value.to(self.device)

    def affine(self, x, kernel, bias):
        return torch.addmm(bias, x, kernel)

    def dense(self, x, name, units, rectify=False):
        kernel, bias = self.parameter(f"{name}/kernel", x.shape[-1], units), self.parameter(f"{name}/bias", units)
        y = self.affine(x, kernel, bias)
        return torch.relu(y) if rectify else y

    def convolution(self, x, name, filters, size, stride=1, padding="SAME"):
        return torch.relu(
            self._convolve(x, name, filters, size, stride, padding, self.parameter(f"{name}/bias", filters))
        )

    def normalized_convolution(self, x, name, filters, size, stride=1, padding="SAME"):
        y = self._convolve(x, name, filters, size, stride, padding, None)
        beta = self.parameter(f"{name}/beta", filters)
        if self.seen is not None:
            variance, mean = torch.var_mean(y, (0, 2, 3), correction=0, keepdim=True)
            self.seen[f"{name}/moving_mean"], self.seen[f"{name}/moving_variance"] = mean.flatten(), variance.flatten()
            return torch.relu((y - mean) * torch.rsqrt(variance + EPSILON) + beta[:, None, None])
        mean = self._average(f"{name}/moving_mean", filters)
        variance = self._average(f"{name}/moving_variance", filters)
        gamma = torch.ones_like(beta)  # cuDNN has no normalisation with an offset alone
        return torch.relu(F.batch_norm(y, mean, variance, gamma, beta, True, 1.0 - MOMENTUM, EPSILON))

    def _convolve(self, x, name, filters, size, stride, padding, bias):
        height, width = size if isinstance(size, tuple) else (size, size)
        kernel = self.parameter(f"{name}/kernel", height, width, x.shape[1], filters)
        return F.conv2d(x, kernel, bias, stride, _pixels(padding, height, width))

    def max_pool(self, x, size, stride, padding="VALID"):
        if stride == 1:
            return F.max_pool2d(x, size, 1, _pixels(padding, size, size))
        # Windows that hang over the end: what SAME means for an even length and stride 2.
        return F.max_pool2d(x, size, stride, ceil_mode=padding == "SAME")

    def average_pool(self, x, size, stride, padding="VALID"):
        return F.avg_pool2d(x, size, stride, _pixels(padding, size, size), count_include_pad=False)

    def mean_of_picture(self, x):
        return x.mean((2, 3))

    def concat(self, branches):
        return torch.cat(branches, 1)

    def flatten(self, x):
        return x.permute(0, 2, 3, 1).flatten(1)  # our dense kernels expect the channels last

    def look_up(self, name, rows, width, ids):
        return F.embedding(ids, self.parameter(f"{name}/table", rows, width))

    def layer_normalization(self, x, name):
        width = x.shape[-1]
        return F.layer_norm(
            x, [width], self.parameter(f"{name}/gamma", width), self.parameter(f"{name}/beta", width), 1e-5
        )

    def attention(self, queries, keys, values):
        queries, keys, values = (part.transpose(1, 2) for part in (queries, keys, values))
        return F.scaled_dot_product_attention(queries, keys, values, is_causal=True).transpose(1, 2)

    def split(self, x, count):
        return x.chunk(count, 1)

    def zeros(self, *shape):
        return torch.zeros(shape, device=self.device)

    def scan(self, cell, before, sequence):
        return torch.stack(architecture.unrolled(cell, before, sequence))  # PyTorch's own `scan` is experimental

    def loss(self, logits, labels):
        return F.cross_entropy(logits, labels)

    def sigmoid_loss(self, logits, labels):
        return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))


def _pixels(padding, height, width):
    if padding == "SAME":
        return (height // 2, width // 2)
    return 0 if padding == "VALID" else padding


def prepare(workload, batch, device, mode):
    """Makes the parameters; returns the step, which takes NumPy arrays and returns the loss, and the seconds of building.

    `mode`: None runs eagerly, else one of torch.compile's.
    """
    compiled = _Compiler(mode)
    if workload.bare:
        step = _bare(workload.model, device, compiled)
    elif workload.model == "embedding":
        step = _embedding(workload, device, compiled)
    else:
        step = _training(workload, batch, device, compiled)
    return step, compiled.seconds


class _Compiler:
    """Compiles functions, or leaves them as they are, and counts the seconds that takes."""

    def __init__(self, mode):
        self.mode = mode
        self.seconds = 0.0

    def keep_in_place(self, tensor):
        """As for the parameters of a module: CUDA graphs then use the tensor where it is instead of copying it."""
        if self.mode is not None:
            torch._dynamo.mark_static_address(tensor)

    def __call__(self, function):
        if self.mode is None:
            return function
        begin = time.perf_counter()
        function = torch.compile(function, mode=self.mode)
        self.seconds += time.perf_counter() - begin
        return function


def _training(workload, batch, device, compiled):
    layers = Layers(device)
    forward = architecture.loss_of(workload)
    held = _tensors(batch, device)
    with torch.no_grad():
        forward(layers, *held)
    for name, value in layers.averages.items():  # that was no step
        value.copy_(torch.from_numpy(initial_value(name, value.shape)))
    for value in (*layers.parameters.values(), *layers.averages.values()):
        compiled.keep_in_place(value)
    train = (_whole_step if compiled.mode == "default" else _step)(layers, forward, workload.learning_rate, compiled)
    if workload.resident:
        return lambda: train(*held)
    return lambda *arrays: train(*_tensors(arrays, device))


def _step(layers, forward, learning_rate, compiled):
    """The loss, compiled or not; autograd; an update of all parameters in one call."""
    parameters = list(layers.parameters.values())
    loss_of = compiled(lambda inputs, labels: forward(layers, inputs, labels))

    def train(inputs, labels):
        loss = loss_of(inputs, labels)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-learning_rate)
        return loss.item()

    return train


def _whole_step(layers, forward, learning_rate, compiled):
    """Loss, gradients and updates compiled as one: quicker than the above."""
    names = list(layers.parameters)
    parameters = [value.detach() for value in layers.parameters.values()]
    averages = list(layers.averages.values())

    def loss_of(values, inputs, labels):
        given = Layers(layers.device, seen={})
        given.parameters = dict(zip(names, values, strict=True))
        loss = forward(given, inputs, labels)
        return loss, [given.seen[name].detach() for name in layers.averages]

    @compiled
    def train(values, averages, inputs, labels):
        gradients, (loss, seen) = torch.func.grad_and_value(loss_of, has_aux=True)(values, inputs, labels)
        torch._foreach_add_(values, gradients, alpha=-learning_rate)
        if averages:
            torch._foreach_lerp_(averages, seen, 1.0 - MOMENTUM)
        return loss

    @torch.no_grad()
    def step(inputs, labels):
        return train(parameters, averages, inputs, labels).item()

    return step


def _embedding(workload, device, compiled):
    """Only the rows that were looked up get a gradient, and only they are updated."""
    table = torch.from_numpy(initial_value("embedding/table", (workload.arguments["rows"], 64))).to(device)

    @compiled
    def train(table, ids, targets):
        difference = table[ids] - targets  # the gradient of the loss is the difference itself
        table.index_add_(0, ids, difference, alpha=-workload.learning_rate)
        return 0.5 * difference.square().sum()

    return lambda *arrays: train(table, *_tensors(arrays, device)).item()


def arrange(batch):
    """The batch as PyTorch wants it: labels in 64 bits."""
    inputs, *labels = batch
    return inputs, *(label.astype(np.int64) if label.dtype == np.int32 else label for label in labels)


def _tensors(arrays, device):
    tensors = [torch.from_numpy(array).to(device) for array in arrays]
    return [x.permute(0, 3, 1, 2) if x.ndim == 4 else x for x in tensors]  # a view: channels-last


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

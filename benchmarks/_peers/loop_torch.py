"""The loops of `control_flow` as Python loops in PyTorch, eager; what a program without graphs would write."""

import torch

from benchmarks._peers import loop_data as data

clock = data.clock


def _tensor(values, gradient=False):
    return torch.from_numpy(values.copy()).requires_grad_(gradient)


def empty(lib):
    def call():
        i = torch.tensor(0, dtype=torch.int32)
        while i < data.EMPTY:
            i = i + 1
        return i

    return call


def _scan(rows):
    found = [rows[0]]
    for row in rows[1:]:
        found.append(found[-1] * 0.9 + row)
    return torch.stack(found)


def scan(lib):
    rows = _tensor(data.rows())
    return lambda: _scan(rows)


def scan_gradient(lib):
    rows = _tensor(data.rows(), True)
    return lambda: torch.autograd.grad(_scan(rows).square().sum(), [rows])


def _lstm(inputs, kernel, bias):
    state = output = torch.zeros(data.BATCH, data.UNITS)
    outputs = []
    for x in inputs:
        i, j, f, o = torch.addmm(bias, torch.cat([x, output], 1), kernel).chunk(4, 1)
        state = state * torch.sigmoid(f + 1.0) + torch.sigmoid(i) * torch.tanh(j)
        output = torch.tanh(state) * torch.sigmoid(o)
        outputs.append(output)
    return torch.stack(outputs)


def lstm(lib):
    given = [_tensor(v()) for v in (data.inputs, data.kernel, data.bias)]
    return lambda: _lstm(*given)


def lstm_gradient(lib):
    given = [_tensor(v(), True) for v in (data.inputs, data.kernel, data.bias)]
    return lambda: torch.autograd.grad(_lstm(*given).square().sum(), given)


CASES = {
    "empty loop": empty,
    "scan": scan,
    "scan, gradient": scan_gradient,
    "LSTM": lstm,
    "LSTM, gradient": lstm_gradient,
}

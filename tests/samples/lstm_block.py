"""Samples of recurrent layers in one op: single steps, sequences, peepholes, clipping, weights that do not fit."""

import numpy as np

from headrace.library.testing.opcheck import Sample


def _values(*shape, seed=0, dtype=np.float32):
    """Few bits, so that sums are alike everywhere."""
    return (np.round(np.random.RandomState(seed).randn(*shape) * 8) / 16).astype(dtype)


def _weights(dtype=np.float32):
    peepholes = [_values(2, seed=seed, dtype=dtype) for seed in (4, 5, 6)]
    return [_values(5, 8, seed=3, dtype=dtype), *peepholes, _values(8, seed=7, dtype=dtype)]


def _step(dtype=np.float32, batch=2):
    return [
        _values(batch, 3, dtype=dtype),
        *(_values(batch, 2, seed=seed, dtype=dtype) for seed in (1, 2)),
        *_weights(dtype),
    ]


def _sequence(length, steps=3):
    return [np.int64(length), _values(steps, 2, 3), _values(2, 2, seed=1), _values(2, 2, seed=2), *_weights()]


def _gru(batch=2):
    return [
        _values(batch, 3), _values(batch, 2, seed=1), _values(5, 4, seed=2), _values(5, 2, seed=3), _values(4, seed=4),
        _values(2, seed=5),
    ]  # fmt: skip


def _changed(inputs, place, value):
    return [*inputs[:place], value, *inputs[place + 1 :]]


ALL = {"forget_bias": 0.5, "cell_clip": 0.25, "use_peephole": True}
SAMPLES = {
    "LSTMBlockCell": [
        Sample(_step(), {"cell_clip": -1.0}),
        Sample(_step(), {"cell_clip": -1.0, "use_peephole": True}),
        Sample(_step(), ALL, gradient=False),  # its gradient passes the bound
        Sample(_step(np.float16), gradient=False),
        Sample(_step(batch=1), {"cell_clip": 0.0}),
        Sample(_changed(_step(), 3, _values(4, 8)), error=ValueError),
        Sample(_changed(_step(), 7, _values(7)), error=ValueError),
    ],
    "BlockLSTM": [
        Sample(_sequence(3), {"cell_clip": -1.0}),
        Sample(_sequence(2), {"cell_clip": -1.0, "use_peephole": True}),
        Sample(_sequence(3), ALL, gradient=False),
        Sample(_sequence(3), gradient=False),
        Sample(_sequence(1, 1), {"cell_clip": 0.0}),
        Sample(_changed(_sequence(3), 4, _values(5, 7)), error=ValueError),
    ],
    "GRUBlockCell": [
        Sample(_gru()),
        Sample(_gru(1)),
        Sample(_changed(_gru(), 2, _values(5, 3)), error=ValueError),
        Sample(_changed(_gru(), 5, _values(3)), error=ValueError),
    ],
}

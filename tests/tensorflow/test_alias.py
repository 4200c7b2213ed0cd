"""`import tensorflow` that means Headrace: in a process of its own, and by install() and uninstall()."""

import importlib
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import headrace
import headrace.tensorflow as alias
from headrace.tensorflow import names

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}


def _run(tmp_path: Path, program: str, *args: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-W", "error", "-m", "headrace.tensorflow", *before, "program.py", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, env=ENVIRONMENT, cwd=tmp_path)


PROGRAM = """
import sys
import tensorflow as tf
import tensorflow.compat.v1 as tf1
from tensorflow.python.framework import ops
from tensorflow.python.ops import array_ops
import tensorflow.python.platform.gfile as gfile
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.python.client import device_lib
from neighbour import twice

tf.app.flags.DEFINE_integer('n', 1, 'a number')

def main(argv):
    x = tf.placeholder(tf.float32, [None], name='x')
    y = array_ops.identity(tf.nn.relu(twice(x)), name='y')
    assert isinstance(y, ops.Tensor) and tf1.placeholder is tf.placeholder
    assert sys.argv[0] == 'program.py' and __file__ == 'program.py'
    with tf.Session() as sess:
        print(sess.run('y:0', {'x:0': [-1.0, tf.flags.FLAGS.n]}).tolist(), argv[1:])
    print(tf.__version__, tf.__name__, gfile.Exists('program.py'), input_data.read_data_sets.__name__)
    print(device_lib.list_local_devices()[-1].name)
    return 5

if __name__ == '__main__':
    tf.app.run()
"""


def test_a_program_runs_unedited(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("import tensorflow as tf\ndef twice(x):\n    return tf.multiply(2.0, x)\n")
    done = _run(tmp_path, PROGRAM, "--n=3", "more")
    assert done.returncode == 5, done.stderr
    assert done.stdout.splitlines() == [
        "[0.0, 6.0] ['more']",
        "1.15.5 tensorflow True read_data_sets",
        "/device:CPU:0",
    ]


MISSING = {
    "tf.nn.reluu(1.0)": "AttributeError: Headrace has no tf.nn.reluu; nearest: tf.nn.relu",
    "tf.relu(1.0)": "AttributeError: Headrace has no tf.relu; nearest: tf.nn.relu",
    "tf.library": "AttributeError: Headrace has no tf.library",
    "from tensorflow import reduce_meen": "'tensorflow.reduce_meen': Headrace has no tf.reduce_meen; nearest: tf.red",
    "import tensorflow.zork.more": "ModuleNotFoundError: No module named 'tensorflow.zork': Headrace has no tf.zork",
    "from tensorflow.python.ops import zork_ops": "Headrace has no tf.python.ops.zork_ops",
    **{
        f"from tensorflow.contrib.rnn.python.ops.core_rnn_cell import {name}":
        f"Headrace has no tf.contrib.rnn.python.ops.core_rnn_cell.{name}"
        for name in ("_nothing", "NoSuchCell")
    },
}  # fmt: skip


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """All in one process: each start takes seconds."""
    program = f"import traceback\nimport tensorflow as tf\nfor line in {list(MISSING)}:\n"
    program += (
        "    try:\n        exec(line)\n    except Exception:\n        print(traceback.format_exc().splitlines()[-1])\n"
    )
    done = _run(tmp_path, program)
    assert done.returncode == 0, done.stderr
    for said, (line, message) in zip(done.stdout.splitlines(), MISSING.items(), strict=True):
        assert message in said, line


def test_a_missing_name_ends_the_program(tmp_path: Path) -> None:
    done = _run(tmp_path, "import tensorflow as tf\ntf.relu(1.0)\n")
    assert done.returncode == 1
    assert "Headrace has no tf.relu; nearest: tf.nn.relu" in done.stderr


def test_a_program_that_is_not_python_shows_its_line_and_no_frame(tmp_path: Path) -> None:
    done = _run(tmp_path, "import tensorflow as tf\nprint 'a program of 2016'\n")
    assert done.returncode == 1
    assert done.stderr.startswith('  File "') and "line 2\n" in done.stderr and "SyntaxError" in done.stderr, (
        done.stderr
    )
    assert "__main__.py" not in done.stderr


def test_a_module_that_is_not_there_shows_no_frame(tmp_path: Path) -> None:
    done = _run(tmp_path, "", before=("-m", "no_such_module"))
    assert (done.returncode, done.stderr) == (1, "ImportError: No module named no_such_module\n")


def test_usage(tmp_path: Path) -> None:
    done = _run(tmp_path, "", before=("--help",))
    assert (done.returncode, done.stdout[:6]) == (0, "usage:")
    done = _run(tmp_path, "", before=("nothing.py",))
    assert (done.returncode, done.stderr) == (
        2,
        "headrace.tensorflow: cannot open 'nothing.py': No such file or directory\n",
    )


@pytest.fixture
def clean() -> Iterator[None]:
    before = dict(sys.modules)
    yield
    alias.uninstall()
    for name in set(sys.modules) - set(before):
        if name.startswith("tensorflow"):
            del sys.modules[name]
    assert "tensorflow" not in sys.modules or sys.modules["tensorflow"] is before.get("tensorflow")


def test_install_and_uninstall(clean: None) -> None:
    alias.install()
    alias.install()
    assert alias.installed()
    tf = importlib.import_module("tensorflow")
    assert tf.nn.relu is headrace.nn.relu
    assert tf.nn is importlib.import_module("tensorflow.nn")
    assert "relu" in dir(tf.nn) and "library" not in dir(tf)
    assert hasattr(tf, "placeholder") and not hasattr(tf, "no_such_name")
    alias.uninstall()
    assert not alias.installed()
    assert "tensorflow" not in sys.modules and "tensorflow.nn" not in sys.modules


def test_uninstall_leaves_what_others_put_there(clean: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may tell TensorBoard by itself that there is no TensorFlow."""
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
    alias.install()
    alias.uninstall()
    assert "tensorboard.compat.notf" in sys.modules
    monkeypatch.delitem(sys.modules, "tensorboard.compat.notf")
    alias.install()
    assert "tensorboard.compat.notf" in sys.modules
    alias.uninstall()
    assert "tensorboard.compat.notf" not in sys.modules


def test_the_real_one_is_already_there(clean: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    with pytest.raises(ImportError, match=r"already imported.*python -m headrace.tensorflow"):
        alias.install()
    assert not alias.installed()


def test_star_import(clean: None) -> None:
    alias.install()
    scope: dict[str, object] = {}
    exec("from tensorflow.nn import *", scope)
    assert scope["relu"] is headrace.nn.relu


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("", ("",)),
        ("nn", ("nn",)),
        ("compat.v1", ("",)),
        ("compat.v1.nn", ("nn",)),
        ("python", ("",)),
        ("python.ops", ()),
        ("python.ops.math_ops", ("", "math")),
        ("python.ops.nonsense", None),
        ("contrib.layers.python.layers.layers", ("contrib.layers",)),
        ("contrib.learn.python.learn.datasets.mnist", ("examples.tutorials.mnist.input_data",)),
        ("core.framework.summary_pb2", ("", "summary")),
    ],
)
def test_places(module: str, expected: tuple[str, ...] | None) -> None:
    assert names.places(module) == expected


def test_the_packages_behind_contrib(tmp_path: Path) -> None:
    program = """
import tensorflow as tf
from tensorflow.contrib.framework.python.ops import add_arg_scope, audio_ops
from tensorflow.contrib.image.python.ops import distort_image_ops
from tensorflow.contrib.layers.python.layers import batch_norm, initializers, utils
from tensorflow.contrib.resampler import resampler
from tensorflow.contrib.resampler.python.ops import resampler_ops
from tensorflow.contrib.learn.python.learn import learn_runner
from tensorflow.contrib.learn.python.learn.datasets import base
from tensorflow.contrib.learn.python.learn.datasets.mnist import read_data_sets
from tensorflow.contrib.learn.python.learn.estimators import run_config
from tensorflow.python.estimator.inputs import numpy_io
assert learn_runner.run is tf.contrib.learn.learn_runner.run and base.load_csv_with_header
assert run_config.RunConfig is tf.contrib.learn.RunConfig
assert numpy_io.numpy_input_fn is tf.estimator.inputs.numpy_input_fn
assert audio_ops.audio_spectrogram and distort_image_ops.adjust_hsv_in_yiq
assert resampler is tf.contrib.resampler.resampler is resampler_ops.resampler
assert batch_norm is tf.contrib.layers.batch_norm is tf.contrib.layers.python.layers.batch_norm
assert utils.collect_named_outputs and initializers.xavier_initializer
assert add_arg_scope is tf.contrib.framework.python.ops.add_arg_scope
from tensorflow.contrib.slim.nets import resnet_v1, vgg
from tensorflow.contrib.slim.python.slim.nets import inception_v3
from tensorflow.contrib.slim.python.slim import evaluation, learning, queues
from tensorflow.contrib.slim.python.slim.data import dataset, tfexample_decoder
from tensorflow.contrib.slim.python.slim.data.prefetch_queue import prefetch_queue
from tensorflow.contrib.slim.python.slim.learning import train
assert dataset.Dataset is tf.contrib.slim.dataset.Dataset and train is tf.contrib.slim.learning.train is learning.train
assert prefetch_queue is tf.contrib.slim.prefetch_queue.prefetch_queue and evaluation.evaluate_once and tfexample_decoder.Tensor
assert vgg.vgg_16 is tf.contrib.slim.nets.vgg.vgg_16 and inception_v3.inception_v3_base and resnet_v1.resnet_v1_50
"""
    done = _run(tmp_path, program)
    assert done.returncode == 0, done.stderr


def test_private_names_of_recurrent_cells(tmp_path: Path) -> None:
    program = """
import tensorflow as tf
from tensorflow.contrib.rnn.python.ops.core_rnn_cell import _linear
from tensorflow.python.ops.init_ops import Initializer, VarianceScaling
from tensorflow.python.ops.rnn import _transpose_batch_time
from tensorflow.python.ops.rnn_cell_impl import _Linear, LSTMStateTuple
x = tf.ones([2, 3])
with tf.variable_scope("a", initializer=tf.ones_initializer()):
    y = _linear([x, x], 4, True)
with tf.variable_scope("b"):
    z = _Linear(x, 4, True, bias_initializer=tf.ones_initializer(), kernel_initializer=tf.ones_initializer())(x)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run([y[0, 0], z[0, 0]]), _transpose_batch_time(tf.ones([2, 3, 4])).shape)
print([v.name for v in tf.global_variables()])
"""
    done = _run(tmp_path, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[np.float32(6.0), np.float32(4.0)] (3, 2, 4)",
        "['a/kernel:0', 'a/bias:0', 'b/kernel:0', 'b/bias:0']",
    ]


def test_functions_are_inspected_as_python_does(clean: None) -> None:
    alias.install()
    tf_inspect = importlib.import_module("tensorflow.python.util.tf_inspect")
    assert tf_inspect.getargspec(lambda a, b=1, *c, **d: 0) == (["a", "b"], "c", "d", (1,))
    assert tf_inspect.isclass(int) and not tf_inspect.isfunction(int)
    assert tf_inspect.getfullargspec(headrace.nn.relu).args == ["features", "name"]


OLD_TEST = """
import tensorflow as tf
from tensorflow.python.framework import test_util
from tensorflow.python.ops import gen_array_ops, gen_nn_ops
from tensorflow.python.platform import test

class OldTest(test_util.TensorFlowTestCase):
    def testGenerated(self):
        with self.test_session(use_gpu=True):
            self.assertAllEqual(gen_array_ops.reshape([1, 2, 3, 4], [2, 2]).eval(), [[1, 2], [3, 4]])
            self.assertAllEqual(gen_nn_ops.relu_grad([1.0, 2.0], [0.0, 1.0]).eval(), [0.0, 2.0])
            with self.assertRaisesRegexp(ValueError, "must be rank 1"):
                gen_array_ops.reshape([1, 2], [[2]])

    def testFails(self):
        self.assertEqual(1, 2)

if __name__ == "__main__":
    test.main()
"""


def test_pytest_runs_an_old_test(tmp_path: Path) -> None:
    (tmp_path / "old_test.py").write_text(OLD_TEST)
    command = [
        sys.executable,
        "-m",
        "headrace.tensorflow",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "old_test.py",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=ENVIRONMENT, cwd=tmp_path)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "testFails" in done.stdout


def test_code_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("import tensorflow as tf\nTHREE = tf.constant(3)\n")
    code = "import sys, tensorflow as tf, neighbour; print(tf.Session().run(neighbour.THREE), sys.argv, __name__)"
    command = [sys.executable, "-m", "headrace.tensorflow", "-c", code, "--n=3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=ENVIRONMENT, cwd=tmp_path)
    assert done.stdout == "3 ['-c', '--n=3'] __main__\n", done.stderr


@pytest.mark.parametrize("argv", [[], ["-m"], ["-c"]])
def test_nothing_to_run(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    from headrace.tensorflow.__main__ import main

    assert main(argv) == 2 and "usage:" in capsys.readouterr().err


def test_every_module_of_the_table_is_there() -> None:
    from headrace.tensorflow.finder import targets

    missing = [
        module for module in names.MODULES if module != "python.keras" and targets(f"tensorflow.{module}") is None
    ]
    absent = [f"{m}: {place}" for m, where in names.MODULES.items() for place in where if place and _absent(place)]
    assert not missing and not absent, (missing, absent)


def _absent(place: str) -> bool:
    from headrace.tensorflow.finder import target

    return place not in ("keras", "data") and target(place) is None


def test_old_decorators() -> None:
    from headrace.library.system import decorators

    @decorators.tf_export("old.name")
    @decorators.deprecated("2016-11-30", "Use another.")
    def old(x: int) -> int:
        """Doc."""
        return x + 1

    @decorators.deprecated_args(None, "Leave it out.", "y")
    def other(x: int, y: int = 0) -> int:
        return x + y

    assert old(1) == 2 and old.__doc__ == "Doc." and other(1, y=2) == 3
    assert decorators.unwrap(old)[1].__name__ == "old"


PRIVATE = {
    "python.ops.rnn_cell_impl": "_zero_state_tensors",
    "python.ops.variables": "PartitionedVariable",
    "python.ops.variable_scope": "_pure_variable_scope",
    "python.framework.ops": "register_proto_function get_to_proto_function prepend_name_scope strip_name_scope",
    "python.ops.control_flow_ops": "switch merge ControlFlowContext cond with_dependencies",
    "core.framework.variable_pb2": "VariableDef",
    "core.protobuf.rewriter_config_pb2": "RewriterConfig",
    "python.ops.resource_variable_ops": "_from_proto_fn _to_proto_fn",
    "python.ops.io_ops": "restore_v2 save_v2",
    "python.ops.init_ops": "_assert_float_dtype",
    "python.tools.freeze_graph": "freeze_graph freeze_graph_with_def_protos",
    "python.ops.summary_ops_v2": "scalar create_file_writer",
    "python.data.ops": "dataset_ops",
    "python.util.function_utils": "fn_args has_kwargs get_func_name",
    "python.estimator.util": "fn_args parse_input_fn_result",
    "python.estimator.model_fn": "LOSS_METRIC_KEY",
    "python.estimator.estimator": "_verify_model_fn_args Estimator",
    "python.training.evaluation": "_StopAfterNEvalsHook _get_or_create_eval_step",
    "python.training.device_setter": "_RoundRobinStrategy",
    "python.pywrap_tensorflow": "EventsWriter",
    "contrib.tfprof": "model_analyzer",
}


def test_private_names_of_old_libraries(clean: None) -> None:
    alias.install()
    for module, wanted in PRIVATE.items():
        for name in wanted.split():
            assert getattr(importlib.import_module(f"tensorflow.{module}"), name) is not None, (module, name)


def test_what_private_names_do(clean: None) -> None:
    alias.install()
    ops = importlib.import_module("tensorflow.python.framework.ops")
    named = ["a", "^a/b", "loc:@x/y:0"]
    inside = [ops.prepend_name_scope(name, "s") for name in named]
    assert inside == ["s/a", "^s/a/b", "loc:@s/x/y:0"] and ops.prepend_name_scope("a", None) == "a"
    assert [ops.strip_name_scope(name, "s") for name in inside] == named
    assert [ops.strip_name_scope(name, scope) for name, scope in (("t/s/a", "s"), ("sx/a", "s"), ("a", ""))] == [
        "t/s/a", "sx/a", "a",
    ]  # fmt: skip
    tf = importlib.import_module("tensorflow")
    with tf.python.ops.variable_scope._pure_variable_scope("outer", initializer=tf.ones_initializer()) as scope:
        assert scope.name == "outer" and tf.constant(1, name="c").op.name == "c"
        assert tf.get_variable("v", [1]).op.name == "outer/v"
    zeros = tf.python.ops.rnn_cell_impl._zero_state_tensors((2, tf.TensorShape([3])), 4, tf.float32)
    assert [z.shape.as_list() for z in zeros] == [[4, 2], [4, 3]]
    float_dtype = tf.python.ops.init_ops._assert_float_dtype
    assert float_dtype(tf.float16) == tf.float16
    with pytest.raises(ValueError, match="Expected floating point type, got int32"):
        float_dtype(tf.int32)
    util = importlib.import_module("tensorflow.python.estimator.util")
    features, labels, hooks = util.parse_input_fn_result(tf.data.Dataset.from_tensors((1, 2)))
    assert features.dtype == labels.dtype == tf.int32 and len(hooks) == 1
    assert util.parse_input_fn_result({"x": 1}) == ({"x": 1}, None, [])
    with pytest.raises(ValueError, match="len 2 tuple"):
        util.parse_iterator_result((1, 2, 3))
    round_robin = tf.python.training.device_setter._RoundRobinStrategy(2)
    assert [round_robin(None) for _ in range(3)] == [0, 1, 0]


def test_freeze_graph_is_a_program(
    clean: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from headrace.tensorflow.__main__ import main

    monkeypatch.setattr(sys, "argv", list(sys.argv))
    with pytest.raises(SystemExit) as end, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that another test has imported the program
        main(["-m", "tensorflow.python.tools.freeze_graph", "--input_checkpoint=none"])
    assert end.value.code == 1
    assert "freeze_graph: Input checkpoint 'none' doesn't exist!" in capsys.readouterr().err


ONCE_MISSING = Path(__file__).with_name("once_missing.txt").read_text().split()


def test_names_that_public_programs_use_and_once_missed(clean: None) -> None:
    alias.install()
    missing = []
    for name in ONCE_MISSING:
        found, walked = importlib.import_module("tensorflow"), "tensorflow"
        for part in name.split(".")[1:]:
            walked = f"{walked}.{part}"
            try:
                found = getattr(found, part)
            except AttributeError:
                try:
                    found = importlib.import_module(walked)
                except ImportError as error:
                    missing.append(f"{name}: {error}")
                    break
    assert len(ONCE_MISSING) == 90 and not missing


def test_names_from_before_1_0_are_those_of_today(clean: None) -> None:
    alias.install()
    tf = importlib.import_module("tensorflow")
    assert tf.Supervisor is tf.train.Supervisor and tf.concat_v2 is tf.concat and tf.batch_svd is tf.svd
    assert tf.InvalidArgumentError is tf.errors.InvalidArgumentError and tf.nn.deconv2d is tf.nn.conv2d_transpose
    assert issubclass(tf.errors.NotFoundError, tf.gfile.FileError) and tf.google.constant is tf.constant

    @tf.RegisterShape("Mine")
    def shape(op: object) -> object:
        return op

    assert shape(3) == 3
    ops = importlib.import_module("tensorflow.python.estimator.model_fn")
    assert ops._TPUEstimatorSpec is tf.contrib.tpu.TPUEstimatorSpec

"""What `import headrace` costs besides torch: nothing on the screen, none of the extras."""

import json
import subprocess
import sys

import pytest

EXTRAS = {
    "PIL",
    "absl",
    "fsspec",
    "google",
    "google_crc32c",
    "matplotlib",
    "msgspec",
    "ray",
    "rich",
    "safetensors",
    "tensorboard",
    "tqdm",
    "typer",
    "zmq",
}
NEVER = {"scipy", "tensorflow"}


def _run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=100)


def test_it_prints_nothing() -> None:
    done = _run("import headrace")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_imports_no_extra() -> None:
    beyond = "import sys, torch; before = set(sys.modules); import headrace; new = set(sys.modules) - before"
    done = _run(f"{beyond}; import json; print(json.dumps(sorted(new)))")
    assert done.returncode == 0, done.stderr
    packages = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert packages & (EXTRAS | NEVER) == set()


def test_submodules_are_imported_when_first_asked_for() -> None:
    rooms = "[name for name in sys.modules if name.startswith(('headrace.library.layers', 'headrace.nn'))]"
    done = _run(f"import sys, headrace as tf; assert not {rooms}; tf.layers.dense, tf.nn.relu; assert {rooms}")
    assert done.returncode == 0, done.stderr


def test_a_star_brings_the_submodules_but_no_extra() -> None:
    uses = "placeholder, nn.relu, layers.dense, image.resize_images, contrib.layers"
    done = _run(f"from headrace import *; {uses}; import sys; assert 'tensorboard' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_resource_variables_need_no_other_import() -> None:
    done = _run("import headrace as tf; print(tf.get_variable('v', [2], use_resource=True).op.type)")
    assert (done.stdout, done.stderr) == ("VarHandleOp\n", "")


@pytest.mark.parametrize("module", ["headrace.models.digits", "headrace.tools.demo"])
def test_programs_import_quietly(module: str) -> None:
    done = _run(f"import {module}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_gradient_through_a_kernel_does_not_import_the_compiler() -> None:
    """Ops without a gradient rule are differentiated by torch; importing its compiler would take seconds."""
    program = (
        "import sys, headrace as tf; x = tf.constant([[2.0, 1.0], [1.0, 3.0]]);"
        " g = tf.gradients(tf.cholesky(x), x)[0]; h = tf.gradients(g, x)[0];"
        " print(tf.Session().run([g, h])[0].round(3).tolist(), 'torch._dynamo' in sys.modules)"
    )
    done = _run(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("]] ")[1] == "False\n"


def test_eager_is_the_package_and_nothing_else() -> None:
    code = "import sys, headrace, headrace.eager as package; assert package is headrace.eager is sys.modules['headrace.eager']"
    subprocess.run([sys.executable, "-c", code], check=True)

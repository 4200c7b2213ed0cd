"""TensorFlow's program ``freeze_graph``: a graph and a checkpoint, or a SavedModel, as one file without variables.

    python -m headrace.tools.freeze_graph --input_graph=graph.pbtxt --input_checkpoint=model.ckpt-7 \\
        --output_node_names=softmax --output_graph=frozen.pb
    python -m headrace.tensorflow -m tensorflow.python.tools.freeze_graph ...    the same
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from headrace.library.saved_model.freeze import freeze_graph, freeze_graph_with_def_protos

__all__ = ["freeze_graph", "freeze_graph_with_def_protos", "main"]

_TEXTS = {
    "input_graph": ("", "The file of the GraphDef."),
    "input_saver": ("", "The file of the SaverDef; without one, variables are restored by their names."),
    "input_checkpoint": ("", "The prefix of the checkpoint."),
    "output_graph": ("", "The file to write."),
    "output_node_names": ("", "The names of the outputs, with commas between them."),
    "restore_op_name": ("save/restore_all", "Not used."),
    "filename_tensor_name": ("save/Const:0", "Not used."),
    "initializer_nodes": ("", "Names of nodes to run before the values are taken, with commas between them."),
    "variable_names_whitelist": ("", "The names of the only variables to replace, with commas between them."),
    "variable_names_blacklist": ("", "The names of variables to keep, with commas between them."),
    "input_meta_graph": ("", "The file of a MetaGraphDef, in the place of --input_graph."),
    "input_saved_model_dir": ("", "The folder of a SavedModel."),
    "saved_model_tags": ("serve", "The tags of the graph in the SavedModel, with commas between them."),
}


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"expected true or false, got {text!r}")
    return text.lower() in ("true", "1")


def main(argv: Sequence[str] | None = None) -> int:
    """Freezes the graph that the arguments name; 0, or 1 with a line that says why not."""
    parser = argparse.ArgumentParser(prog="freeze_graph", description=str(__doc__).partition("\n")[0])
    for name, (default, text) in _TEXTS.items():
        parser.add_argument(f"--{name}", default=default, help=text)
    for name, truth, text in (
        ("input_binary", False, "Whether the input files are in binary form."),
        ("clear_devices", True, "Whether nodes forget their devices."),
    ):
        parser.add_argument(f"--{name}", nargs="?", const=True, type=_truth, default=truth, help=text)
    parser.add_argument("--checkpoint_version", type=int, default=2, help="Not used: both versions are read.")
    options = parser.parse_args(argv)
    try:
        frozen = freeze_graph(**vars(options))
    except (OSError, ValueError, AssertionError) as error:
        print(f"freeze_graph: {error}", file=sys.stderr)
        return 1
    print(f"{len(frozen.node)} ops in the final graph.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

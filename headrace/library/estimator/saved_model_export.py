"""From a trained model to a SavedModel: its signatures, and a folder that appears when it is whole."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from headrace.client.session import Session
from headrace.core import file
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library import log
from headrace.library.compat import as_str_any
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.estimator.serving_input import ServingInputReceiver, TensorServingInputReceiver
from headrace.library.saved_model.builder import SavedModelBuilder
from headrace.library.saved_model.signature import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from headrace.library.saved_model.tag import SERVING
from headrace.library.train.saver.saver import Saver
from headrace.library.train.session.scaffold import Scaffold

_RECEIVERS = (ServingInputReceiver, TensorServingInputReceiver)


def checked_receiver(receiver: Any) -> ServingInputReceiver | TensorServingInputReceiver:
    """What a serving_input_receiver_fn must return."""
    if not isinstance(receiver, _RECEIVERS):
        raise ValueError(
            "serving_input_receiver_fn must return a tf.estimator.export.ServingInputReceiver or TensorServingInputReceiver, got "
            f"{receiver!r} {at()}"
        )
    return receiver


def export(
    spec: EstimatorSpec, receiver: Any, checkpoint_path: str, export_dir_base: Any, assets_extra: Any, as_text: bool,
    strip_default_attrs: bool, session_config: Any,
) -> bytes:  # fmt: skip
    """Writes the default graph, with the variables of a checkpoint, below ``export_dir_base``; returns the folder."""
    signatures = _signatures(spec, receiver)
    graph = context.get_default_graph()
    target = _new_folder(as_str_any(os.fspath(export_dir_base)))
    # Programs that watch the folder must not see half a model.  A remote store has no folders to rename.
    parent, _, name = target.rpartition("/")
    folder = target if file.is_remote(target) else f"{parent}/temp-{name}"
    saver = spec.scaffold.saver or Saver(sharded=True)
    local_init = spec.scaffold.local_init_op
    if local_init is None:
        local_init = Scaffold.default_local_init_op()
    with Session(config=session_config, graph=graph) as session:
        saver.restore(session, checkpoint_path)
        builder = SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(
            session, [SERVING], signatures, assets_collection=graph.get_collection(GraphKeys.ASSET_FILEPATHS),
            main_op=local_init, saver=saver, strip_default_attrs=strip_default_attrs,
        )  # fmt: skip
    _copy_extra(assets_extra or {}, f"{folder}/assets.extra")
    builder.save(as_text)
    if folder != target:
        file.replace(folder, target)
    return target.encode()


def _signatures(spec: EstimatorSpec, receiver: Any) -> dict[str, Any]:
    """A signature for every output that can be asked with what is received; the others are named in the log."""
    inputs = {"": receiver.receiver_tensors}
    for name, tensors in (receiver.receiver_tensors_alternatives or {}).items():
        inputs[name] = tensors
    signatures, refused = {}, {}
    for input_name, tensors in inputs.items():
        for output_name, output in spec.export_outputs.items():
            name = _signature_name(input_name, output_name)
            try:
                signatures[name] = output.as_signature_def(tensors)
            except ValueError as e:
                refused[name] = str(e)
    for name, why in sorted(refused.items()):
        log.info("Signature %r is not exported: %s", name, why)
    if DEFAULT_SERVING_SIGNATURE_DEF_KEY not in signatures:
        log.warning(
            "Export includes no default signature! Exported are %s; %s", sorted(signatures),
            refused.get(DEFAULT_SERVING_SIGNATURE_DEF_KEY, "no output is the default one"),
        )  # fmt: skip
    return signatures


def _signature_name(input_name: str, output_name: str) -> str:
    if not input_name:
        return output_name
    return input_name if output_name == DEFAULT_SERVING_SIGNATURE_DEF_KEY else f"{input_name}:{output_name}"


def _new_folder(base: str) -> str:
    """A folder named by the time in seconds, or by one more than the newest there: a later export has a larger name."""
    base = base.rstrip("/")
    names = [path.rpartition("/")[2].removeprefix("temp-") for path in file.beginning_with(f"{base}/")]
    newest = max((int(name) for name in names if name.isdigit()), default=0)
    return f"{base}/{max(int(time.time()), newest + 1)}"


def _copy_extra(assets: Mapping[str, Any], folder: str) -> None:
    """Copies the user's files, by the path that they are to have below the folder."""
    for name, source in assets.items():
        path = f"{folder}/{name}"
        file.make_folder(path.rpartition("/")[0])
        with file.open_to_read(as_str_any(os.fspath(source))) as stream:
            file.write_durably(path, stream.read())

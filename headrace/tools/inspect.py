"""``headrace inspect``: what is in a checkpoint, a SavedModel, a graph, an event file or a file of records.

    headrace inspect model/            or   python -m headrace.tools.inspect model/ckpt-1000

What a file is follows from what is in it, not from its name.  Nothing in it is run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import headrace as tf
from headrace.core.table import Table, in_words
from headrace.library.saved_model.layout import SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT
from headrace.library.saved_model.loader import parse_saved_model
from headrace.resources.file.bundle.opening import open_checkpoint
from headrace.tools.curve_picture import picture
from headrace.tools.said import said

LINE: Final = "▁▂▃▄▅▆▇█"
POINTS: Final = 40  # of a curve
FEATURES: Final = 100  # records that are looked at for the features of their examples

# "what", numbers about the whole, "rows": a list of dicts with the same keys, and "damage" where a part cannot be read
Report = dict[str, Any]


class Unknown(ValueError):
    """Not a file that this knows."""


def show(path: str, as_json: bool = False, limit: int = 50, png: str | None = None) -> int:
    """Prints what is at a path; ``limit``: rows, 0 for all.  Returns 0, or 2 if not all of it can be read.

    ``png``: where a picture of an event file's scalars goes.
    """
    try:
        report = examine(path)
        if png is not None:
            _draw(path, png)
    except (Unknown, ImportError, OSError, tf.errors.OpError) as e:
        print(f"headrace inspect: {said(e)}", file=sys.stderr)
        return 2
    if as_json:
        print(json.dumps(report, indent=1))
        return 2 if "damage" in report else 0
    rows, damage = report.pop("rows"), report.pop("damage", None)
    title = ", ".join(f"{name} {value}" if name != "what" else str(value) for name, value in report.items())
    print(Table(title, rows[: limit or None]))
    if limit and len(rows) > limit:
        print(f"... and {len(rows) - limit} more: --limit 0 shows all")
    if damage is not None:
        print(f"headrace inspect: {damage}", file=sys.stderr)
        return 2
    return 0


def examine(path: str) -> Report:
    """What is at a path."""
    if os.path.isdir(path):
        return _examine_folder(path)
    if os.path.exists(f"{path}.index"):
        return _checkpoint(path)
    if not os.path.exists(path):
        raise Unknown(f"{path!r}: there is no such file or folder, and no checkpoint {path}.index")
    if not os.path.isfile(path):
        raise Unknown(f"{path!r} is neither a file nor a folder")  # reading a pipe or a device may never end
    if path.endswith(".index"):
        return _checkpoint(path.removesuffix(".index"))
    for examine_file in (_events, _records, _graph):
        report = examine_file(path)
        if report is not None:
            return report
    raise Unknown(
        f"{path} is none of: a checkpoint, a SavedModel, a GraphDef or MetaGraphDef, an event file, a TFRecord file"
    )


def holds_saved_model(path: str) -> bool:
    """Whether a folder is a SavedModel."""
    models = (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT)
    return any(os.path.exists(os.path.join(path, name)) for name in models)


def _examine_folder(path: str) -> Report:
    if holds_saved_model(path):
        return _saved_model(path)
    newest = tf.train.latest_checkpoint(path)
    if newest is not None:
        return _checkpoint(newest)
    events = _newest_events(path)
    if events is not None:
        return examine(events)
    raise Unknown(f"{path} holds no SavedModel, no file `checkpoint` and no event file")


def _newest_events(folder: str) -> str | None:
    names = sorted(name for name in os.listdir(folder) if "tfevents" in name)
    return os.path.join(folder, names[-1]) if names else None


def _draw(path: str, png: str) -> None:
    """Writes the curves of an event file, or of the newest one of a folder, as a picture."""
    events = _newest_events(path) if os.path.isdir(path) else path
    curves = {}
    if events is not None and os.path.isfile(events) and _begins_with_an_event(events):
        seen, _ = _points(events)
        curves = {tag: [(step, n) for step, n in points if n is not None] for tag, points in seen.items()}
    curves = {tag: points for tag, points in curves.items() if points}
    if not curves:
        raise Unknown(f"--png draws the scalars of an event file, and {path} has none")
    picture(curves).save(png, "PNG")


def _checkpoint(prefix: str) -> Report:
    reader = tf.train.load_checkpoint(prefix)
    types = reader.get_variable_to_dtype_map()
    rows: list[dict[str, Any]] = []
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        dtype = types[name]
        count = math.prod(shape)
        size = int(count * max(dtype.size, 0)) if dtype != tf.string else 0
        rows.append({"variable": name, "dtype": dtype.name, "shape": list(shape), "count": count, "bytes": size})
    numbers, total = (sum(row[column] for row in rows) for column in ("count", "bytes"))
    return {
        "what": f"checkpoint {prefix}", "variables": len(rows), "numbers": numbers, "size": in_words(total), "rows": rows,
        **_damage(prefix),
    }  # fmt: skip


def _damage(prefix: str) -> Mapping[str, str]:
    """What a save or a copy that was cut short leaves: data files that are missing or too short.  No value is read."""
    try:
        with open_checkpoint(prefix) as checkpoint:
            checkpoint.check_files()
    except tf.errors.OpError as e:
        return {"damage": e.message}
    return {}


def _saved_model(path: str) -> Report:
    message = parse_saved_model(path)
    rows = []
    for meta_graph in message.meta_graphs:
        tags = " ".join(meta_graph.meta_info_def.tags)
        for name, signature in sorted(meta_graph.signature_def.items()):
            for way, tensors in (("takes", signature.inputs), ("gives", signature.outputs)):
                rows += [
                    {"tags": tags, "signature": name, "": way, "name": key, **_tensor(info)}
                    for key, info in sorted(tensors.items())
                ]
    nodes = sum(len(meta_graph.graph_def.node) for meta_graph in message.meta_graphs)
    return {"what": f"SavedModel {path}", "graphs": len(message.meta_graphs), "nodes": nodes, "rows": rows}


def _tensor(info: Any) -> Mapping[str, Any]:
    shape = None if info.tensor_shape.unknown_rank else [dim.size for dim in info.tensor_shape.dim]
    return {"dtype": tf.as_dtype(info.dtype).name, "shape": shape, "tensor": info.name}


def _graph(path: str) -> Report | None:
    found = read_graph(path)
    if found is None:
        return None
    form, graph = found
    ops = Counter(node.op for node in graph.node)
    rows = [{"op": name, "nodes": count} for name, count in ops.most_common()]
    devices = len({node.device for node in graph.node})
    return {"what": f"{form} {path}", "nodes": len(graph.node), "devices": devices, "rows": rows}


def read_graph(path: str) -> tuple[str, Any] | None:
    """The form of a graph in a file, GraphDef or MetaGraphDef, and its GraphDef; None if it is neither."""
    with open(path, "rb") as file:
        data = file.read()
    for form, make in (("MetaGraphDef", tf.MetaGraphDef), ("GraphDef", tf.GraphDef)):
        graph = _parsed(make(), data)
        graph = graph.graph_def if graph is not None and form == "MetaGraphDef" else graph
        if graph is not None and graph.node and all(bool(node.op) for node in graph.node):
            return form, graph
    return None


def _parsed(message: Any, data: bytes) -> Any:
    """The message in binary or as text; None if the data is neither."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(data)
        return message
    except DecodeError:
        pass
    try:
        return text_format.Parse(data.decode(), type(message)())
    except (UnicodeDecodeError, text_format.ParseError):
        return None


def _events(path: str) -> Report | None:
    """Scalars with their curves; of other summaries how many there are."""
    if not _begins_with_an_event(path):
        return None
    seen, damage = _points(path)
    rows = []
    for tag, points in sorted(seen.items()):
        numbers = [number for _, number in points if number is not None]
        last = f"{numbers[-1]:.6g}" if numbers else ""
        rows.append(
            {"tag": tag, "times": len(points), "last step": points[-1][0], "last": last, "curve": curve(numbers)}
        )
    return {"what": f"event file {path}", "tags": len(rows), "rows": rows, **damage}


def _points(path: str) -> tuple[dict[str, list[tuple[int, float | None]]], dict[str, str]]:
    """By tag the steps and numbers of an event file, and "damage" where it ends in the middle."""
    seen: dict[str, list[tuple[int, float | None]]] = {}
    damage = {}
    try:
        for event in tf.train.summary_iterator(path):
            for value in event.summary.value:
                number = value.simple_value if value.WhichOneof("value") == "simple_value" else _number(value)
                seen.setdefault(value.tag, []).append((event.step, number))
    except tf.errors.DataLossError as e:  # of a job that was killed, or that writes just now
        damage = {"damage": e.message}
    return seen, damage


def _begins_with_an_event(path: str) -> bool:
    records: Any = tf.python_io.tf_record_iterator(path)
    try:
        first = next(records, None)
    except tf.errors.DataLossError:
        return False
    finally:
        records.close()
    event = None if first is None else _parsed(tf.Event(), first)
    return event is not None and str(event.file_version).startswith("brain.Event")


def _number(value: Any) -> float | None:
    """The scalar in a tensor of a summary, which TensorFlow 2 writes."""
    tensor = value.tensor
    if value.WhichOneof("value") != "tensor" or tensor.tensor_shape.dim:
        return None
    return float(tf.contrib.util.make_ndarray(tensor)) if tensor.dtype in (1, 2) else None


def curve(numbers: Sequence[float]) -> str:
    """Numbers as a line of blocks; one that is not finite is a question mark."""
    if len(numbers) > POINTS:
        numbers = [numbers[i * len(numbers) // POINTS] for i in range(POINTS)]
    finite = [n for n in numbers if abs(n) < float("inf")]
    if not finite:
        return "?" * len(numbers)
    low, high = min(finite), max(finite)
    scale = (len(LINE) - 1) / (high - low) if high > low else 0.0
    return "".join(LINE[round((n - low) * scale)] if abs(n) < float("inf") else "?" for n in numbers)


def _records(path: str) -> Report | None:
    sizes: list[int] = []
    features: dict[tuple[str, str], list[int]] = {}  # how many values it has in each record
    try:
        records: Iterator[bytes] = iter(tf.python_io.tf_record_iterator(path))
        for record in islice(records, FEATURES):
            sizes.append(len(record))
            for name, values, count in _features(record):
                features.setdefault((name, values), []).append(count)
        sizes += [len(record) for record in records]
    except tf.errors.DataLossError:
        if not sizes:
            return None
        raise
    if not sizes:
        return None
    rows = [
        {
            "feature": name,
            "type": values,
            "values": f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else counts[0],
            f"of {min(len(sizes), FEATURES)} records": len(counts),
        }
        for (name, values), counts in sorted(features.items())
    ]
    return {"what": f"TFRecord file {path}", "records": len(sizes), "size": in_words(sum(sizes)), "rows": rows}


def _features(record: bytes) -> Iterator[tuple[str, str, int]]:
    example = _parsed(tf.train.Example(), record)
    if example is None:
        return
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind") or "none"
        yield name, kind.removesuffix("_list"), len(getattr(feature, kind).value) if kind != "none" else 0


def main(argv: Sequence[str]) -> int:
    """The command without typer."""
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.inspect", description=__doc__.partition("\n")[0])
    parser.add_argument("path")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--limit", type=int, default=50, help="rows to show; 0: all (default: %(default)s)")
    parser.add_argument("--png", help="where a picture of an event file's scalars goes")
    options = parser.parse_args(argv)
    return show(options.path, options.json, options.limit, options.png)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Assets: files that a graph reads, vocabularies say, which are copied into the SavedModel and read from there when it is loaded.

A graph names such a file by a constant.  The SavedModel says which constants those are; they are fed with the path of the copy
while the main op runs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import Any, Final

from headrace.core import dtypes, errors, file
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.operation import Tensor
from headrace.library.compat import as_str_any
from headrace.library.saved_model import layout

_TYPE_URL: Final = "type.googleapis.com/tensorflow.AssetFileDef"
_CHUNK: Final = 1 << 20  # bytes that are compared together


class AssetFiles:
    """The assets of one SavedModel while it is built: the name of each in the folder, and where it comes from."""

    def __init__(self, export_dir: str) -> None:
        self._folder = layout.assets_path(export_dir)
        self._sources: dict[str, str] = {}
        self._copied: set[str] = set()

    def add(self, tensors: Iterable[Any] | None) -> None:
        """Adds the assets to the collection of the default graph, and copies the files that are not there yet."""
        for tensor in tensors or ():
            source = _path_of(tensor)
            if not file.exists(source):
                raise errors.NotFoundError(
                    None, None, f"The asset {source!r}, which {tensor.name} names, does not exist {at()}"
                )
            name = self._name_for(source)
            self._sources[name] = source
            _add_to_collection(name, tensor)
        for name, source in self._sources.items():
            if name not in self._copied:
                file.make_folder(self._folder)
                _copy_durably(source, f"{self._folder}/{name}")
                self._copied.add(name)

    def _name_for(self, source: str) -> str:
        """The file's own name, with a number after it if another file, with other contents, has it already."""
        base = os.path.basename(source)
        name, count = base, 0
        while name in self._sources and not _same_contents(source, self._sources[name]):
            count += 1
            name = f"{base}_{count}"
        return name


def _path_of(tensor: Any) -> str:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"An asset must be a Tensor that holds the path of a file; got {tensor!r} {at()}")
    if tensor.op.type != "Const" or tensor.dtype != dtypes.string or tensor.op.attrs["value"].size != 1:
        raise TypeError(
            f"An asset must be a constant that holds one string, the path of a file; {tensor.name} is a {tensor.op.type} of "
            f"{tensor.dtype.name} and shape {tensor.shape} {at()}"
        )
    path = as_str_any(tensor.op.attrs["value"].reshape(-1)[0])
    if not path:
        raise ValueError(f"The path of the asset {tensor.name} is empty {at()}")
    return path


def _same_contents(one: str, other: str) -> bool:
    if one == other:
        return True
    with file.open_to_read(one) as first, file.open_to_read(other) as second:
        while True:
            data = first.read(_CHUNK)
            if data != second.read(_CHUNK):
                return False
            if not data:
                return True


def _copy_durably(source: str, path: str) -> None:
    with file.open_to_read(source) as original, file.open_file(path, "wb") as copy:
        shutil.copyfileobj(original, copy)
        file.sync(copy)
    file.sync_folder(path)


def _add_to_collection(name: str, tensor: Tensor) -> None:
    from google.protobuf import any_pb2

    asset = protos().AssetFileDef(filename=name)
    asset.tensor_info.name = tensor.name
    message = any_pb2.Any(type_url=_TYPE_URL, value=asset.SerializeToString(deterministic=True))
    graph = context.get_default_graph()
    if message not in graph.get_collection(layout.ASSETS_KEY):  # a graph may be saved twice
        graph.add_to_collection(layout.ASSETS_KEY, message)


# ---- loading


def asset_paths(export_dir: str, meta_graph: Any, import_scope: str | None = None) -> dict[str, str]:
    """The paths of the assets by the names of the tensors that are fed with them.  All of the files are there."""
    assets = list(meta_graph.asset_file_def)
    if not assets:
        values = meta_graph.collection_def[layout.ASSETS_KEY].any_list.value if _has_assets(meta_graph) else ()
        assets = [protos().AssetFileDef.FromString(value.value) for value in values]
    prefix = f"{import_scope}/" if import_scope else ""
    folder = layout.assets_path(export_dir)
    for asset in assets:
        _check_inside(asset.filename, export_dir)
    paths = {f"{prefix}{asset.tensor_info.name}": f"{folder}/{asset.filename}" for asset in assets}
    missing = sorted({path for path in paths.values() if not file.exists(path)})
    if missing:
        raise errors.NotFoundError(
            None, None, f"The SavedModel {export_dir} lacks files that its graph reads: {', '.join(missing)} {at()}"
        )
    return paths


def _check_inside(name: str, export_dir: str) -> None:
    """Refuses a name that leads out of the folder of assets: the graph would read a file that is not the model's."""
    if not name or "\0" in name or name.startswith("/") or ".." in name.split("/"):
        raise errors.InvalidArgumentError(
            None, None,
            f"The SavedModel {export_dir} names the asset {name!r}; accepted are names of files in its folder of assets {at()}",
        )  # fmt: skip


def _has_assets(meta_graph: Any) -> bool:
    return layout.ASSETS_KEY in meta_graph.collection_def

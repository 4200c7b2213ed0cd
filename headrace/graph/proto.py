"""The door to the protocol buffers of TensorFlow (GraphDef and its kin), which TensorBoard ships: imported when first needed."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

_loaded: list[Any] = []


def protos() -> Any:
    """The message classes, as attributes."""
    if not _loaded:
        try:
            from tensorboard.compat.proto import (
                attr_value_pb2,
                function_pb2,
                graph_pb2,
                node_def_pb2,
                op_def_pb2,
                tensor_pb2,
                tensor_shape_pb2,
                versions_pb2,
            )  # fmt: skip
        except ImportError as e:
            raise ImportError(
                "GraphDef and the other graph messages need TensorBoard, which defines them: pip install 'headrace[summary]'"
            ) from e
        modules: list[ModuleType] = [
            attr_value_pb2, function_pb2, graph_pb2, node_def_pb2, op_def_pb2, tensor_pb2, tensor_shape_pb2, versions_pb2,
        ]  # fmt: skip
        found: dict[str, Any] = {}
        for module in modules:
            found.update({name: getattr(module, name) for name in module.DESCRIPTOR.message_types_by_name})
        _loaded.append(SimpleNamespace(**found))
    return _loaded[0]


def message(name: str) -> Any:
    """The message class of this name: for modules that offer it on demand."""
    return getattr(protos(), name)


class _Lazy(type):
    """A class that stands for a message until somebody needs it."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return message(cls.__name__)(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, message(cls.__name__))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(message(cls.__name__), name)


class GraphDef(metaclass=_Lazy):
    """A graph as a protocol buffer: ``node``, ``library``, ``versions``; ``SerializeToString`` and ``ParseFromString``."""


class NodeDef(metaclass=_Lazy):
    """A node of a GraphDef: ``name``, ``op``, ``input``, ``device``, ``attr``."""


class AttrValue(metaclass=_Lazy):
    """The value of an attribute of a NodeDef."""


class NameAttrList(metaclass=_Lazy):
    """A function by name, with attributes: what an AttrValue's ``func`` holds."""

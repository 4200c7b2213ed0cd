"""Clusters on Ray: it chooses the node of each task, starts the task there and watches it.

Ray carries commands, keys and lines of output.  Tensors go over the cluster's own transport and never through Ray.  This is the
only folder that imports ray; ``headrace.cluster.ray`` and ``headrace launch`` are its doors.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headrace.cluster.transport import need_libraries

if TYPE_CHECKING:
    from headrace.cluster.ray_engine.cluster import RayCluster


def start(**options: Any) -> RayCluster:
    """A new cluster.  ``options``: those of ``headrace.cluster.ray``."""
    need_libraries()
    try:
        import ray
    except ImportError:
        raise ImportError("clusters on Ray need ray: pip install 'headrace[cluster]'") from None
    if find_spec("ray._private.authentication") is None:
        raise ImportError(
            f"ray {ray.__version__} asks nobody for a token; 2.52 or newer is needed: pip install 'headrace[cluster]'"
        )
    from headrace.cluster.ray_engine.cluster import RayCluster
    from headrace.cluster.ray_engine.options import Options

    return RayCluster(Options(**options))

"""Clusters on Ray: it chooses the node of each task, starts the task there and watches it.

Ray carries commands, keys and lines of output.  Tensors go over the cluster's own transport and never through Ray.  This is the
only folder that imports ray; ``headrace.cluster.ray`` and ``headrace launch`` are its doors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cluster.transport import need_libraries

if TYPE_CHECKING:
    from headrace.cluster.ray_engine.cluster import RayCluster


def start(**options: Any) -> RayCluster:
    """A new cluster.  ``options``: those of ``headrace.cluster.ray``."""
    need_libraries()
    try:
        import ray  # noqa: F401 - for the error
    except ImportError:
        raise ImportError("clusters on Ray need ray: pip install 'headrace[cluster]'") from None
    from headrace.cluster.ray_engine.cluster import RayCluster
    from headrace.cluster.ray_engine.options import Options

    return RayCluster(Options(**options))

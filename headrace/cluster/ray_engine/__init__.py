"""Clusters on Ray: it chooses the node of each task, starts the task there and watches it.

Ray carries commands, keys and lines of output.  Tensors go over the cluster's own transport and never through Ray.  This is the
only folder that imports ray; ``headrace.cluster.ray`` and ``headrace launch`` are its doors.
"""

"""Every environment variable that Headrace reads, in one table: for ``headrace doctor`` and docs/environment.md."""

from __future__ import annotations

from typing import Final

VARIABLES: Final = {
    "HEADRACE_CACHE_GB": "how many gigabytes of compiled code are kept, 5 without it; off: no bound",
    "HEADRACE_CHECK_NUMERICS": "1: a step stops where a number becomes NaN or infinite",
    "HEADRACE_CLUSTER_KEY": "the secret that the tasks and clients of a cluster share",
    "HEADRACE_CLUSTER_KEY_FILE": "a file with that secret, which only you can read",
    "HEADRACE_COMPILE": "auto, always or off: whether steps are compiled; wins over ConfigProto.compile",
    "HEADRACE_DATA_PORT": "the port for large tensors to this process's server",
    "HEADRACE_DETERMINISTIC": "1: the same bits in every run",
    "HEADRACE_DUMP": "a folder for every plan, its Python and what the compiler is given",
    "HEADRACE_JOIN_SECONDS": "how long server.join waits for the next session",
    "HEADRACE_LEAVE_SECONDS": "how long a step may take after SIGTERM",
    "HEADRACE_LOST_SECONDS": "the silence after which a task is lost; the same on all tasks",
    "HEADRACE_PASSES_OFF": "passes to leave out, with commas",
    "HEADRACE_POLICY": "what headrace launch --auto chose for a job, as JSON or a file with it; the same on all tasks",
    "HEADRACE_PRECISION": "highest, high or medium: float32 products on CUDA; bfloat16 or float16: mixed precision",
    "HEADRACE_PROCESS_SETTINGS": "off: no setting of the whole process is changed",
    "HEADRACE_TASKS_FILE": "where a server notes the tasks that it has taken over, for when it is started again",
    "HEADRACE_THREADS": "threads of a kernel",
    "HEADRACE_TRACEBACK": "full: uncaught errors are shown with the frames of Headrace",
}
OTHERS: Final = {
    "CUDA_VISIBLE_DEVICES": "the GPUs that this process may use",
    "OMP_NUM_THREADS": "threads of OpenMP, which torch uses",
    "RAY_ADDRESS": "the Ray cluster of headrace launch",
    "TF_CONFIG": "the cluster and this process's task, for tf.estimator",
    "TORCHINDUCTOR_CACHE_DIR": "where compiled code is kept",
    "XDG_CACHE_HOME": "the user's cache folder; compiled code is kept below it",
}

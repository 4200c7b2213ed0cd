"""tf.train: optimizers, learning rates, averages, and what runs a training loop."""

from typing import Any as _Any

# ---- section: optimizers, learning rates, moving averages
from headrace.train import experimental as experimental
from headrace.library.train.learning_rate_decay import (
    cosine_decay as cosine_decay, cosine_decay_restarts as cosine_decay_restarts,
    exponential_decay as exponential_decay, inverse_time_decay as inverse_time_decay,
    linear_cosine_decay as linear_cosine_decay, natural_exp_decay as natural_exp_decay,
    noisy_linear_cosine_decay as noisy_linear_cosine_decay, piecewise_constant as piecewise_constant,
    piecewise_constant_decay as piecewise_constant_decay, polynomial_decay as polynomial_decay,
)
from headrace.library.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from headrace.library.train.optimizer.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
from headrace.library.train.optimizer.adagrad import (
    AdagradDAOptimizer as AdagradDAOptimizer, AdagradOptimizer as AdagradOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
)
from headrace.library.train.optimizer.adam import AdamOptimizer as AdamOptimizer
from headrace.library.train.optimizer.ftrl import FtrlOptimizer as FtrlOptimizer
from headrace.library.train.optimizer.gradient_descent import (
    GradientDescentOptimizer as GradientDescentOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from headrace.library.train.optimizer.momentum import MomentumOptimizer as MomentumOptimizer
from headrace.library.train.optimizer.optimizer import Optimizer as Optimizer
from headrace.library.train.optimizer.rmsprop import RMSPropOptimizer as RMSPropOptimizer

# ---- section: threads that stop together
from headrace.train import queue_runner as queue_runner
from headrace.library.train.coordinator import Coordinator as Coordinator
from headrace.library.train.looper_thread import LooperThread as LooperThread
from headrace.library.train.queue_runner import (
    QueueRunner as QueueRunner, add_queue_runner as add_queue_runner, start_queue_runners as start_queue_runners,
)

# ---- section: training loops
from headrace.library.train.session.checkpoint_wait import checkpoints_iterator as checkpoints_iterator
from headrace.library.train.session.monitored_session import (
    MonitoredSession as MonitoredSession, SingularMonitoredSession as SingularMonitoredSession,
)
from headrace.library.train.session.run_hook import (
    SessionRunArgs as SessionRunArgs, SessionRunContext as SessionRunContext, SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)
from headrace.library.train.session.scaffold import Scaffold as Scaffold
from headrace.library.train.session.session_creator import (
    ChiefSessionCreator as ChiefSessionCreator, SessionCreator as SessionCreator,
    WorkerSessionCreator as WorkerSessionCreator,
)
from headrace.library.train.session.session_manager import SessionManager as SessionManager
from headrace.library.train.session.supervisor import Supervisor as Supervisor
from headrace.library.train.session.train_loop import basic_train_loop as basic_train_loop
from headrace.library.train.session.training_session import MonitoredTrainingSession as MonitoredTrainingSession

# ---- section: devices
from headrace.library.train.lossy import lossy_transfers as lossy_transfers

# ---- section: hooks
from headrace.library.train.hook.checkpoint_saver import (
    CheckpointSaverHook as CheckpointSaverHook, CheckpointSaverListener as CheckpointSaverListener,
)
from headrace.library.train.hook.profiler import ProfilerHook as ProfilerHook
from headrace.library.train.hook.progress import ProgressHook as ProgressHook
from headrace.library.train.hook.step import (
    GlobalStepWaiterHook as GlobalStepWaiterHook, StopAtStepHook as StopAtStepHook,
)
from headrace.library.train.hook.step_counter import StepCounterHook as StepCounterHook
from headrace.library.train.hook.summary_saver import SummarySaverHook as SummarySaverHook
from headrace.library.train.hook.tensor import (
    FeedFnHook as FeedFnHook, FinalOpsHook as FinalOpsHook, LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError, NanTensorHook as NanTensorHook,
)
from headrace.library.train.hook.timer import SecondOrStepTimer as SecondOrStepTimer

# ---- section: input by queues
from headrace.library.input.batch import (
    batch as batch, batch_join as batch_join, maybe_batch as maybe_batch, maybe_batch_join as maybe_batch_join,
    maybe_shuffle_batch as maybe_shuffle_batch, maybe_shuffle_batch_join as maybe_shuffle_batch_join,
    shuffle_batch as shuffle_batch, shuffle_batch_join as shuffle_batch_join,
)
from headrace.library.input.producer import (
    input_producer as input_producer, limit_epochs as limit_epochs, match_filenames_once as match_filenames_once,
    range_input_producer as range_input_producer, slice_input_producer as slice_input_producer,
    string_input_producer as string_input_producer,
)

# ---- section: checkpoints
from headrace.core import checkpoint_def as _checkpoint_def
from headrace.library.train.saver.builder import BaseSaverBuilder as BaseSaverBuilder
from headrace.library.train.saver.checkpoint import Checkpoint as Checkpoint
from headrace.library.train.saver.checkpoint_manager import CheckpointManager as CheckpointManager
from headrace.library.train.saver.exact_state import exact_state as exact_state
from headrace.library.train.saver.incremental import merge_checkpoint as merge_checkpoint
from headrace.library.train.saver.initialize import (
    init_from_checkpoint as init_from_checkpoint, warm_start as warm_start,
)
from headrace.library.train.saver.reader import (
    NewCheckpointReader as NewCheckpointReader, list_variables as list_variables, load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from headrace.library.train.saver.meta_graph import export_meta_graph as export_meta_graph
from headrace.library.train.saver.saver import Saver as Saver, import_meta_graph as import_meta_graph
from headrace.library.train.saver.state_file import (
    checkpoint_exists as checkpoint_exists, generate_checkpoint_state_proto as generate_checkpoint_state_proto,
    get_checkpoint_mtimes as get_checkpoint_mtimes, get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint, remove_checkpoint as remove_checkpoint,
    update_checkpoint_state as update_checkpoint_state,
)

# ---- section: variables: the global step
from headrace.library.state.global_step import (
    assert_global_step as assert_global_step, create_global_step as create_global_step,
    get_global_step as get_global_step, get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
)

# ---- section: graphs
from headrace.library.system.graph_util import write_graph as write_graph

# ---- section: event files
from headrace.resources.file.event_file import summary_iterator as summary_iterator
from headrace.library.summary.legacy_name import SummaryWriter as SummaryWriter

# ---- section: clusters
from headrace.cluster.cluster_spec import ClusterSpec as ClusterSpec
from headrace.cluster.server import Server as Server
from headrace.library.train.replica.device_setter import replica_device_setter as replica_device_setter
from headrace.library.train.replica.replicas import replicas as replicas
from headrace.library.train.replica.sync_replicas_optimizer import SyncReplicasOptimizer as SyncReplicasOptimizer
from headrace.core.server_def import ClusterDef as ClusterDef, JobDef as JobDef, ServerDef as ServerDef

# ---- section: examples
from headrace.core import example as _example


def __getattr__(name: str) -> _Any:
    if name in _example.NAMES:  # protobuf is imported when one of these is first asked for
        return getattr(_example, name)
    if name in _checkpoint_def.NAMES:
        return getattr(_checkpoint_def, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_example.NAMES, *_checkpoint_def.NAMES})

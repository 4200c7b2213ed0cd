"""tf.contrib.checkpoint: objects that are saved with what their attributes hold."""

from headrace.library.contrib.checkpointable import (
    Checkpointable as AutoTrackable, Checkpointable as Checkpointable, Checkpointable as CheckpointableBase,
    Checkpointable as Trackable, List as List, Mapping as Mapping,
    NoDependency as NoDependency, NumpyState as NumpyState, UniqueNameTracker as UniqueNameTracker,
    list_objects as list_objects,
)
from headrace.library.train.saver.checkpoint_manager import CheckpointManager as CheckpointManager

"""tf.keras.utils: names of the user's objects, labels as vectors, progress bars, sources of batches, files in a cache."""

from headrace.library.keras.engine.sources import get_source_inputs as get_source_inputs
from headrace.library.keras.utils.categorical import normalize as normalize, to_categorical as to_categorical
from headrace.library.keras.utils.enqueuer import (
    GeneratorEnqueuer as GeneratorEnqueuer, OrderedEnqueuer as OrderedEnqueuer, SequenceEnqueuer as SequenceEnqueuer,
)
from headrace.library.keras.utils.file_cache import get_file as get_file
from headrace.library.keras.utils.hdf5_matrix import HDF5Matrix as HDF5Matrix
from headrace.library.keras.utils.multi_gpu import multi_gpu_model as multi_gpu_model
from headrace.library.keras.utils.plot import model_to_dot as model_to_dot, plot_model as plot_model
from headrace.library.keras.utils.progress_bar import Progbar as Progbar
from headrace.library.keras.utils.sequence import Sequence as Sequence
from headrace.library.layers.named_object import (
    CustomObjectScope as CustomObjectScope, custom_object_scope as custom_object_scope,
    deserialize_keras_object as deserialize_keras_object, get_custom_objects as get_custom_objects,
    serialize_keras_object as serialize_keras_object,
)

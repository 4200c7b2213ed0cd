"""tf.keras.callbacks: what is told of each epoch and batch while a model is trained."""

from headrace.library.keras.callbacks.callback import (
    BaseLogger as BaseLogger, Callback as Callback, CallbackList as CallbackList, History as History,
    LambdaCallback as LambdaCallback,
)
from headrace.library.keras.callbacks.files import CSVLogger as CSVLogger, ModelCheckpoint as ModelCheckpoint
from headrace.library.keras.callbacks.progress import ProgbarLogger as ProgbarLogger
from headrace.library.keras.callbacks.rate import (
    LearningRateScheduler as LearningRateScheduler, ReduceLROnPlateau as ReduceLROnPlateau,
)
from headrace.library.keras.callbacks.remote import RemoteMonitor as RemoteMonitor
from headrace.library.keras.callbacks.stopping import EarlyStopping as EarlyStopping, TerminateOnNaN as TerminateOnNaN
from headrace.library.keras.callbacks.tensorboard import TensorBoard as TensorBoard

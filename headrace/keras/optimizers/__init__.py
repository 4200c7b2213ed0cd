"""tf.keras.optimizers: rules that change variables by the gradients of a loss."""

from headrace.keras.optimizers import schedules as schedules
from headrace.library.keras.optimizers.adagrad import Adadelta as Adadelta, Adagrad as Adagrad
from headrace.library.keras.optimizers.adam import Adam as Adam, Adamax as Adamax, Nadam as Nadam
from headrace.library.keras.optimizers.ftrl import Ftrl as Ftrl
from headrace.library.keras.optimizers.gradient_descent import SGD as SGD
from headrace.library.keras.optimizers.named import deserialize as deserialize, get as get, serialize as serialize
from headrace.library.keras.optimizers.optimizer_v2 import OptimizerV2 as Optimizer
from headrace.library.keras.optimizers.rmsprop import RMSprop as RMSprop

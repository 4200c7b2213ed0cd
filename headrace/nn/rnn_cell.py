"""tf.nn.rnn_cell: cells of recurrent networks."""

from headrace.library.rnn.base import RNNCell as RNNCell
from headrace.library.rnn.cell import BasicLSTMCell as BasicLSTMCell
from headrace.library.rnn.cell import BasicRNNCell as BasicRNNCell
from headrace.library.rnn.cell import GRUCell as GRUCell
from headrace.library.rnn.cell import LSTMCell as LSTMCell
from headrace.library.rnn.cell import LSTMStateTuple as LSTMStateTuple
from headrace.library.rnn.wrapper import DeviceWrapper as DeviceWrapper
from headrace.library.rnn.wrapper import DropoutWrapper as DropoutWrapper
from headrace.library.rnn.wrapper import MultiRNNCell as MultiRNNCell
from headrace.library.rnn.wrapper import ResidualWrapper as ResidualWrapper

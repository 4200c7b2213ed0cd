"""tf.contrib: what TF1 kept beside its core, as far as programs still use it."""

from headrace.contrib import legacy_seq2seq as legacy_seq2seq
from headrace.contrib import rnn as rnn
from headrace.contrib import seq2seq as seq2seq

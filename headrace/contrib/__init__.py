"""tf.contrib: what TF1 kept beside its core, as far as programs still use it."""

from headrace.contrib import eager as eager
from headrace.contrib import distributions as distributions
from headrace.contrib import framework as framework
from headrace.contrib import layers as layers
from headrace.contrib import learn as learn
from headrace.contrib import legacy_seq2seq as legacy_seq2seq
from headrace.contrib import lookup as lookup
from headrace.contrib import losses as losses
from headrace.contrib import metrics as metrics
from headrace.contrib import opt as opt
from headrace.contrib import rnn as rnn
from headrace.contrib import seq2seq as seq2seq
from headrace.contrib import slim as slim
from headrace.contrib import training as training

"""tf.contrib: what TF1 kept beside its core, as far as programs still use it."""

from types import SimpleNamespace as _SimpleNamespace

from headrace.contrib import checkpoint as checkpoint
from headrace.contrib import cluster_resolver as cluster_resolver
from headrace.contrib import compiler as compiler
from headrace.contrib import copy_graph as copy_graph
from headrace.contrib import crf as crf
from headrace.contrib import cudnn_rnn as cudnn_rnn
from headrace.contrib import data as data
from headrace.contrib import distribute as distribute
from headrace.contrib import eager as eager
from headrace.contrib import distributions as distributions
from headrace.contrib import estimator as estimator
from headrace.contrib import factorization as factorization
from headrace.contrib import framework as framework
from headrace.contrib import graph_editor as graph_editor
from headrace.contrib import layers as layers
from headrace.contrib import learn as learn
from headrace.contrib import legacy_seq2seq as legacy_seq2seq
from headrace.contrib import lookup as lookup
from headrace.contrib import losses as losses
from headrace.contrib import memory_stats as memory_stats
from headrace.contrib import metrics as metrics
from headrace.contrib import nccl as nccl
from headrace.contrib import opt as opt
from headrace.contrib import predictor as predictor
from headrace.contrib import quantize as quantize
from headrace.contrib import resampler as resampler
from headrace.contrib import rnn as rnn
from headrace.contrib import saved_model as saved_model
from headrace.contrib import seq2seq as seq2seq
from headrace.contrib import slim as slim
from headrace.contrib import staging as staging
from headrace.contrib import summary as summary
from headrace.contrib import tensorboard as tensorboard
from headrace.contrib import tfprof as tfprof
from headrace.contrib import tpu as tpu
from headrace.contrib import training as training
from headrace.contrib import gan as gan
from headrace.contrib import hooks as hooks
from headrace.contrib import image as image
from headrace.contrib import mixed_precision as mixed_precision
from headrace.contrib import nn as nn
from headrace.contrib import signal as signal
from headrace.contrib import sparsemax as sparsemax
from headrace.contrib import stateless as stateless
from headrace.contrib import util as util

# Programs also reach into the packages behind these; everything those hold is in the one above.
framework.python = _SimpleNamespace(ops=framework)  # type: ignore[attr-defined]
image.python = _SimpleNamespace(ops=image)  # type: ignore[attr-defined]
layers.python = _SimpleNamespace(layers=layers)  # type: ignore[attr-defined]
learn.python = _SimpleNamespace(learn=learn)  # type: ignore[attr-defined]
slim.python = _SimpleNamespace(slim=slim)  # type: ignore[attr-defined]

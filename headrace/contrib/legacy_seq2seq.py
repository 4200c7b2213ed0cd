"""tf.contrib.legacy_seq2seq: the older sequence-to-sequence functions."""

from headrace.library.legacy_seq2seq.decoder import attention_decoder as attention_decoder
from headrace.library.legacy_seq2seq.decoder import embedding_attention_decoder as embedding_attention_decoder
from headrace.library.legacy_seq2seq.decoder import embedding_rnn_decoder as embedding_rnn_decoder
from headrace.library.legacy_seq2seq.decoder import rnn_decoder as rnn_decoder
from headrace.library.legacy_seq2seq.loss import sequence_loss as sequence_loss
from headrace.library.legacy_seq2seq.loss import sequence_loss_by_example as sequence_loss_by_example
from headrace.library.legacy_seq2seq.model import basic_rnn_seq2seq as basic_rnn_seq2seq
from headrace.library.legacy_seq2seq.model import embedding_attention_seq2seq as embedding_attention_seq2seq
from headrace.library.legacy_seq2seq.model import embedding_rnn_seq2seq as embedding_rnn_seq2seq
from headrace.library.legacy_seq2seq.model import embedding_tied_rnn_seq2seq as embedding_tied_rnn_seq2seq
from headrace.library.legacy_seq2seq.model import model_with_buckets as model_with_buckets
from headrace.library.legacy_seq2seq.model import tied_rnn_seq2seq as tied_rnn_seq2seq

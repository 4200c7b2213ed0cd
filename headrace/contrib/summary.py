"""tf.contrib.summary: summaries that nodes write to event files."""

from headrace.library.contrib.summary import always_record_summaries as always_record_summaries
from headrace.library.contrib.summary import audio as audio
from headrace.library.contrib.summary import eval_dir as eval_dir
from headrace.library.contrib.summary import generic as generic
from headrace.library.contrib.summary import graph as graph
from headrace.library.contrib.summary import histogram as histogram
from headrace.library.contrib.summary import image as image
from headrace.library.contrib.summary import is_recording_summaries as is_recording_summaries
from headrace.library.contrib.summary import never_record_summaries as never_record_summaries
from headrace.library.contrib.summary import record_if as record_if
from headrace.library.contrib.summary import (
    record_summaries_every_n_global_steps as record_summaries_every_n_global_steps,
)
from headrace.library.contrib.summary import scalar as scalar
from headrace.library.contrib.summary import should_record_summaries as should_record_summaries
from headrace.library.summary.summary_writer import SummaryWriter as SummaryWriter
from headrace.library.summary.summary_writer import all_v2_summary_ops as all_summary_ops
from headrace.library.summary.summary_writer import create_file_writer as create_file_writer
from headrace.library.summary.summary_writer import create_file_writer as create_summary_file_writer
from headrace.library.summary.summary_writer import flush as flush
from headrace.library.summary.summary_writer import import_event as import_event
from headrace.library.summary.summary_writer import initialize as initialize
from headrace.library.summary.summary_writer import summary_writer_initializer_op as summary_writer_initializer_op

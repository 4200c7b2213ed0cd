"""tf.contrib.tfprof.model_analyzer: counts of parameters and float operations."""

from headrace.library.contrib.tfprof import FLOAT_OPS_OPTIONS as FLOAT_OPS_OPTIONS
from headrace.library.contrib.tfprof import PRINT_ALL_TIMING_MEMORY as PRINT_ALL_TIMING_MEMORY
from headrace.library.contrib.tfprof import TRAINABLE_VARS_PARAMS_STAT_OPTIONS as TRAINABLE_VARS_PARAMS_STAT_OPTIONS
from headrace.library.contrib.tfprof import print_model_analysis as print_model_analysis

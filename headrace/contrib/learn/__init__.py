"""tf.contrib.learn: the estimators from before tf.estimator, vocabularies, data sets from files."""

from headrace.contrib.learn import datasets as datasets
from headrace.contrib.learn import learn_runner as learn_runner
from headrace.contrib.learn import preprocessing as preprocessing
from headrace.contrib.learn import utils as utils
from headrace.library.contrib.learn.canned import DNNClassifier as DNNClassifier
from headrace.library.contrib.learn.canned import DNNRegressor as DNNRegressor
from headrace.library.contrib.learn.canned import LinearClassifier as LinearClassifier
from headrace.library.contrib.learn.canned import LinearRegressor as LinearRegressor
from headrace.library.contrib.learn.column import (
    infer_real_valued_columns_from_input as infer_real_valued_columns_from_input,
)
from headrace.library.contrib.learn.column import (
    infer_real_valued_columns_from_input_fn as infer_real_valued_columns_from_input_fn,
)
from headrace.library.contrib.learn.estimator import BaseEstimator as BaseEstimator
from headrace.library.contrib.learn.estimator import Estimator as Estimator
from headrace.library.contrib.learn.estimator import SKCompat as SKCompat
from headrace.library.contrib.learn.experiment import Experiment as Experiment
from headrace.library.contrib.learn.model_fn import MetricSpec as MetricSpec
from headrace.library.contrib.learn.model_fn import ModeKeys as ModeKeys
from headrace.library.contrib.learn.model_fn import ModelFnOps as ModelFnOps
from headrace.library.contrib.learn.run_config import RunConfig as RunConfig

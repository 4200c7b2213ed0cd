"""tf.estimator: models as one function, and the loops that train, evaluate, ask and export them."""

# ---- section: submodules
from headrace.estimator import experimental as experimental, export as export, inputs as inputs, tpu as tpu

# ---- section: estimators
from headrace.library.estimator.add_metrics import add_metrics as add_metrics
from headrace.library.estimator.estimator import Estimator as Estimator
from headrace.library.estimator.estimator_spec import EstimatorSpec as EstimatorSpec
from headrace.library.estimator.exporter import (
    BestExporter as BestExporter, Exporter as Exporter, FinalExporter as FinalExporter, LatestExporter as LatestExporter,
)
from headrace.library.estimator.mode_keys import ModeKeys as ModeKeys
from headrace.library.estimator.parse_example_spec import (
    classifier_parse_example_spec as classifier_parse_example_spec,
    regressor_parse_example_spec as regressor_parse_example_spec,
)
from headrace.library.estimator.run_config import RunConfig as RunConfig
from headrace.library.estimator.train_and_evaluate import (
    EvalSpec as EvalSpec, TrainSpec as TrainSpec, train_and_evaluate as train_and_evaluate,
)
from headrace.library.estimator.warm_start import VocabInfo as VocabInfo, WarmStartSettings as WarmStartSettings

# ---- section: ready-made models
from headrace.library.estimator.canned import (
    DNNClassifier as DNNClassifier, DNNEstimator as DNNEstimator,
    DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator as DNNLinearCombinedEstimator, DNNLinearCombinedRegressor as DNNLinearCombinedRegressor,
    DNNRegressor as DNNRegressor, LinearClassifier as LinearClassifier, LinearEstimator as LinearEstimator,
    LinearRegressor as LinearRegressor,
)
from headrace.library.estimator.class_head import BinaryClassHead as BinaryClassHead, MultiClassHead as MultiClassHead
from headrace.library.estimator.head import Head as Head
from headrace.library.estimator.regression_head import RegressionHead as RegressionHead

# ---- section: hooks, which tf.train has too
from headrace.library.train.hook.checkpoint_saver import (
    CheckpointSaverHook as CheckpointSaverHook, CheckpointSaverListener as CheckpointSaverListener,
)
from headrace.library.train.hook.profiler import ProfilerHook as ProfilerHook
from headrace.library.train.hook.step import GlobalStepWaiterHook as GlobalStepWaiterHook, StopAtStepHook as StopAtStepHook
from headrace.library.train.hook.step_counter import StepCounterHook as StepCounterHook
from headrace.library.train.hook.summary_saver import SummarySaverHook as SummarySaverHook
from headrace.library.train.hook.tensor import (
    FeedFnHook as FeedFnHook, FinalOpsHook as FinalOpsHook, LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError, NanTensorHook as NanTensorHook,
)
from headrace.library.train.hook.timer import SecondOrStepTimer as SecondOrStepTimer
from headrace.library.train.session.run_hook import (
    SessionRunArgs as SessionRunArgs, SessionRunContext as SessionRunContext, SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)

"""What programs import from TensorFlow's private module of evaluations, under the names it has there."""

from headrace.library.train.hook.evaluation import StopAfterNEvalsHook as _StopAfterNEvalsHook
from headrace.library.train.hook.evaluation import get_or_create_eval_step as _get_or_create_eval_step

__all__ = ["_StopAfterNEvalsHook", "_get_or_create_eval_step"]

"""tf.contrib.learn: modes and vocabularies; its estimators are not part of Headrace."""

from headrace.contrib.learn import preprocessing as preprocessing
from headrace.library.contrib.learn import ModeKeys as ModeKeys
from headrace.contrib.learn import datasets as datasets

"""slim.variables."""

from headrace.library.contrib.variables import add_model_variable as add_model_variable
from headrace.library.contrib.checkpoint import assign_from_checkpoint as assign_from_checkpoint
from headrace.library.contrib.checkpoint import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from headrace.library.contrib.variables import assign_from_values as assign_from_values
from headrace.library.contrib.variables import assign_from_values_fn as assign_from_values_fn
from headrace.library.contrib.variables import filter_variables as filter_variables
from headrace.library.contrib.variables import get_local_variables as get_local_variables
from headrace.library.contrib.variables import get_model_variables as get_model_variables
from headrace.library.contrib.variables import get_trainable_variables as get_trainable_variables
from headrace.library.contrib.variables import get_unique_variable as get_unique_variable
from headrace.library.contrib.variables import get_variable_full_name as get_variable_full_name
from headrace.library.contrib.variables import get_variables as get_variables
from headrace.library.contrib.variables import get_variables_by_name as get_variables_by_name
from headrace.library.contrib.variables import get_variables_by_suffix as get_variables_by_suffix
from headrace.library.contrib.variables import get_variables_to_restore as get_variables_to_restore
from headrace.library.contrib.variables import local_variable as local_variable
from headrace.library.contrib.variables import model_variable as model_variable
from headrace.library.contrib.variables import variable as variable
from headrace.library.state.global_step import assert_global_step as assert_global_step
from headrace.library.state.global_step import create_global_step as create_global_step
from headrace.library.state.global_step import get_global_step as get_global_step
from headrace.library.state.global_step import get_or_create_global_step as get_or_create_global_step

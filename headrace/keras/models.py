"""tf.keras.models: models, and models from plain data."""

from headrace.library.keras.engine.clone import clone_model as clone_model
from headrace.library.keras.engine.from_text import (
    model_from_config as model_from_config,
)
from headrace.library.keras.engine.from_text import (
    model_from_json as model_from_json,
)
from headrace.library.keras.engine.from_text import (
    model_from_yaml as model_from_yaml,
)
from headrace.library.keras.engine.model import Model as Model
from headrace.library.keras.engine.sequential import Sequential as Sequential
from headrace.library.keras.saving.model_file import load_model as load_model, save_model as save_model

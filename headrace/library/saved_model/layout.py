"""The files of a SavedModel, and the names under which a graph keeps what belongs to one."""

from __future__ import annotations

import os
from typing import Any, Final

from headrace.library.compat import as_str_any

ASSETS_DIRECTORY: Final = "assets"
ASSETS_KEY: Final = "saved_model_assets"
DEBUG_DIRECTORY: Final = "debug"
DEBUG_INFO_FILENAME_PB: Final = "saved_model_debug_info.pb"
INIT_OP_SIGNATURE_KEY: Final = "__saved_model_init_op"
LEGACY_INIT_OP_KEY: Final = "legacy_init_op"
MAIN_OP_KEY: Final = "saved_model_main_op"
SAVED_MODEL_FILENAME_PB: Final = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT: Final = "saved_model.pbtxt"
SAVED_MODEL_SCHEMA_VERSION: Final = 1
TRAIN_OP_SIGNATURE_KEY: Final = "__saved_model_train_op"
VARIABLES_DIRECTORY: Final = "variables"
VARIABLES_FILENAME: Final = "variables"


def path_text(path: Any) -> str:
    """A path as text, without a "/" at its end."""
    text = as_str_any(os.fspath(path) if hasattr(path, "__fspath__") else path)
    return text if text.endswith("://") else text.rstrip("/") or text


def variables_path(export_dir: str) -> str:
    """The prefix of the files of the checkpoint."""
    return f"{export_dir}/{VARIABLES_DIRECTORY}/{VARIABLES_FILENAME}"


def assets_path(export_dir: str) -> str:
    """The folder of the assets."""
    return f"{export_dir}/{ASSETS_DIRECTORY}"

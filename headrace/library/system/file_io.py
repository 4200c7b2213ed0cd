"""Files under the names of TF1's module ``tensorflow.python.lib.io.file_io``, which programs import themselves."""

from __future__ import annotations

from typing import Any

from headrace.library.system.file import (
    Copy as copy,
)  # fmt: skip
from headrace.library.system.file import (
    DeleteRecursively as delete_recursively,
)
from headrace.library.system.file import (
    Exists as file_exists,
)
from headrace.library.system.file import (
    GFile as FileIO,
)
from headrace.library.system.file import (
    Glob as get_matching_files,
)
from headrace.library.system.file import (
    IsDirectory as is_directory,
)
from headrace.library.system.file import (
    ListDirectory as list_directory,
)
from headrace.library.system.file import (
    MakeDirs as recursive_create_dir,
)
from headrace.library.system.file import (
    MkDir as create_dir,
)
from headrace.library.system.file import (
    Remove as delete_file,
)
from headrace.library.system.file import (
    Rename as rename,
)
from headrace.library.system.file import (
    Stat as stat,
)
from headrace.library.system.file import (
    Walk as walk,
)

__all__ = [
    "FileIO", "copy", "create_dir", "delete_file", "delete_recursively", "file_exists", "get_matching_files", "is_directory",
    "list_directory", "read_file_to_string", "recursive_create_dir", "rename", "stat", "walk", "write_string_to_file",
]  # fmt: skip


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """All of a file; bytes if `binary_mode`."""
    with FileIO(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Makes a file of text or bytes."""
    with FileIO(filename, "w") as file:
        file.write(file_content)

"""``python -m headrace`` is the command ``headrace``."""

import sys

from headrace.tools.cli import main

sys.exit(main())

"""TensorFlow's checkpoint files: the V2 bundle (``.index`` and ``.data-*``), read and written; V1 files, read.  No torch here."""

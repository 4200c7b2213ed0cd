"""docs/tour.ipynb: every cell runs, in order, and prints what the notebook shows."""

import contextlib
import io
import json

from docs.page import DOCS, UPDATE

import headrace as tf

PAGE = DOCS / "tour.ipynb"


def test_the_tour_prints_what_it_shows() -> None:
    tour = json.loads(PAGE.read_text())
    shown = json.dumps(tour)
    namespace: dict[str, object] = {"__name__": "tour"}
    with tf.device("/cpu:0"):
        for number, cell in enumerate(tour["cells"]):
            if cell["cell_type"] == "code":
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile("".join(cell["source"]), f"cell {number}", "exec"), namespace)
                text = out.getvalue().splitlines(keepends=True)
                cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": text}] if text else []
    namespace["server"]._stop()  # type: ignore[attr-defined]
    if UPDATE:
        PAGE.write_text(json.dumps(tour, indent=1, ensure_ascii=False) + "\n")
    else:
        assert json.loads(shown) == tour, "HEADRACE_UPDATE_DOCS=1 pytest tests/docs/test_tour.py brings it up to date"

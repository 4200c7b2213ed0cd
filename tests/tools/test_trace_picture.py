"""The picture of a step: a row for each thread, a box for each slice, a line for each message."""

from xml.etree import ElementTree

from headrace.tools.trace_picture import picture

SVG = "{http://www.w3.org/2000/svg}"


def named(event, name, pid, **more):
    return {"name": event, "ph": "M", "pid": pid, "args": {"name": name}, **more}


def slice_of(name, category, pid, began, ended):
    args = {"name": f"{name}<1>", "source": "train.py:3"}
    return {
        "name": name,
        "ph": "X",
        "cat": category,
        "pid": pid,
        "tid": pid,
        "ts": began,
        "dur": ended - began,
        "args": args,
    }


EVENTS = [
    named("process_name", "/job:ps/replica:0/task:0/device:CPU:0 Compute", 1),
    named("thread_name", "MainThread", 1, tid=1),
    named("process_name", "/job:worker/replica:0/task:1/device:GPU:0 Compute", 2),
    named("thread_name", "waiting", 2, tid=2),
    slice_of("Exp", "Op", 1, 10, 20),  # of the step before
    slice_of("_SendMany", "Op", 1, 120, 140),
    slice_of("waits for ps 0", "Wait", 2, 100, 150),
    {"ph": "s", "cat": "Message", "name": "k", "pid": 1, "tid": 1, "ts": 120, "id": 1},
    {"ph": "f", "cat": "Message", "name": "k", "pid": 2, "tid": 2, "ts": 149, "id": 1},
    {**slice_of("step 1", "Step", 9, 0, 100)},
    {**slice_of("step 2", "Step", 9, 100, 200)},
]


def test_the_last_step_is_drawn():
    root = ElementTree.fromstring(picture(EVENTS))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts[:2] == ["ps 0 CPU:0 MainThread", "worker 1 GPU:0 waiting"]
    boxes = [box for box in root.iter(f"{SVG}rect") if box.find(f"{SVG}title") is not None]
    assert [box.find(f"{SVG}title").text.split(" (")[0] for box in boxes] == ["_SendMany", "waits for ps 0"]
    send, wait = ((float(box.get("x")), float(box.get("width")), float(box.get("y"))) for box in boxes)
    assert send[0] > wait[0] and wait[1] == 2.5 * send[1] and wait[2] > send[2]
    (line,) = root.iter(f"{SVG}line")
    assert send[0] <= float(line.get("x1")) <= send[0] + send[1]
    assert wait[0] < float(line.get("x2")) <= wait[0] + wait[1]

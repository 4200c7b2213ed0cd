"""The program that runs the family with control flow in every way says what it found."""

from conformance import flow


def test_a_program_in_two_ways(capsys):
    assert flow.main(["--seeds", "5:6", "--ways", "interpreted,lowered"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["5", "interpreted"], ["5", "lowered"]]
    assert lines[-1] == "control flow 1 programs, interpreted, lowered: none differ"


def test_a_drawn_program(capsys):
    assert flow.main(["--seeds", "0:0", "--drawn", "1", "--ways", "interpreted,lowered"]) == 0
    assert capsys.readouterr().out.count("as expected") == 2


def test_a_difference_is_reported(capsys, monkeypatch):
    monkeypatch.setattr(flow, "record", lambda tf, seed, config, order: [[1.0], [2.0]])
    monkeypatch.setattr(flow.json, "loads", lambda text: {"5": [[1.0], [2.5]]})
    assert flow.main(["--seeds", "5:6", "--ways", "interpreted"]) == 1
    assert "row 1 is [2.0] instead of [2.5]" in capsys.readouterr().out


def test_an_error_is_reported(capsys, monkeypatch):
    def fails(tf, seed, config, order):
        raise ValueError("no such thing")

    monkeypatch.setattr(flow, "record", fails)
    assert flow.main(["--seeds", "5:7", "--ways", "interpreted"]) == 1
    assert "2 programs, interpreted: 2 differ" in capsys.readouterr().out


def test_programs_with_state(monkeypatch):
    monkeypatch.setattr(flow.state_flow, "SEEDS", range(70, 72))
    part = flow.state_programs(drawn=1)
    assert (part.compared, part.differences) == ("3 programs, interpreted, lowered", [])
    monkeypatch.setattr(flow.state_flow, "record", lambda tf, program, resource, config: [0.0] * (4 + resource))
    assert len(flow.state_programs(drawn=0, ways=["interpreted"]).differences) == 2

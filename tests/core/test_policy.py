"""HEADRACE_POLICY: what a job was told, as text and as a file; what is wrong with others."""

from pathlib import Path

import pytest

from headrace.core.policy import Policy, policy_of, told


def test_there_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(4, "quorum", quorum=0.75, grace_ms=2.5, lossy=True, slices=4, allow=("lossy", "partition"))
    assert policy_of(policy.to_json()) == policy
    monkeypatch.delenv("HEADRACE_POLICY", raising=False)
    assert told() is None
    monkeypatch.setenv("HEADRACE_POLICY", policy.to_json())
    assert told() == policy
    (tmp_path / "policy.json").write_text(policy.to_json())
    monkeypatch.setenv("HEADRACE_POLICY", str(tmp_path / "policy.json"))
    assert told() == policy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"mode": "fast"}', "mode cannot be 'fast'"), ('{"servers": -1}', "servers cannot be -1"), ("[1]", "No such file"),
        ('{"speed": 3}', "a policy has some of"), ("{", "a policy is JSON"), ('{"quorum": 2}', "quorum cannot be 2"),
        ('{"allow": ["all"]}', "allow cannot be"), ('{"slices": 0}', "slices cannot be 0"), ('{"lossy": 1}', "lossy cannot be 1"),
        ('{"backups": true}', "backups cannot be True"), ('{"grace_ms": -1}', "grace_ms cannot be -1"),
    ],
)  # fmt: skip
def test_mistakes(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_POLICY", text)
    with pytest.raises(ValueError, match="HEADRACE_POLICY is wrong: ") as caught:
        told()
    assert message in str(caught.value)

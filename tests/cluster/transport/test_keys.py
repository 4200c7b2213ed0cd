"""Where the cluster's key comes from, and who may listen with it."""

import os
import stat

import pytest

from headrace.cluster.transport.keys import check_key_for, cluster_keys, is_loopback, split_address
from headrace.core import errors


def test_the_users_key_is_made_once_and_is_private(tmp_path):
    first, second = cluster_keys()[0], cluster_keys()[0]
    path = tmp_path / "headrace" / "cluster.key"
    assert first == second and not first.explicit and len(first.secret) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and os.listdir(path.parent) == ["cluster.key"]


def test_a_key_that_others_may_read_is_refused(tmp_path):
    cluster_keys()[0]
    (tmp_path / "headrace" / "cluster.key").chmod(0o644)
    with pytest.raises(errors.PermissionDeniedError, match=r"mode 644.*chmod 600"):
        cluster_keys()[0]


def test_text_wins_over_a_file_and_an_argument_over_both(tmp_path, monkeypatch):
    path = tmp_path / "key"
    path.write_text("f" * 20 + "\n")
    path.chmod(0o600)
    monkeypatch.setenv("HEADRACE_CLUSTER_KEY_FILE", str(path))
    assert cluster_keys()[0].secret == b"f" * 20 and cluster_keys()[0].explicit
    monkeypatch.setenv("HEADRACE_CLUSTER_KEY", "t" * 20)
    assert cluster_keys()[0].secret == b"t" * 20 and cluster_keys()[0].explicit
    assert cluster_keys("a" * 20)[0].secret == b"a" * 20


def test_short_and_missing_keys_are_refused(tmp_path, monkeypatch):
    with pytest.raises(errors.InvalidArgumentError, match="16"):
        cluster_keys("short")[0]
    monkeypatch.setenv("HEADRACE_CLUSTER_KEY_FILE", str(tmp_path / "none"))
    with pytest.raises(errors.FailedPreconditionError, match="no file .*none.*HEADRACE_CLUSTER_KEY"):
        cluster_keys()[0]


def test_a_key_is_never_shown():
    assert "secret-text" not in repr(cluster_keys("secret-text-of-mine")[0])


def test_derived_keys_depend_on_key_and_purpose():
    one, two = cluster_keys("a" * 20)[0], cluster_keys("b" * 20)[0]
    assert len({one.derive("x"), one.derive("y"), two.derive("x")}) == 3
    assert one.derive("x") == cluster_keys("a" * 20)[0].derive("x")


@pytest.mark.parametrize("address", ["0.0.0.0:0", "*:0", "192.0.2.7:2222", "[::]:0"])
def test_listening_wider_than_loopback_needs_a_key(make_endpoint, address):
    with pytest.raises(errors.FailedPreconditionError, match=r"more than this machine.*HEADRACE_CLUSTER_KEY"):
        make_endpoint(None, address)
    check_key_for(address, cluster_keys("given by somebody")[0], "listen at")


def test_listening_wide_with_a_key(make_endpoint):
    assert make_endpoint(None, "0.0.0.0:0", key="given by somebody").address.startswith("0.0.0.0:")


def test_loopback():
    assert is_loopback("localhost") and is_loopback("127.3.2.1") and is_loopback("::1")
    assert not is_loopback("0.0.0.0") and not is_loopback("192.0.2.7") and not is_loopback("*")


@pytest.mark.parametrize("address", ["", "host", "host:", ":1", "host:x", "host:70000", "host:-1"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(errors.InvalidArgumentError, match="host:port"):
        split_address(address)


def test_an_address_in_use_is_refused_and_leaves_nothing(make_endpoint):
    first = make_endpoint(None, "localhost:0")
    with pytest.raises(errors.AlreadyExistsError, match="cannot be bound"):
        make_endpoint(None, first.address)


def test_two_keys_are_two_lines(tmp_path, monkeypatch):
    file = tmp_path / "keys"
    file.write_text("the first of two long keys here\n\n  and the second of two such keys \n")
    file.chmod(0o600)
    monkeypatch.setenv("HEADRACE_CLUSTER_KEY_FILE", str(file))
    secrets = [b"the first of two long keys here", b"and the second of two such keys"]
    assert [key.secret for key in cluster_keys()] == secrets
    assert cluster_keys()[0].secret == secrets[0]
    for bad in ("a" * 20 + "\n" + "b" * 20 + "\n" + "c" * 20, "a" * 20 + "\nshort"):
        with pytest.raises(
            errors.InvalidArgumentError, match=r"at most two, one in each line: received .* and .* characters"
        ):
            cluster_keys(bad)


def test_a_short_phrase_is_warned_about_once(caplog):
    for _ in range(2):
        cluster_keys("my dog is called Rex")
        cluster_keys("0123456789abcdef" * 2)
    assert len(caplog.records) == 1
    assert "has 20 characters: a short phrase can be guessed" in caplog.text and "Rex" not in caplog.text

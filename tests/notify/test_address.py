"""Which addresses a channel may reach, and that what was judged is what is connected to."""

import socket
from pathlib import Path

import pytest

from goodput.errors import TargetRefused
from goodput.notify.address import look_up, target
from goodput.notify.senders import Sender
from goodput.settings.channels import Channel
from notify.receiver import Script, receiving

PRIVATE = (
    *("127.0.0.1", "127.8.9.1", "::1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "fc00::1"),
    *("::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "::10.0.0.1", "192.0.2.1", "240.0.0.1"),
    *("2001:db8::1", "198.18.0.1", "fec0::1", "feff::1", "::ffff:0:10.0.0.1", "::ffff:0:127.0.0.1", "192.0.0.8"),
    *("3fff::1", "5f00::1", "100::1", "400::1", "4000::1", "e000::1", "203.0.113.7", "192.88.99.1", "255.255.255.255"),
)
NEVER = (
    *("169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1", "fe80::1%eth0", "0.0.0.0", "::"),
    *("224.0.0.1", "ff02::1", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "0.1.2.3"),
    *("64:ff9b:1::a00:1", "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "192.0.0.192"),
    *("::ffff:0:169.254.169.254", "::ffff:0:0.0.0.0", "2002:a9fe:a9fe::", "fd20:ce::254", "fd00:42::42"),
)


@pytest.mark.parametrize("address", [*PRIVATE, *NEVER])
def test_no_address_inside_is_reached(address: str) -> None:
    with pytest.raises(TargetRefused):
        target("https://hooks.example.com/", allow_private=False, resolver=lambda host, port: [address])


@pytest.mark.parametrize("address", PRIVATE)
def test_a_receiver_of_ones_own_is_reached_where_the_settings_say_so(address: str) -> None:
    reached = target("http://inside/", allow_private=True, resolver=lambda host, port: [address])
    assert reached.addresses == (address,)


@pytest.mark.parametrize("address", NEVER)
def test_nothing_allows_link_local_and_metadata(address: str) -> None:
    with pytest.raises(TargetRefused):
        target("https://inside/", allow_private=True, resolver=lambda host, port: [address])


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::5db8:d822", "::ffff:0:93.184.216.34"],
)
def test_public_addresses_are_reached(address: str) -> None:
    assert target("https://a.example/x?y=1", allow_private=False, resolver=lambda h, p: [address]).path == "/x?y=1"


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost", "[::1]"])
def test_loopback_in_other_words_is_loopback(host: str) -> None:
    with pytest.raises((TargetRefused, OSError)):
        target(f"https://{host}/", allow_private=False, resolver=look_up)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/",
        "ftp://a.example/",
        "//a.example/",
        "https:///x",
        "https://user:secret@a.example/",
        "https://a.example:99999/",
        "https://a.example:22/",
        "https://a.example:0025/",
        "https://a.example/a b",
        "https://a.example/\x00",
        "https://[::1/",
        "https://a..example/",
    ],
)
def test_urls_that_are_not_used(url: str) -> None:
    with pytest.raises(TargetRefused) as refused:
        target(url, allow_private=False, resolver=lambda host, port: ["93.184.216.34"])
    assert "secret" not in str(refused.value)


def test_a_name_in_other_letters_is_asked_for_as_the_dns_knows_it() -> None:
    reached = target("https://bücher.example/", allow_private=False, resolver=lambda h, p: ["93.184.216.34"])
    assert reached.host == "xn--bcher-kva.example"


def test_one_private_answer_among_public_ones_refuses_the_name() -> None:
    with pytest.raises(TargetRefused):
        target("https://a.example/", allow_private=False, resolver=lambda h, p: ["93.184.216.34", "10.0.0.1"])


def test_a_name_is_looked_up_once_and_its_answer_is_what_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that means something else by the time of the connection (DNS rebinding) is not asked again."""
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    resolve = socket.getaddrinfo

    def numbers_only(host: str, *rest: object, **more: object) -> object:
        assert host == "127.0.0.1", "a name was looked up behind the guard"
        return resolve(host, *rest, **more)  # type: ignore[arg-type]

    script = Script()
    with receiving(script) as port:
        monkeypatch.setattr(socket, "getaddrinfo", numbers_only)
        url = f"http://rebinding.example:{port}/hook"
        channel = Channel.model_validate({"kind": "webhook", "url": url, "allow_private": True})
        assert Sender(channel, Path(), rebinding).send("id", b"{}", 0).delivered
    assert asked == ["rebinding.example"]
    assert script.got[0].headers["host"] == f"rebinding.example:{port}"

"""Why a file of objects is not read, and what to do: by what its first bytes look like, never by its name."""

import re
from collections.abc import Sequence

from goodput.collect.dialect import Dialect
from goodput.collect.objects.layout import layout_of
from goodput.collect.otlp.sniff import Head, names_a_signal

_OF_A_SCRAPE = re.compile(rb"# (?:HELP|TYPE) [A-Za-z_:][\w:]* ")
_OTLP = (
    "holds OTLP/JSON, but not one message a line, which is how it is read: "
    "`{jq} FILE > NEW.jsonl` writes it so; let that land in its place"
)
_SCRAPE = (
    "looks like a saved page of /metrics, which is read by its name: <target>/<unix time>.prom, "
    "such as vllm-0/1795165200.prom"
)


def why_unknown(head: Head, dialects: Sequence[Dialect]) -> str:
    """The reason for which a file is refused of which no object speaks one of the dialects."""
    content = head.content.removeprefix(b"\xef\xbb\xbf").lstrip()
    one_a_line = "jq -c '.[]'" if content.startswith(b"[") else "jq -c ."
    is_json = content.startswith((b"{", b"["))
    if is_json and names_a_signal(content):
        return _OTLP.format(jq=one_a_line)
    if _OF_A_SCRAPE.match(content):
        return _SCRAPE
    names = ", ".join(sorted({dialect.name for dialect in dialects}))
    known = f"neither OTLP nor any format that Goodput knows ({names})"
    if is_json and (content.startswith(b"[") or layout_of(head) == "document"):
        return (
            f"{known}; map its columns under [dialects] of goodput.toml, or, with one object a line as "
            f"`{one_a_line} FILE` writes them, under [sources]"
        )
    return f"{known}; map its columns under [sources] or [dialects] of goodput.toml"

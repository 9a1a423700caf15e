"""[dialects.NAME]: every mistake in one at once, each with its key and what would be right."""

from pathlib import Path

import pytest

from goodput.errors import SettingsError
from goodput.settings.dialects import json_path
from goodput.settings.load import load_settings

WRONG = """
[dialects.acme]
layer = "proxy"
match = {}
fields = { model = 3 }
kind = "x"

[dialects.shop]
layer = "client"
match = { name = "shop.*" }
outcome = { attribute = "shop.result", success = "yes" }
fields = {}

[dialects.mine]
layer = "client"
match = { attributes = { "mine.kind" = "llm" } }
[dialects.mine.fields]
input_token = "mine.in"
layer = "mine.layer"
outcome = "mine.result"
trace_id = "mine.trace"
ttft_s = { attribute = "mine.ttft", unit = "minutes" }
e2e_s = "mine.e2e"
model = { attribute = "mine.model", unit = "tokens" }
intended_at = { attribute = "mine.asked", unit = "s" }
session_id = []

[dialects.lines]
reads = "json_lines"
layer = "gateway"
match = { name = "x", attributes = { "a..b" = "x" } }
[dialects.lines.fields]
model = "$.a[*]"
"""
TOLD = """\
goodput.toml: 18 mistakes
  line 3, dialects.acme.layer: 'proxy' is not usable
      right would be: 'client', 'gateway' or 'engine'
  line 4, dialects.acme.match: would match every row
      right would be: a name, a scope, or attributes with at least one value each
  line 5, dialects.acme.fields.model: 3 is not usable
      right would be: a table of keys and values
  line 6, dialects.acme.kind: no such key
      right would be: covers_tries, fields, layer, match, outcome, reads
  line 11, dialects.shop.outcome.success: no such key
      right would be: attribute, cancelled, error, ok, timeout
  line 18, dialects.mine.fields.input_token: attempts have no such column
      right would be: input_tokens, output_tokens, cached_input_tokens
  line 19, dialects.mine.fields.layer: is no attribute of a row
      right would be: the key `layer` of the dialect
  line 20, dialects.mine.fields.outcome: is no attribute of a row
      right would be: the table `outcome` of the dialect
  line 21, dialects.mine.fields.trace_id: is that of the span itself
      right would be: leave trace_id out
  line 22, dialects.mine.fields.ttft_s.unit: 'minutes' is no unit of a duration
      right would be: s, ms, us, ns
  line 23, dialects.mine.fields.e2e_s.unit: None is no unit of a duration
      right would be: s, ms, us, ns
  line 24, dialects.mine.fields.model.unit: 'tokens': this column has no unit
      right would be: leave `unit` out
  line 25, dialects.mine.fields.intended_at.unit: 's' is no time format
      right would be: epoch_s, epoch_ms, epoch_us, epoch_ns, iso8601, or a strptime format such as %Y-%m-%d %H:%M:%S
  line 26, dialects.mine.fields.session_id.attribute: is empty
      right would be: the name of at least one attribute
  line 31, dialects.lines.match.name: a JSON line has no name
      right would be: match.attributes
  line 31, dialects.lines.match.attributes: 'a..b' is no path in a JSON object
      right would be: usage.input, or $.usage."input"
  line 32, dialects.lines.fields: started_at is not mapped
      right would be: started_at = { attribute = "...", unit = "..." }
  line 33, dialects.lines.fields.model: '$.a[*]' is no path in a JSON object
      right would be: usage.input, or $.usage."input\""""


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "goodput.toml"
    path.write_text(WRONG)
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    assert str(caught.value).replace(f"{tmp_path}/", "") == TOLD


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("usage.input", '$."usage"."input"'),
        ("a b-c", '$."a b-c"'),
        ('$.usage."gen_ai.in"[0]', '$.usage."gen_ai.in"[0]'),
        ("a..b", None),
        ('say "x"', None),
        ("$", None),
        ("$.a.*", None),
        ("", None),
    ],
)
def test_names_become_paths(name: str, path: str | None) -> None:
    assert json_path(name) == path

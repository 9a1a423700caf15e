"""`goodput alarms test`: what the rules of the settings make of series that the operator makes up."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from goodput.cli.options import Config
from goodput.errors import RuleTestsFailed, SettingsError, UsageError


def try_rules(
    file: Annotated[Path, typer.Argument(help="YAML with `series` and what to `expect` of their alarms.")],
    config: Config = None,
) -> None:
    """Test the rules of the settings on made-up series: which alarm is in which state, at which hour.

    A series is a Monday's and later hours: `0.6x720 0.6*1.05x24` is 720 hours at 0.6 s, then 24 that grow by 5 %.

    Example:
      goodput alarms test drift.yaml
      # series: [{metric: p99_ttft_s, labels: {pool: chat}, noise: 0.07, values: "0.6x720 0.6*1.05x24"}]
      # expect: [{at_hour: 744, rule: p99_ttft_s_page, labels: {pool: chat}, state: firing}]
    """
    # All of it is slow to import, and listing alarms, a command beside this one, needs none.
    import yaml  # noqa: PLC0415
    from pydantic import ValidationError  # noqa: PLC0415

    from goodput.monitor.rule_tests import RuleTests, broken  # noqa: PLC0415
    from goodput.settings.load import load_settings  # noqa: PLC0415
    from goodput.settings.mistakes import mistakes_in  # noqa: PLC0415

    settings = load_settings(config)
    try:
        tests = RuleTests.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
        lines = list(broken(tests, settings))
    except ValidationError as error:
        raise SettingsError(file, mistakes_in(error, RuleTests)) from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{file}: cannot be used: {error}") from error
    if lines:
        raise RuleTestsFailed(file, lines)
    Console(stderr=True).print(f"{len(tests.expect)} expectation(s) hold", highlight=False)

"""A landing zone for a trial: the demo's files as they are, and fuzzed ones below `fuzz`."""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

from fuzz.exports import answer_file, focus_file, objects_file, prices_file, scrape_file
from fuzz.files import Fuzzed, broken
from fuzz.seeds import seeds
from fuzz.signals import json_file, protobuf_file
from fuzz.tables import FORMATS, TABLES, declarations, table_file
from goodput.simulate.demo import demo_settings
from oracle.write import toml

# What share of the inputs each kind is.
_SIGNALS = {"spans": 0.35, "logs": 0.12, "points": 0.15}
_IN_PROTOBUF = 0.1
_TABLES = 0.25
_FOCUS, _OBJECTS, _PRICES, _ANSWERS = 0.03, 0.04, 0.01, 0.03
_SCRAPES, _BROKEN = 1000, 400  # inputs for which there is one such file


def put_sane(folder: Path, settings: str | None = None) -> Path:
    """The demo below `folder`, with settings that declare the fuzzed tables too; the path of goodput.toml."""
    for path, content in seeds().files.items():
        _put(folder / "landing", Fuzzed(path.encode(), content, "", 0))
    config = folder / "goodput.toml"
    config.write_text(settings or drill_settings())
    return config


def drill_settings() -> str:
    """The demo's own, and the fuzzed tables."""
    return demo_settings() + toml({"sources": declarations()})


def put_fuzzed(chance: Random, folder: Path, inputs: int) -> list[Fuzzed]:
    """About so many fuzzed inputs of every kind below `folder`."""
    made = list(fuzzed(chance, inputs))
    for file in made:
        _put(folder / "landing", file)
    return made


def fuzzed(chance: Random, inputs: int) -> Iterator[Fuzzed]:
    """Files of every kind."""
    valid = []
    for signal, share in _SIGNALS.items():
        yield json_file(chance, signal, int(inputs * share * (1 - _IN_PROTOBUF)) + 1, 0)
        yield protobuf_file(chance, signal, int(inputs * share * _IN_PROTOBUF) + 1, 0)
        valid += [make(chance, signal, 20, 0).content for make in (json_file, protobuf_file)]
    for name in TABLES:
        for form in FORMATS:
            yield table_file(chance, name, form, int(inputs * _TABLES / len(TABLES) / len(FORMATS)) + 1, 0)
    yield focus_file(chance, int(inputs * _FOCUS) + 1, 0)
    yield answer_file(chance, int(inputs * _ANSWERS) + 1, 0)
    yield prices_file(chance, int(inputs * _PRICES) + 1, 0)
    for number in range(3):
        yield objects_file(chance, int(inputs * _OBJECTS / 3) + 1, number)
    for number in range(inputs // _SCRAPES + 2):
        yield scrape_file(chance, number)
    for number in range(inputs // _BROKEN + 3):
        yield broken(chance, valid, number)


def _put(landing: Path, file: Fuzzed) -> None:
    path = os.path.join(os.fsencode(landing), file.path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as written:
        written.write(file.content)

"""Which row is which, and where columns, attributes and labels come from."""

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

from collect.tables import START, T0, Outcome, read, small_pieces
from goodput.collect.received import LandedFile
from goodput.collect.tabular import read_table
from goodput.contracts import arrow_schema
from goodput.errors import SourceRefused
from goodput.settings.model import FileLimits
from goodput.settings.sources import TableSource


def ids(outcome: Outcome) -> list[str]:
    return outcome.frame["record_id"].to_list()


def test_a_row_is_its_cells_however_they_are_written(tmp_path: Path) -> None:
    plain = ids(read(tmp_path, "start,who\n1,a\n1,b\n1,a\n"))
    assert len(set(plain)) == 3
    assert ids(read(tmp_path, '\ufeffstart,who\r\n"1","a"\r\n1,b\r\n1,a')) == plain
    assert ids(read(tmp_path, "who,start\na,1\nb,1\na,1\n")) == plain
    assert ids(read(tmp_path, "start,who\n1,a\n", captures={"route": "x"})) != plain[:1]
    assert ids(read(tmp_path, "start,whom\n1,a\n")) != plain[:1]


def test_equal_rows_are_as_many_rows_however_the_file_falls_into_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = "start,who\n" + "1,a\n1,b\n" * 40 + "1,a\n"
    whole = ids(read(tmp_path, content))
    assert len(set(whole)) == 81
    assert whole[:2] == ids(read(tmp_path, "start,who\n1,a\n1,b\n"))  # the first of each is what it always was
    small_pieces(monkeypatch, 50)
    cut = read(tmp_path, content)
    assert len(cut.blocks) > 3
    assert ids(cut) == whole


def test_equal_rows_with_an_id_are_one(tmp_path: Path) -> None:
    columns = {"started_at": START, "request_key": "key"}
    first, second, third = ids(read(tmp_path, "start,key\n1,r1\n1,r1\n1,\n", columns))
    assert first == second != third
    label = {"labelled_at": START, "evaluator": "by", "request_key": "key"}
    first, second = ids(read(tmp_path, "start,by,key\n1,j,r\n1,j,r\n", label, table="quality_labels"))
    assert first == second
    cost = {"period_start": START, "period_end": {**START, "plus_s": 60}, "amount_usd": "usd"}
    found = read(tmp_path, "start,usd\n1,10\n1,10\n", cost, table="cost_records").frame
    assert found["cost_id"].n_unique() == 2
    cost["cost_id"] = "id"
    found = read(tmp_path, "start,usd,id\n1,10,x\n1,10,x\n", cost, table="cost_records").frame
    assert found["cost_id"].to_list() == ["x", "x"]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_attributes_come_from_columns_the_path_and_what_is_kept(tmp_path: Path, form: str) -> None:
    path, rows = tmp_path / "file", [{"start": 1, "Team": "a", "tier": "gold", "x": "y"}, {"start": 2, "Team": None}]
    frame = pl.DataFrame(rows, schema={"start": pl.Int64, "Team": pl.String, "tier": pl.String, "x": pl.String})
    if form == "csv":
        frame.write_csv(path)
    elif form == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    columns = {"started_at": START, "attributes": {"team": "Team", "org": {"unit": "tier"}}}
    source = TableSource.model_validate({"format": form, "path": "*", "columns": columns})
    file = LandedFile(path, tmp_path, "log", {"rps": "0.5", "team": "path", "route": "r"})
    [block] = read_table(file, source, FileLimits(), kept=("tier", "absent"))
    found = [json.loads(text) for text in block.tables["serving_records"]["attributes"]]
    # a column before the path; what has no value is not there
    assert found == [
        {"org.unit": "gold", "rps": "0.5", "team": "a", "tier": "gold"},
        {"rps": "0.5", "team": "path"},
    ]


def test_cells_of_a_row_cannot_run_into_each_other(tmp_path: Path) -> None:
    rows = ['1,"a,b",', "1,a,b", "1,,ab", "1,ab,", '1,"","ab "', '1,"a"",""b",']
    assert len(set(ids(read(tmp_path, "start,x,y\n" + "\n".join(rows) + "\n")))) == len(rows)


def test_record_ids_are_the_same_on_every_machine(tmp_path: Path) -> None:
    def md5(cells: list[str | None]) -> str:
        return hashlib.md5(json.dumps(cells, separators=(",", ":")).encode()).hexdigest()

    def shared(captures: dict[str, str], names: list[str]) -> str:
        text = json.dumps([captures, names]).encode()
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    csv_row = md5(["1", None, shared({"route": "x"}, ["start", "who"])])
    json_row = md5(['{"start":1}', shared({}, [])])
    assert ids(read(tmp_path, "start,who\n1,\n", captures={"route": "x"})) == [csv_row]
    assert ids(read(tmp_path, '{"start":1} \n', format="jsonl")) == [json_row]


def test_a_mapped_attempt_id_is_the_record_id_where_it_is_given(tmp_path: Path) -> None:
    columns = {"started_at": START, "attempt_id": "id"}
    found = ids(read(tmp_path, "start,id\n1,req-1\n2,\n", columns))
    assert found[0] == "req-1"
    assert found[1] == ids(read(tmp_path, "start,id\n2,\n"))[0]


def test_columns_come_from_mapping_then_path_then_constants(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "start,layer,pool,outcome\n1,Engine,p1,OK\n2,,,\n",
        {"started_at": START, "layer": "layer", "pool": "pool", "outcome": "outcome"},
        constants={"pool": "constant", "model": "constant", "streamed": True, "preemptions": 2},
        captures={
            "pool": "path",
            "preemptions": "3",
            "ended_at": "2026-01-01T00:00:00Z",
            "e2e_s": "1.5",
            "x": "y",
        },
    )
    rows = found.frame.to_dicts()
    assert [row["layer"] for row in rows] == ["engine", "gateway"]
    assert [row["pool"] for row in rows] == ["p1", "path"]
    assert [row["outcome"] for row in rows] == ["ok", None]
    same = {"model": "constant", "streamed": True, "preemptions": 3, "ended_ns": T0 * 10**9, "e2e_s": 1.5}
    assert all({name: row[name] for name in same} == same for row in rows)


DAY = {"column": "day", "unit": "%m/%d/%Y", "tz": "UTC"}


def test_costs_of_an_instant_are_refused_by_name_but_credits_and_those_of_one_call(tmp_path: Path) -> None:
    """A bill whose end is the last day that counts: its money would be one step's, and no other hour's of the day."""
    text = """\
day,until,usd,what,call,session
01/01/2026,01/02/2026,1,,,
01/01/2026,01/01/2026,2,Usage,,
01/01/2026,01/01/2026,4,,,
01/01/2026,01/01/2026,-8,Credit,,
01/01/2026,01/01/2026,16,tax ,,
01/01/2026,01/01/2026,32,,r-1,
01/01/2026,01/01/2026,64,,,s-1
01/01/2026,soon,128,,,
"""
    end = {**DAY, "column": "until"}
    spent_on = {"request_key": "call", "session_id": "session", "charge_category": "what"}
    cost = {"period_start": DAY, "period_end": end, "amount_usd": "usd", **spent_on}
    found = read(tmp_path, text, cost, table="cost_records")
    assert found.frame["amount_usd"].to_list() == [1, -8, 16, 32, 64]
    assert found.rules == {3: "period_is_an_instant", 4: "period_is_an_instant", 9: "period_end_unreadable"}
    assert found.rows_read == 8
    assert "plus_s = 86400" in found.refused[-1].reason
    whole = read(tmp_path, text, {**cost, "period_end": {**end, "plus_s": 86400}}, table="cost_records")
    assert whole.rules == {9: "period_end_unreadable"}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_texts_that_the_source_says_are_no_value(tmp_path: Path, form: str) -> None:
    path, columns = tmp_path / "file", {"started_at": START, "input_tokens": "n", "model": "m", "attributes.team": "t"}
    rows = [
        {"start": "1", "n": "NULL", "m": "NULL", "t": "-"},
        {"start": "2", "n": "5", "m": "null", "t": "-x"},
        {"start": "3", "n": "-", "m": None, "t": None},
    ]
    frame = pl.DataFrame(rows)
    written = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}
    written[form](path)
    source = TableSource.model_validate({"format": form, "path": "*", "columns": columns, "nulls": ["NULL", "-"]})
    [block] = read_table(LandedFile(path, tmp_path, "log"), source, FileLimits())
    assert not block.refused
    found = block.tables["serving_records"]
    assert found["input_tokens"].to_list() == [None, 5, None]
    assert found["model"].to_list() == [None, "null", None]  # as it is written: another text is a value
    assert [json.loads(text or "{}") for text in found["attributes"]] == [{}, {"team": "-x"}, {}]


def test_without_such_a_list_a_word_is_a_value(tmp_path: Path) -> None:
    found = read(
        tmp_path, "start,m,n\n1,NULL,NULL\n2,NULL,5\n", {"started_at": START, "model": "m", "input_tokens": "n"}
    )
    assert found.frame["model"].to_list() == ["NULL"]
    assert found.rules == {2: "input_tokens_unreadable"}


def test_a_path_that_gives_no_value_of_its_column_refuses_the_file(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused) as error:
        read(tmp_path, "start\n1\n", captures={"preemptions": "often", "streamed": "maybe"})
    assert "preemptions = 'often'" in error.value.reason
    assert "streamed = 'maybe'" in error.value.reason


LABEL_COLUMNS = {
    "labelled_at": START,
    "evaluator": "by",
    "trace_id": "trace",
    "span_id": "span",
    "response_id": "response",
    "request_key": "request",
    "session_id": "session",
}
TRACE, SPAN = "A" * 32, "B" * 16


def test_a_label_judges_the_most_exact_of_what_it_names(tmp_path: Path) -> None:
    rows = [
        f"1,j,{TRACE},{SPAN},resp,req,sess",
        f"2,j,{TRACE},,resp,req,sess",
        f"3,j,{TRACE},,,req,sess",
        f"4,j,{TRACE},,,,sess",
        f"5,j,,{SPAN},,,sess",
        "6,j,,,,,",
    ]
    content = "start,by,trace,span,response,request,session\n" + "\n".join(rows) + "\n"
    labels = read(tmp_path, content, LABEL_COLUMNS, table="quality_labels").frame
    assert labels.select("subject_kind", "subject_id", "response_id").rows() == [
        ("span", f"{'a' * 32}:{'b' * 16}", "resp"),
        ("response", "resp", None),
        ("request", "req", None),
        ("trace", "a" * 32, None),
        ("session", "sess", None),
        (None, None, None),
    ]
    assert labels["labelled_ns"].to_list() == [n * 10**9 for n in range(1, 7)]
    assert labels["label_id"].to_list() == labels["record_id"].to_list()
    assert labels["withdrawn"].to_list() == [False] * 6
    schema = pl.Schema(arrow_schema("label_records"))
    assert dict(labels.schema) == {name: schema[name] for name in labels.columns}


def test_declared_labels_name_the_plan_by_which_their_request_was_drawn(tmp_path: Path) -> None:
    content = "start,by,request,plan\n1,j,a,plan-1\n2,j,b,\n"
    columns = {"labelled_at": START, "evaluator": "by", "request_key": "request", "plan_id": "plan"}
    labels = read(tmp_path, content, columns, table="quality_labels").frame
    assert labels["plan_id"].to_list() == ["plan-1", None]


def test_verdicts_in_words_and_revisions_by_label_id(tmp_path: Path) -> None:
    columns = {
        "labelled_at": START,
        "evaluator": "by",
        "request_key": "request",
        "passed": "ok",
        "score": "score",
        "label_id": "id",
        "withdrawn": "gone",
    }
    words = ["true", "FALSE", "1", "0", "Yes", "no", "pass", "FAIL", "", "perhaps"]
    lines = [
        json.dumps({"start": n, "by": "j", "request": "r", "ok": word, "score": n / 4, "id": "L", "gone": n == 3})
        for n, word in enumerate(words)
    ]
    found = read(tmp_path, "\n".join(lines), columns, format="jsonl", table="quality_labels")
    labels = found.frame
    assert labels["passed"].to_list() == [True, False, True, False, True, False, True, False, None]
    assert labels["score"].to_list() == [n / 4 for n in range(9)]
    assert labels["withdrawn"].to_list() == [n == 3 for n in range(9)]
    assert set(labels["label_id"]) == {"L"}
    assert labels["record_id"].n_unique() == 9
    [row] = found.refused
    assert (row.line, row.table_name, row.rule) == (10, "label_records", "passed_unreadable")
    assert row.reason == "ok = text of 7 characters is not one of true, 1, yes, pass, false, 0, no, fail"

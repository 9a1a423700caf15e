"""Random labels of requests: by span, response or request, revised, withdrawn, late, or of nothing that is known."""

from random import Random

from oracle.fleet import MS, Row, S

EVALUATORS = ("help", "safe")


def labels_of(chance: Random, tries: list[list[Row]]) -> list[Row]:
    """Up to three labels some time after a request, some of them revised, withdrawn, late or of nothing known."""
    over = max(record.get("ended_at") or record["started_at"] for records in tries for record in records)
    rows: list[Row] = []
    for number in range(chance.choice([0, 0, 0, 1, 1, 2, 3])):
        made = over + chance.choice([5, 60, 900, 7100, 7300]) * S + (number * 50 + chance.randrange(40)) * MS
        subject = _subject(chance, tries)
        rows += (
            {
                **subject,
                "label_id": f"{tries[0][0]['attempt_id']}/{number}",
                "evaluator": EVALUATORS[number % 2],
                "labelled_at": made + revision * 11 * S,
                **_judgement(chance),
                "withdrawn": revision > 0 and chance.random() < 0.4,
            }
            for revision in range(chance.choice([1, 1, 1, 2]))
        )
    return rows


def _judgement(chance: Random) -> Row:
    return chance.choice(
        [
            {"passed": True},
            {"passed": False},
            {"score": 0.5},
            {"score": 0.8},
            {"score": 0.4},
            {"label": "pass"},
            {"label": "bad"},
        ]
    )


def _subject(chance: Random, tries: list[list[Row]]) -> Row:
    judged = chance.choice(chance.choice(tries))
    kind = chance.choice(["span", "span", "response", "request", "nothing"])
    if kind == "span":
        return {"trace_id": judged["trace_id"], "span_id": judged["span_id"]}
    if kind == "response" and judged.get("response_id"):
        return {"response_id": judged["response_id"]}
    first = tries[0][0]
    known = first.get("request_key") or first["attempt_id"]
    return {"request_key": known if kind != "nothing" else f"not-{known}"}

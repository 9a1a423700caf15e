"""Attempts that are bought by the token: docs/semantics.md#bought-tokens."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from oracle.facts import Piece
from oracle.fleet import Fleet, Row, exact
from oracle.ledger_rows import Payment, cut_of, is_for_model, ledger_row
from oracle.replicas import period, usd_in
from oracle.spans import overlap
from oracle.step import Step, counting, covers

KINDS = ("input_usd", "cached_input_usd", "output_usd")


class Bought:
    """What models cost that are bought by the token, and what pays for them."""

    def __init__(self, fleet: Fleet, records: list[Row], buckets: dict[str, str]) -> None:
        self.fleet, self.records, self.buckets = fleet, records, buckets
        self.paid: list[Payment] = []

    def rows(self, step: Step, here: list[Row]) -> Iterator[Row]:
        """Rows of attempts that are bought in a step, and what their models are billed."""
        billed: dict[str, list[Row]] = defaultdict(list)
        for record in self.records:
            if is_for_model(record) and overlap(period(record), step.span):
                billed[record["model"]].append(record)
        for model, records in billed.items():
            if not any(attempt["model"] == model for attempt in here):
                for record in counting(records):
                    usd = usd_in(record, [step.span])
                    yield ledger_row("overhead", usd, Fraction(0), 0, model=model, record=record)
        for model in {attempt["model"] for attempt in here}:
            own = [Piece(self.fleet, attempt, step.span) for attempt in here if attempt["model"] == model]
            counted = counting(billed[model])
            if any(covers(record) for record in counted):
                yield from self._of_model(own, step, counted)
            else:
                yield from self._of_model(own, step, [])
                for record in counted:
                    yield ledger_row(
                        "overhead", usd_in(record, [step.span]), Fraction(0), 0, model=model, record=record
                    )

    def _of_model(self, pieces: list[Piece], step: Step, records: list[Row]) -> Iterator[Row]:
        """Attempts of one model in a step, and the records that bill it."""
        name = f"model {pieces[0].attempt['model']}"
        paid = [Payment(step.span[0], name, record, usd_in(record, [step.span])) for record in records]
        billed = sum((payment.usd for payment in paid), Fraction(0))
        self.paid += paid
        works = [(piece.reported or Fraction(0)) * piece.share for piece in pieces]
        for piece, work in zip(pieces, works, strict=True):
            listed = {} if records else self._listed(piece)
            cost = sum(listed.values(), Fraction(0)) if listed else self._told(piece)
            cost = billed * (work / sum(works) if sum(works) else Fraction(1, len(works))) if records else cost
            tokens = sum((piece.tokens(kind) or Fraction(0) for kind in ("input_tokens", "output_tokens")), Fraction(0))
            cut, payer = cut_of(piece.attempt, step), name if records else None
            yield (
                ledger_row(self.buckets[piece.name], cost, Fraction(0), tokens, **cut, is_there=True, payer=payer)
                | listed
            )

    def is_priced(self, attempt: Row, step: Step) -> bool:
        """Whether what an attempt took in a step has a price: its model's bill, a listed one, or its gateway's word."""
        of_model = (r for r in self.records if is_for_model(r) and covers(r) and r["model"] == attempt["model"])
        if any(overlap(period(record), step.span) for record in of_model):
            return True
        piece = Piece(self.fleet, attempt, step.span)
        return bool(self._listed(piece)) or self._told(piece) is not None

    def _told(self, piece: Piece) -> Fraction | None:
        """What the gateway says."""
        usd = exact(piece.attempt["reported_cost_usd"])
        return usd * piece.share if usd else None

    def _listed(self, piece: Piece) -> dict[str, Fraction]:
        """What the price list says of each kind of tokens; nothing where the attempt does not report its input."""
        price = self.fleet.prices.get(piece.attempt["model"])
        given, output = piece.attempt["input_tokens"], piece.attempt["output_tokens"]
        if price is None or given is None:
            return {}
        cached, written = (piece.attempt[f"{name}_tokens"] or 0 for name in ("cached_input", "cache_write"))
        reasoning = piece.attempt["reasoning_tokens"] or 0
        usd = {kind: Fraction(of) * piece.share for kind, of in price.items()}
        if given > 1000 and "above_1k" in usd:
            usd["input"] = usd["above_1k"]
        return dict(
            zip(
                KINDS,
                (
                    usd["input"] * max(0, given - cached - written) + usd.get("cache_write", usd["input"]) * written,
                    usd.get("cached", usd["input"]) * cached,
                    usd["output"] * max(0, (output or 0) - reasoning) + usd.get("reasoning", usd["output"]) * reasoning,
                ),
                strict=True,
            )
        )

-- description: Bills of models that are bought by the token, in windows in which they were called
-- unit: credits and taxes alone are no bill: they are overhead of the model
-- grain: model, step_s
-- reads: cost_pieces, ledger_pieces, replica_costs
WITH bills AS (
    SELECT model, step_s, min(rank) FILTER (WHERE covers) AS rank, sum_usd(usd) AS usd
    FROM cost_pieces
    WHERE level = 'model' AND is_best
    GROUP BY model, step_s
    HAVING bool_or(covers)
)
SELECT
    b.model, b.step_s, b.usd,
    ['billing', 'allocation', 'rate_card'][b.rank] AS basis,
    coalesce(sum_steady(p.reported_work * p.share), 0) AS work,
    count(*) AS pieces
FROM bills AS b
JOIN ledger_pieces AS p ON p.model = b.model AND p.step_s = b.step_s
LEFT JOIN replica_costs AS c ON c.replica = p.replica AND c.step_s = p.step_s
WHERE is_bought(c.usd, p.engine_seen, c.by_engine) AND NOT p.answered_from_cache
GROUP BY b.model, b.step_s, b.usd, b.rank

-- description: Lines of bills and price lists that pay for request `key`, as far as these name its replica, pool or model as telemetry does
-- grain: source, line
-- reads: cost_ledger, cost_records, source_ledger, token_prices
WITH spent AS (
    SELECT basis, pool, replica, model, min(window_start) AS from_at, max(window_start + to_seconds(window_s)) AS until_at
    FROM cost_ledger
    WHERE request_key = $key AND usd IS NOT NULL
    GROUP BY basis, pool, replica, model
),
charges AS (
    SELECT DISTINCT
        c.basis, coalesce(c.request_key, c.replica, c.pool, c.model) AS pays_for, c.period_start AS from_at, c.period_end AS until_at,
        c.amount_usd, NULL AS input_token_usd, NULL AS output_token_usd, c.source, c.line
    FROM spent AS s
    JOIN cost_records AS c ON c.basis = s.basis AND c.period_start < s.until_at AND c.period_end > s.from_at
        AND (c.request_key = $key
            OR c.request_key IS NULL AND (c.replica = s.replica
                OR c.replica IS NULL AND (c.pool = s.pool OR c.pool IS NULL AND c.model = s.model)))
    UNION ALL
    SELECT DISTINCT 'token_price', p.model, p.valid_from, p.valid_to, NULL, p.input_token_usd, p.output_token_usd, p.source, p.line
    FROM spent AS s
    JOIN token_prices AS p ON p.model = s.model AND p.valid_from < s.until_at AND (p.valid_to IS NULL OR p.valid_to > s.from_at)
    WHERE s.basis = 'token_price'
)
SELECT c.*, l.path, l.landing
FROM charges AS c
LEFT JOIN source_ledger AS l ON l.source_id = c.source
ORDER BY c.basis, c.from_at, c.source, c.line

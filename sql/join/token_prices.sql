-- description: Prices of tokens and the time for which they hold; a list that repeats the prices before it changes nothing
-- grain: model, valid_from
WITH dated AS (
    SELECT
        p.*,
        d.content_hash,
        coalesce(
            try_strptime(left(d.dated, 8), '%Y%m%d')::TIMESTAMPTZ, r.valid_from, '2020-01-01 00:00:00+00'::TIMESTAMPTZ
        ) AS valid_from,
        md5(to_json([
            provider, input_token_usd::VARCHAR, output_token_usd::VARCHAR, cached_input_token_usd::VARCHAR,
            cache_write_token_usd::VARCHAR, reasoning_token_usd::VARCHAR, tiered::VARCHAR
        ])::VARCHAR) AS said
    FROM price_lines AS p
    JOIN dated_sources AS d USING (source_id)
    CROSS JOIN price_rules AS r
),
lists AS (
    SELECT * FROM dated
    QUALIFY row_number() OVER (PARTITION BY model, valid_from ORDER BY content_hash DESC, record_id) = 1
),
changes AS (
    SELECT * FROM lists
    QUALIFY said IS DISTINCT FROM lag(said) OVER (PARTITION BY model ORDER BY valid_from)
)
SELECT
    model,
    valid_from,
    lead(valid_from) OVER (PARTITION BY model ORDER BY valid_from) AS valid_to,
    provider,
    input_token_usd,
    output_token_usd,
    cached_input_token_usd,
    cache_write_token_usd,
    reasoning_token_usd,
    tiered,
    content_hash AS source_hash,
    source_id AS source,
    line
FROM changes

-- description: Prices of tokens and the time for which they hold; a list that repeats the previous prices changes nothing
-- grain: model, valid_from
-- reads: price_lines, price_rules, source_files
-- A list that was replaced under its path says what its model costs as it is now; one that no longer has a model says nothing of it.
WITH dated_lists AS (
    SELECT
        p.*,
        f.content_hash,
        f.landing, f.path, f.ingested_ns,
        coalesce(
            try_strptime(left(path_date(f.path), 8), '%Y%m%d')::TIMESTAMPTZ, r.valid_from, '2020-01-01 00:00:00+00'::TIMESTAMPTZ
        ) AS valid_from,
        md5(to_json([
            provider, input_token_usd::VARCHAR, output_token_usd::VARCHAR, cached_input_token_usd::VARCHAR,
            cache_write_token_usd::VARCHAR, reasoning_token_usd::VARCHAR, tiered::VARCHAR,
            tier_above_tokens::VARCHAR, tier_input_token_usd::VARCHAR, tier_output_token_usd::VARCHAR, tier_cached_input_token_usd::VARCHAR,
            tier_cache_write_token_usd::VARCHAR
        ])::VARCHAR) AS price_digest
    FROM price_lines AS p
    JOIN source_files AS f USING (source_id)
    CROSS JOIN price_rules AS r
    WHERE NOT f.is_past  -- where a list was moved from says nothing of it any more
),
newest AS (
    SELECT * FROM dated_lists
    QUALIFY row_number() OVER (PARTITION BY landing, path, model ORDER BY ingested_ns DESC, source_id DESC, record_id) = 1
),
lists AS (
    SELECT * FROM newest
    QUALIFY row_number() OVER (PARTITION BY model, valid_from ORDER BY path DESC, landing DESC) = 1
),
changes AS (
    SELECT * FROM lists
    QUALIFY price_digest IS DISTINCT FROM lag(price_digest) OVER (PARTITION BY model ORDER BY valid_from)
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
    tier_above_tokens,
    tier_input_token_usd,
    tier_output_token_usd,
    tier_cached_input_token_usd,
    tier_cache_write_token_usd,
    content_hash AS source_hash,
    source_id AS source,
    line
FROM changes

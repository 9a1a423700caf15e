-- description: What the latest published day (else the longest window) leaves out, a line each: requests that no telemetry shows, and work without a known cost
-- grain: caveat
-- reads: goodput, waste
WITH latest AS (
    SELECT window_s, max(window_start) AS window_start
    FROM goodput
    WHERE window_s = (SELECT max(window_s) FROM goodput)
    GROUP BY window_s
),
overall AS (
    SELECT g.* FROM goodput AS g JOIN latest USING (window_s, window_start) WHERE g.slice = 'overall'
),
unpriced AS (
    SELECT sum(w.unpriced)::BIGINT AS entries
    FROM waste AS w
    JOIN latest USING (window_s, window_start)
    WHERE w.slice = 'overall'
)
SELECT
    format('Engines counted {:.0f} request(s) more than any telemetry shows: goodput is {:.1f} % if none of them was '
            || 'accepted, {:.1f} % if all were',
        unobserved, 100 * goodput_ratio_low, 100 * goodput_ratio_high) AS line
FROM overall
WHERE unobserved >= greatest(1, 0.005 * offered) -- of counters a request or two is always in another window
UNION ALL
SELECT
    format('{} part(s) of the work have no known cost: costs above leave them out, and are too low. Scrapes and `[rates]`, '
            || 'or a bill, price them',
        entries)
FROM unpriced
WHERE entries > 0 AND EXISTS (FROM goodput JOIN latest USING (window_s, window_start) WHERE cost_per_accepted_usd IS NOT NULL)

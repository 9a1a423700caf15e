-- description: Requests of the latest published day (else the longest window) that no workload selects, in one line with the models and routes that they carry
-- grain: one row at most
-- reads: goodput
WITH latest AS (
    SELECT window_s, max(window_start) AS window_start
    FROM goodput
    WHERE window_s = (SELECT max(window_s) FROM goodput)
    GROUP BY window_s
),
named AS (
    SELECT
        sum(ungated)::BIGINT AS requests,
        format('{} of model {}, route {}', requests, model, route) AS described,
        row_number() OVER (ORDER BY requests DESC, model, route) AS place
    FROM goodput
    JOIN latest USING (window_s, window_start)
    WHERE slice = 'finest' AND ungated > 0
    GROUP BY model, route
)
SELECT
    format('{} request(s) match no workload of the settings: they are ungated, and none of them is accepted ({}{}). '
            || 'Let the `match` of a workload select them',
        sum(requests),
        string_agg(described, '; ' ORDER BY place) FILTER (WHERE place <= 5),
        CASE WHEN count(*) > 5 THEN format('; {} more', count(*) - 5) ELSE '' END) AS line
FROM named
HAVING count(*) > 0

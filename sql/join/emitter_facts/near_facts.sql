-- description: What is known in each hour of the systems that write records: by their records of that hour and of those beside it (docs/semantics.md#one-attempt-several-records)
-- grain: epoch_hour, fact, emitter, other
-- reads: emitter_facts
SELECT f.epoch_hour + a.away AS epoch_hour, f.fact, f.emitter, f.other, sum(f.calls)::BIGINT AS calls
FROM emitter_facts AS f
CROSS JOIN (SELECT unnest([-1, 0, 1]) AS away) AS a
WHERE f.fact <> 'pool'
GROUP BY ALL

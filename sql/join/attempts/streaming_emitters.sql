-- description: Instrumentations of callers that record which of their answers were streamed, by a flag or a first token: an answer of theirs without either was not (docs/semantics.md#latency)
-- grain: instrumentation
-- reads: serving_records
SELECT DISTINCT instrumentation
FROM serving_records
WHERE layer = 'client' AND streamed AND instrumentation IS NOT NULL

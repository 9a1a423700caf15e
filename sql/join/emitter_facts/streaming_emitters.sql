-- description: Instrumentations of callers that record which of their answers were streamed, by a flag or a first token, and the hours of which that is known: an answer of theirs without either was not (docs/semantics.md#latency)
-- grain: epoch_hour, instrumentation
-- reads: near_facts
SELECT epoch_hour, emitter AS instrumentation
FROM near_facts
WHERE fact = 'streams'

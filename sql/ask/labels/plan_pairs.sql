-- description: Of each workload the pairs of requests of one session, and how alike their labels are (docs/semantics.md#a-sampling-plan)
-- grain: workload
-- reads: plan_units
-- unit: likeness: 0 where one request's label says nothing of another's of its session, 1 where it says all; the upper end of what labels
-- leave room for, as far as a share of so many sessions lies
-- Pairs are ordered, as in `label_clusters`.
WITH sessions AS (
    SELECT workload, session_id, count(*) AS need, count(passed) AS labelled, count(*) FILTER (WHERE passed) AS passed
    FROM plan_units
    WHERE needs_label AND session_id IS NOT NULL
    GROUP BY ALL
    HAVING need > 1
),
summed AS (
    SELECT
        workload,
        sum(need * (need - 1)) AS pairs,
        sum(labelled * (labelled - 1)) AS labelled_pairs,
        sum(passed * (labelled - 1)) AS passed_pairs,
        sum(passed * (passed - 1)) AS both_passed_pairs,
        sum(2 * labelled * (need - labelled)) AS half_labelled_pairs,
        sum(need - 1) AS followers,
        sum(greatest(labelled - 1, 0)) AS labelled_followers,
        ratio(sum(passed), sum(labelled)) AS rate,
        alike_in_sessions(rate, labelled_pairs, passed_pairs, both_passed_pairs) AS alike,
        labelled_pairs / avg(need * (need - 1)) AS labelled_sessions,
        -- where all or none pass, labels say nothing of likeness
        coalesce(ratio(alike, labelled_pairs * rate * (1 - rate)), 1) AS seen
    FROM sessions
    GROUP BY workload
)
SELECT
    workload, pairs, labelled_pairs, passed_pairs, both_passed_pairs, half_labelled_pairs, followers, labelled_followers,
    least(1, greatest(0, shrunk(labelled_sessions * seen, labelled_sessions, 1))) AS likely,
    CASE WHEN labelled_sessions > 0 THEN wilson(likely, labelled_sessions, z := 1.6448536269514722).high ELSE 1 END AS likeness
FROM summed

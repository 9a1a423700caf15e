-- description: Every dollar of cost records by UTC day and billing source: what it was spent on, or why it is in no window (docs/semantics.md#reconciliation)
-- grain: day_start, dialect, basis
-- reads: billed_buckets, billed_days, closed_time, cost_records, target_hours
-- identity: M: what is billed is outside, displaced by a better basis or in a bucket
WITH days AS (
    SELECT DISTINCT epoch_hour // 24 AS day, day * 86400000000 AS from_us, from_us + 86400000000 AS until_us FROM target_hours
),
timed AS (
    SELECT dialect, basis, amount_usd, epoch_us(period_start) AS begin_us, epoch_us(period_end) AS end_us FROM cost_records
),
billed AS (
    SELECT
        d.day, t.dialect, t.basis,
        sum_usd(amount_usd * CASE
            WHEN end_us > begin_us THEN (least(end_us, until_us) - greatest(begin_us, from_us)) / (end_us - begin_us)
            ELSE 1 -- a charge of no duration lies where it begins
        END) AS billed_usd
    FROM timed AS t
    JOIN days AS d ON begin_us < until_us AND (end_us > from_us OR begin_us >= from_us)
    GROUP BY ALL
),
buckets AS (
    SELECT
        epoch_hour // 24 AS day, dialect, basis,
        coalesce(sum_usd(CASE WHEN bucket = 'displaced' THEN usd END), 0) AS displaced_usd,
        coalesce(sum_usd(CASE WHEN bucket <> 'displaced' THEN usd END), 0) AS allocated_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'accepted' THEN usd END), 0) AS accepted_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'slow' THEN usd END), 0) AS slow_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'rejected' THEN usd END), 0) AS rejected_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'failed' THEN usd END), 0) AS failed_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'ungated' THEN usd END), 0) AS ungated_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'over_budget' THEN usd END), 0) AS over_budget_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'unevaluable' THEN usd END), 0) AS unevaluable_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'unlabelled' THEN usd END), 0) AS unlabelled_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'retry' THEN usd END), 0) AS retry_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'abandoned' THEN usd END), 0) AS abandoned_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'preemption' THEN usd END), 0) AS preemption_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'speculation' THEN usd END), 0) AS speculation_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'idle' THEN usd END), 0) AS idle_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'overhead' THEN usd END), 0) AS overhead_usd,
        coalesce(sum_usd(CASE WHEN bucket = 'unattributed' THEN usd END), 0) AS unattributed_usd
    FROM billed_buckets
    GROUP BY ALL
),
joined AS (
    SELECT
        * REPLACE (
            coalesce(billed_usd, 0) AS billed_usd, coalesce(displaced_usd, 0) AS displaced_usd, coalesce(allocated_usd, 0) AS allocated_usd
        ),
        coalesce(billed_usd, 0) - coalesce(displaced_usd, 0) - coalesce(allocated_usd, 0) AS left_usd,
        CASE
            -- what bills said when the day was closed is in its buckets, and nothing is charged to it since
            WHEN day * 86400 < h.until_s THEN
                CASE WHEN abs(left_usd) <= 1e-9 * greatest(1, abs(billed_usd), abs(displaced_usd), abs(allocated_usd)) THEN 0 ELSE left_usd END
            WHEN day * 86400 >= c.from_s AND day * 86400 < c.until_s THEN 0
            ELSE coalesce(billed_usd, 0)
        END AS outside_usd
    FROM billed
    FULL JOIN buckets USING (day, dialect, basis)
    CROSS JOIN billed_days AS c
    CROSS JOIN closed_time AS h
)
SELECT
    make_timestamptz(day * 86400000000) AS day_start,
    dialect, basis, billed_usd, outside_usd, displaced_usd, allocated_usd,
    coalesce(accepted_usd, 0) AS accepted_usd,
    coalesce(slow_usd, 0) AS slow_usd,
    coalesce(rejected_usd, 0) AS rejected_usd,
    coalesce(failed_usd, 0) AS failed_usd,
    coalesce(ungated_usd, 0) AS ungated_usd,
    coalesce(over_budget_usd, 0) AS over_budget_usd,
    coalesce(unevaluable_usd, 0) AS unevaluable_usd,
    coalesce(unlabelled_usd, 0) AS unlabelled_usd,
    coalesce(retry_usd, 0) AS retry_usd,
    coalesce(abandoned_usd, 0) AS abandoned_usd,
    coalesce(preemption_usd, 0) AS preemption_usd,
    coalesce(speculation_usd, 0) AS speculation_usd,
    coalesce(idle_usd, 0) AS idle_usd,
    coalesce(overhead_usd, 0) AS overhead_usd,
    coalesce(unattributed_usd, 0) AS unattributed_usd,
    billed_usd - outside_usd - displaced_usd - allocated_usd AS difference_usd
FROM joined

-- description: Lines of costs that are in no number by no choice: in a currency without a rate, or at a rate beyond belief, or with the cost_id of another row of their file
-- grain: subject
-- reads: unused_cost_lines
WITH unused AS (
    SELECT dialect, reason, currency, count(*) AS lines, sum(amount::DECIMAL(38, 12)) AS amount,
        min(period_start) AS from_at, max(period_end) AS until_at
    FROM unused_cost_lines
    WHERE reason IN ('no_exchange_rate', 'amount_not_believed', 'same_cost_id')
    GROUP BY ALL
)
SELECT
    'high' AS severity,
    format('{}: {}', dialect, CASE reason WHEN 'same_cost_id' THEN 'cost_id' ELSE currency END) AS subject,
    string_agg(
        CASE reason
            WHEN 'no_exchange_rate' THEN format('{:,} line(s) of {} with {:,.2f} {} are in no number: [costs.currencies] has no rate for {}. '
                || 'Give the US dollars for one unit of it', lines, dialect, amount::DOUBLE, currency, currency)
            WHEN 'amount_not_believed' THEN format('{:,} line(s) of {} with {:,.2f} {} are in no number: at the rate in [costs.currencies] '
                || 'each is more than a billion US dollars. Check the rate', lines, dialect, amount::DOUBLE, currency)
            ELSE format('{:,} line(s) of {} with {:,.2f} {} are in no number: another row of the same file has their cost_id. '
                || 'Map a column that identifies a row, or none', lines, dialect, amount::DOUBLE, currency)
        END, ' ' ORDER BY currency) AS message,
    sum(lines) AS affected,
    sum(amount) FILTER (WHERE currency = 'USD')::DOUBLE AS amount_usd,
    min(from_at) AS first_seen_at,
    max(until_at) AS last_seen_at
FROM unused
GROUP BY subject

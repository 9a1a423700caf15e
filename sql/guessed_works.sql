-- description: What attempts that do not tell all their tokens are taken to have asked of their replica, by attempts alike (semantics 5)
-- grain: attempt_id, step_s
-- unit: weighted tokens; error_work: 95 % of such attempts lie within work +- error_work, if they are draws of those alike
-- Alike are the attempts of the workload that the replica served in the window and that tell everything. Least squares on
-- them say what a prompt took by the time to its first token, or by its tokens where these are told and say it better; and
-- what an answer took by the time since. An attempt that was given up before its first token got somewhere between nowhere
-- and through its prompt, less where it was given up sooner than first tokens come: half of a prompt is assumed. Where fewer
-- than three are alike nothing is said here: such an attempt counts by its time.
WITH unsure AS (
    SELECT *, coalesce(workload, '') AS kind FROM ledger_pieces WHERE is_unsure AND is_wanted AND replica IS NOT NULL
),
sums AS (
    SELECT
        replica, step_s, coalesce(workload, '') AS kind,
        sum_steady(share) AS n,
        sum_steady(share * prompt_work) AS p, sum_steady(share * prompt_work ** 2) AS pp,
        sum_steady(share * wait_s) AS w, sum_steady(share * wait_s ** 2) AS ww, sum_steady(share * wait_s * prompt_work) AS wp,
        sum_steady(share * input_tokens ** 2) AS ii, sum_steady(share * input_tokens * prompt_work) AS ip,
        sum_steady(CASE WHEN decode_s > 0 THEN share END) AS m,
        sum_steady(CASE WHEN decode_s > 0 THEN share * decode_work ** 2 END) AS dd,
        sum_steady(share * decode_s ** 2) AS ss, sum_steady(share * decode_s * decode_work) AS sd
    FROM ledger_pieces
    WHERE is_wanted AND NOT is_unsure AND (replica, step_s, kind) IN (SELECT (replica, step_s, kind) FROM unsure)
    GROUP BY ALL
),
alike AS (
    SELECT
        replica, step_s, kind, n,
        p / n AS prompt, w / n AS wait_s, ww - w * w / n AS wait_spread,
        -- whoever waits longer did not ask for less
        coalesce(greatest(0, ratio(wp - w * p / n, wait_spread)), 0) AS prompt_per_s,
        spread((pp - p * p / n) / n, n) AS any_variance,
        (pp - p * p / n - 2 * prompt_per_s * (wp - w * p / n) + prompt_per_s ** 2 * wait_spread) / n AS waited_variance,
        ratio(ip, ii) AS prompt_per_token, (pp - prompt_per_token * ip) / n AS counted_variance,
        ratio(sd, ss) AS decode_per_s, spread((dd - decode_per_s * sd) / ss, m) AS decode_variance
    FROM sums
    WHERE n >= 3
),
by_facts AS (
    SELECT
        u.attempt_id, u.step_s, u.share, u.is_waiting, u.prompt_work AS told_prompt, u.decode_work AS told_decode,
        least(1, coalesce(ratio(u.wait_s, a.wait_s), 1)) AS reached,
        a.prompt AS any_prompt, a.any_variance,
        greatest(0, a.prompt + a.prompt_per_s * (u.wait_s - a.wait_s)) AS waited_prompt,
        a.waited_variance,
        a.prompt_per_token * u.input_tokens AS counted_prompt,
        a.counted_variance,
        a.decode_per_s * u.decode_s AS decode,
        a.decode_variance * u.decode_s ** 2 AS decode_variance
    FROM unsure AS u
    JOIN alike AS a USING (replica, step_s, kind)
),
guessed AS (
    SELECT
        attempt_id, step_s, share, reached, is_waiting, any_prompt, any_variance,
        coalesce(told_prompt, CASE WHEN counted_variance < waited_variance THEN counted_prompt END, waited_prompt)
            + coalesce(told_decode, decode) AS work,
        -- a line through so few promises more than it keeps: how much prompts differ at all is what bounds the error
        CASE WHEN told_prompt IS NULL THEN any_variance ELSE 0 END
            + CASE WHEN told_decode IS NULL THEN decode_variance ELSE 0 END AS variance
    FROM by_facts
)
SELECT
    attempt_id, step_s,
    share * CASE WHEN is_waiting THEN reached * any_prompt / 2 ELSE g.work END AS work,
    share * CASE
        WHEN is_waiting THEN reached * (any_prompt / 2 + 1.959963984540054 * sqrt(any_variance))
        ELSE 1.959963984540054 * sqrt(variance)
    END AS error_work
FROM guessed AS g
WHERE is_waiting OR (g.work IS NOT NULL AND variance IS NOT NULL)

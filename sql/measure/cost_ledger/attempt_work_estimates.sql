-- description: The estimated work of attempts that do not report all their tokens, from similar attempts (docs/semantics.md#attempts-that-report-too-little)
-- grain: attempt_id, step_s
-- reads: counter_steps, ledger_pieces
-- unit: weighted tokens; error_work: 95 % of such attempts lie within work +- error_work; common_error_work: the part of that error
-- which all of them share
-- Similar attempts are those of the same workload that the replica served in the window and that report everything. Least
-- squares on them estimate the work of a prompt from the time to its first token, or from its tokens where they are reported
-- and fit better; and the work of an answer from the time after that. With fewer than three of them, an attempt counts by its time.
-- An attempt that was abandoned before its first token had done between none and all of its prompt: half is assumed. A prompt that
-- it does not report is its share, by time waited, of the tokens that the replica's counters saw started in the hour beyond those of other attempts;
-- without counters it is the mean of similar attempts, less where it was abandoned sooner than first tokens come.
-- An attempt with a first token is a random draw of the similar ones. An abandoned one is not: long prompts time out, and how far
-- they got depends on what delayed them. If half is wrong, it is wrong the same way for all; so is, without counters, assuming
-- prompts like those that got through.
WITH needing AS (
    SELECT *, coalesce(workload, '') AS kind FROM ledger_pieces WHERE needs_estimate AND replica IS NOT NULL
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
    WHERE NOT needs_estimate AND wait_s IS NOT NULL AND (replica, step_s, kind) IN (SELECT (replica, step_s, kind) FROM needing)
    GROUP BY ALL
),
alike AS (
    SELECT
        replica, step_s, kind, n,
        p / n AS prompt, w / n AS wait_s,
        squares_about(ww, w * w / n) AS wait_squares, squares_about(pp, p * p / n) AS prompt_squares,
        -- a longer wait never means a shorter prompt
        coalesce(greatest(0, ratio(wp - w * p / n, wait_squares)), 0) AS prompt_per_s,
        spread(prompt_squares / n, n) AS any_variance,
        (prompt_squares - 2 * prompt_per_s * (wp - w * p / n) + prompt_per_s ** 2 * wait_squares) / n AS waited_variance,
        ratio(ip, ii) AS prompt_per_token, (pp - prompt_per_token * ip) / n AS counted_variance,
        counted_variance <= waited_variance + 1e-9 * pp / n AS tokens_tell,
        ratio(sd, ss) AS decode_per_s, spread(squares_about(dd, decode_per_s * sd) / nullif(ss, 0), m) AS decode_variance
    FROM sums
    WHERE n >= 3
),
by_facts AS (
    SELECT
        u.*, a.prompt AS any_prompt, a.any_variance,
        least(1, coalesce(ratio(u.wait_s, a.wait_s), 1)) AS reached,
        CASE
            WHEN u.prompt_work IS NOT NULL THEN u.prompt_work
            WHEN u.is_waiting THEN NULL
            WHEN u.input_tokens IS NOT NULL AND a.tokens_tell THEN a.prompt_per_token * u.input_tokens
            WHEN u.wait_s IS NOT NULL THEN at_least(a.prompt + a.prompt_per_s * (u.wait_s - a.wait_s), 0)
        END AS prompt,
        coalesce(u.decode_work, a.decode_per_s * u.decode_s) AS decode,
        -- a line through so few points fits too well: the variance of prompts as such bounds the error
        CASE WHEN u.prompt_work IS NULL THEN a.any_variance ELSE 0 END
            + CASE WHEN u.decode_work IS NULL THEN a.decode_variance * u.decode_s ** 2 ELSE 0 END AS variance
    FROM needing AS u
    LEFT JOIN alike AS a USING (replica, step_s, kind)
),
known AS (
    SELECT replica, step_s // 3600 AS epoch_hour, sum_steady(share * prompt_work) AS work,
        max(prefill_weight) AS prefill_weight, max(cached_weight) AS cached_weight
    FROM ledger_pieces
    WHERE replica IN (SELECT replica FROM needing WHERE is_waiting)
    GROUP BY ALL
),
waits AS (
    SELECT replica, step_s // 3600 AS epoch_hour,
        coalesce(sum_steady(CASE WHEN prompt_work IS NULL THEN share * prompt END), 0) AS estimated_work,
        sum_steady(CASE WHEN is_waiting AND prompt_work IS NULL THEN share * wait_s END) AS wait_s
    FROM by_facts
    GROUP BY ALL
),
begun AS (
    SELECT replica, step_s // 3600 AS epoch_hour,
        sum_steady(begun_tokens) AS tokens, sum_steady(begun_cached_tokens) AS cached_tokens
    FROM counter_steps
    GROUP BY ALL
),
given_up AS (
    SELECT k.replica, k.epoch_hour,
        ratio(
            at_least(
                k.prefill_weight * (b.tokens - b.cached_tokens) + k.cached_weight * b.cached_tokens
                    - coalesce(k.work, 0) - w.estimated_work,
                0),
            w.wait_s) AS prompt_per_s
    FROM known AS k
    JOIN waits AS w USING (replica, epoch_hour)
    JOIN begun AS b USING (replica, epoch_hour)
),
estimated AS (
    SELECT
        f.attempt_id, f.step_s, f.share,
        g.prompt_per_s * f.wait_s AS begun_prompt,
        CASE WHEN f.is_waiting THEN coalesce(f.prompt, begun_prompt, f.reached * f.any_prompt) / 2 ELSE f.prompt + f.decode END
            AS work,
        CASE
            WHEN NOT f.is_waiting THEN 1.959963984540054 * sqrt(f.variance)
            WHEN f.prompt IS NOT NULL THEN work
            ELSE work + coalesce(f.reached * 1.959963984540054 * sqrt(f.any_variance), work)
        END AS error_work,
        CASE WHEN NOT f.is_waiting THEN 0 WHEN coalesce(f.prompt, begun_prompt) IS NULL THEN error_work ELSE work END AS common_error_work
    FROM by_facts AS f
    LEFT JOIN given_up AS g ON g.replica = f.replica AND g.epoch_hour = f.step_s // 3600
)
SELECT attempt_id, step_s, share * work AS work, share * error_work AS error_work, share * common_error_work AS common_error_work
FROM estimated
WHERE work IS NOT NULL AND error_work IS NOT NULL

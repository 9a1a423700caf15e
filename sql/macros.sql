-- description: Arithmetic that more than one relation uses, each defined once
-- A ratio of nothing is unknown, not zero.
CREATE OR REPLACE TEMP MACRO ratio(n, d) AS CASE WHEN d > 0 THEN n::DOUBLE / d END;
-- Sample size corrected for drawing without replacement from `population`: infinite once everything was drawn.
CREATE OR REPLACE TEMP MACRO drawn_size(sample, population) AS
    CASE WHEN population > sample THEN sample * (population - 1.0) / (population - sample) ELSE 'infinity'::DOUBLE END;
-- Wilson's 95 % interval of a proportion p seen in n draws (n may be fractional or infinite).
CREATE OR REPLACE TEMP MACRO wilson_mid(p, n) AS (p + 1.959963984540054 ** 2 / (2 * n)) / (1 + 1.959963984540054 ** 2 / n);
CREATE OR REPLACE TEMP MACRO wilson_half(p, n) AS
    1.959963984540054 / (1 + 1.959963984540054 ** 2 / n) * sqrt(p * (1 - p) / n + 1.959963984540054 ** 2 / (4 * n * n));
-- A timestamp from Unix nanoseconds, cut to microseconds.
CREATE OR REPLACE TEMP MACRO at_utc(ns) AS make_timestamptz(ns // 1000);
-- Sums that are the same in every order of their rows: of dollars to 1e-18, of weighted tokens and seconds to 1e-12.
CREATE OR REPLACE TEMP MACRO sum_usd(usd) AS sum(usd::DECIMAL(38, 18))::DOUBLE;
CREATE OR REPLACE TEMP MACRO sum_steady(value) AS sum(value::DECIMAL(38, 12))::DOUBLE;
-- An attempt is bought by the token where no engine of ours served it and its replica, if any, costs nothing that is known.
CREATE OR REPLACE TEMP MACRO is_bought(replica_usd, engine_seen, sampled) AS
    replica_usd IS NULL AND NOT engine_seen AND NOT coalesce(sampled, false);

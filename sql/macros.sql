-- description: Arithmetic that more than one relation uses, each defined once
-- A ratio of nothing is unknown, not zero.
CREATE OR REPLACE TEMP MACRO ratio(n, d) AS CASE WHEN d > 0 THEN n::DOUBLE / d END;
-- Sample size corrected for drawing without replacement from `population`: infinite once everything was drawn.
CREATE OR REPLACE TEMP MACRO drawn_size(sample, population) AS
    CASE WHEN population > sample THEN sample * (population - 1.0) / (population - sample) ELSE 'infinity'::DOUBLE END;
-- Wilson's interval, 95 % unless z is given, of a proportion p seen in n draws (n may be fractional or infinite).
CREATE OR REPLACE TEMP MACRO wilson_mid(p, n, z := 1.959963984540054) AS (p + z ** 2 / (2 * n)) / (1 + z ** 2 / n);
CREATE OR REPLACE TEMP MACRO wilson_half(p, n, z := 1.959963984540054) AS
    z / (1 + z ** 2 / n) * sqrt(p * (1 - p) / n + z ** 2 / (4 * n * n));
-- A rate seen in few labels, drawn towards what is expected as if z^2 labels more had it: towards a half it is Wilson's middle.
CREATE OR REPLACE TEMP MACRO shrunk(passed, labelled, expected) AS
    (passed + 1.959963984540054 ** 2 * expected) / (labelled + 1.959963984540054 ** 2);
-- Fewer than this many values have a p99 that is no better than their maximum.
CREATE OR REPLACE TEMP MACRO is_low_n(n) AS n < 100;
-- A number that stands for a text. hash() alone is no such number: texts whose digits at the ends of 8-byte words count
-- up, as in 00000012-00000345, often share one. No two of them do so four letters further on as well.
CREATE OR REPLACE TEMP MACRO text_hash(text) AS hash(text, substr(text, 5));
-- Globs of the settings as patterns of LIKE, and whether a text is like any of some: * stands for any text, ? for any
-- character, all else for itself, as in goodput.globs (GLOB has more syntax, and counts bytes). Without globs anything is.
CREATE OR REPLACE TEMP MACRO like_patterns(globs) AS list_transform(globs, lambda one:
    one.replace('\', '\\').replace('%', '\%').replace('_', '\_').replace('*', '%').replace('?', '_'));
CREATE OR REPLACE TEMP MACRO is_like_any(text, patterns) AS patterns IS NULL
    OR len(list_filter(patterns, lambda pattern: coalesce(text, '') LIKE pattern ESCAPE '\')) > 0;
CREATE OR REPLACE TEMP MACRO matches_any(text, globs) AS is_like_any(text, like_patterns(globs));
-- A short number for an id; different ids may share one.
CREATE OR REPLACE TEMP MACRO id_hash(id) AS (hash(id) & 2147483647)::INTEGER;
-- One JSON object of several, of which the last that has a name gives its value; NULL of none.
CREATE OR REPLACE TEMP MACRO merged_attributes(objects) AS CASE WHEN len(objects) > 0
    THEN list_reduce(objects, lambda merged, object: json_merge_patch(merged, object)::VARCHAR) END;
-- What a request counts as in each slice by tenant or attribute, given their paths; NULL without such slices.
CREATE OR REPLACE TEMP MACRO cut_values(paths, tenant, attributes) AS list_transform(paths,
    lambda path: coalesce(CASE WHEN path = '$' THEN tenant ELSE json_extract_string(attributes, path) END, 'unknown'));
-- Values beyond those that a crowded window keeps are one; what was not reported stays apart.
CREATE OR REPLACE TEMP MACRO kept_value(value, is_crowded, is_kept) AS
    CASE WHEN value <> 'unknown' AND is_crowded AND NOT is_kept THEN '(other)' ELSE value END;
-- The same of the name of a model, pool or route, given those that a crowded window keeps: none where it is not crowded.
CREATE OR REPLACE TEMP MACRO kept_name(name, kept, other := '(other)') AS
    CASE WHEN kept IS NULL OR name IS NULL OR name = 'unknown' OR list_contains(kept, name::VARCHAR) THEN name ELSE other END;
-- Of which cluster or gateway a record is, by the first of some attributes that it has: records of two are not matched by time.
CREATE OR REPLACE TEMP MACRO scope_of(attributes, names) AS coalesce(list_filter(
    list_transform(names, lambda name: json_extract_string(attributes, '$."' || name || '"')), lambda value: value IS NOT NULL
)[1], '');
-- Whether one record of a caller lies in the time of another's, 0.2 s at either end: both may be of one call.
CREATE OR REPLACE TEMP MACRO surrounds(outer_started_ns, outer_ended_ns, inner_started_ns, inner_ended_ns) AS
    outer_started_ns <= inner_started_ns AND inner_ended_ns <= outer_ended_ns
    AND inner_started_ns - outer_started_ns <= 200000000 AND outer_ended_ns - inner_ended_ns <= 200000000;
-- Where rows lie that are never parted when an hour is cut: those of one trace, a record without one, all revisions of a label.
CREATE OR REPLACE TEMP MACRO trace_place(trace_id) AS hash('trace', text_hash(trace_id));
CREATE OR REPLACE TEMP MACRO record_place(trace_id, record_id) AS
    CASE WHEN trace_id IS NULL THEN hash('record', text_hash(record_id)) ELSE trace_place(trace_id) END;
CREATE OR REPLACE TEMP MACRO label_place(label_id) AS hash('label', text_hash(label_id));
-- A timestamp from Unix nanoseconds, truncated to microseconds.
CREATE OR REPLACE TEMP MACRO at_utc(ns) AS make_timestamptz(ns // 1000);
-- Accepted requests of one workload: those without a label count by its policy, or by the share of the labelled that passed.
CREATE OR REPLACE TEMP MACRO accepted_estimate(policy, accepted, need, labelled, pass_rate) AS
    CASE
        WHEN need = 0 OR policy = 'fail' THEN accepted
        WHEN policy = 'estimate' AND pass_rate IS NOT NULL THEN need * pass_rate
        ELSE accepted + need - labelled
    END;
-- How many independent draws a proportion p of n is worth whose count has this variance.
CREATE OR REPLACE TEMP MACRO effective_size(p, n, variance) AS
    CASE WHEN p > 0 AND p < 1 AND variance > 0 THEN n ** 2 * p * (1 - p) / variance ELSE n END;
-- Student's t, from five degrees of freedom on, that is exceeded as often as z by a normal variable: Gaver and Kafadar (1984).
CREATE OR REPLACE TEMP MACRO gaver_kafadar(df, z) AS sqrt(df * (exp(z ** 2 * (df - 1.5) / (df - 1) ** 2) - 1));
-- Student's t at 97.5 %, from one degree of freedom on: exact to four, then by Gaver and Kafadar (1984), true to 0.3 %.
CREATE OR REPLACE TEMP MACRO student(df) AS CASE
    WHEN df < 5 THEN [12.706205, 4.302653, 3.182446, 2.776445][greatest(1, floor(df))::INTEGER]
    ELSE gaver_kafadar(df, 1.959963984540054)
END;
-- What a normal variable exceeds with this chance, of at most 0.025: Acklam (2003), true to 4e-9.
CREATE OR REPLACE TEMP MACRO normal_beyond(tail) AS list_transform([sqrt(-2 * ln(tail))], lambda w:
    (((((0.007784894002430293 * w + 0.3223964580411365) * w + 2.400758277161838) * w + 2.549732539343734) * w
        - 4.374664141464968) * w - 2.938163982698783)
    / ((((0.007784695709041462 * w + 0.3224671290700398) * w + 2.445134137142996) * w + 3.754408661907416) * w + 1))[1];
-- What Student's t exceeds with this chance. Below five degrees of freedom, of which there may be fractions, ln t is the
-- parabola in 1 / df through the exact values at 1, 2 and 4; from there on Gaver and Kafadar (1984). True to 1.5 %.
CREATE OR REPLACE TEMP MACRO student_beyond(df, tail) AS CASE
    WHEN df > 1e6 THEN normal_beyond(tail)
    WHEN df >= 5 THEN gaver_kafadar(df, normal_beyond(tail))
    ELSE list_transform([1 / greatest(1, df)], lambda u: exp(
        (u - 0.5) * (u - 0.25) / 0.375 * ln(1 / tan(pi() * tail))
        - (u - 1) * (u - 0.25) / 0.125 * ln((1 - 2 * tail) / sqrt(2 * tail * (1 - tail)))
        + (u - 1) * (u - 0.5) / 0.1875 * ln(2 * sqrt(cos(acos(sqrt(4 * tail * (1 - tail))) / 3) / sqrt(4 * tail * (1 - tail)) - 1))
    ))[1]
END;
-- Half the 95 % interval of a total over n units drawn from many like them, given their squared residuals' sum; NULL of one.
CREATE OR REPLACE TEMP MACRO total_half(n, squares) AS student(n - 1) * sqrt(n / nullif(n - 1, 0) * squares);
-- A number, and no less than the least; NULL stays NULL.
CREATE OR REPLACE TEMP MACRO at_least(number, least_number) AS CASE WHEN number IS NOT NULL THEN greatest(number, least_number) END;
-- Squares about a mean or a line, from sums of squares; nothing where rounding may leave as much.
CREATE OR REPLACE TEMP MACRO squares_about(squares, explained) AS
    CASE WHEN squares - explained > 1e-9 * squares THEN squares - explained WHEN squares IS NOT NULL THEN 0 END;
-- Which windows are compared with one: those with the loads up to the nearest `each` at or below its own and `each` above, of the
-- sorted loads that there are; `each` shares so many out among the windows of a disruption.
CREATE OR REPLACE TEMP MACRO like_each(in_all, windows) AS ceil(in_all / windows)::BIGINT;
CREATE OR REPLACE TEMP MACRO like_loads(loads, load, each) AS list_transform([len(list_filter(loads, lambda l: l <= load))],
    lambda below: {low: loads[greatest(1, below - each + 1)], high: loads[least(len(loads), below + each)]})[1];
-- Whether loads between `least` and `most` show what one of `load` is like, of windows with `own_least` to `own_most`: nothing is
-- extrapolated, and no window lies further beyond them than the tolerance.
CREATE OR REPLACE TEMP MACRO seen_at(load, own_least, own_most, least, most, tolerance) AS
    load BETWEEN least AND most AND own_least >= (1 - tolerance) * least AND own_most <= (1 + tolerance) * most;
-- Weighted sums over points that lie somewhere: of their weights, and of these with where they lie and its square; the same of squared
-- weights. The weighted mean of values, and the sum of their products with where they lie, about the means. All are aggregates.
CREATE OR REPLACE TEMP MACRO weighted_sums(place, weight, nth) AS {
    w: sum(weight ORDER BY nth), x: sum(weight * place ORDER BY nth), xx: sum(weight * place ** 2 ORDER BY nth),
    ww: sum(weight ** 2 ORDER BY nth), wwx: sum(weight ** 2 * place ORDER BY nth), wwxx: sum(weight ** 2 * place ** 2 ORDER BY nth)
};
CREATE OR REPLACE TEMP MACRO weighted_mean(value, weight, nth) AS sum(weight * value ORDER BY nth) / sum(weight ORDER BY nth);
CREATE OR REPLACE TEMP MACRO weighted_products(value, place, weight, nth) AS
    sum(weight * place * value ORDER BY nth) - sum(weight * place ORDER BY nth) * sum(weight * value ORDER BY nth) / sum(weight ORDER BY nth);
-- The weighted least squares line through n points at 0, given their weighted sums and the plain squares of where they lie about their mean:
-- its degrees of freedom, what its value there has of the points' variance, and of their products with where they lie. Points that all lie
-- at one place have their mean.
CREATE OR REPLACE TEMP MACRO line_leverage(of, mean, about) AS of.ww / of.w ** 2
    - 2 * mean * (of.wwx - mean * of.ww) / (of.w * about) + mean ** 2 * (of.wwxx - 2 * mean * of.wwx + mean ** 2 * of.ww) / about ** 2;
CREATE OR REPLACE TEMP MACRO line_at(n, of, squares, varies) AS {
    df: n - CASE WHEN varies THEN 2 ELSE 1 END, squares: CASE WHEN varies THEN squares END,
    leverage: CASE WHEN varies THEN line_leverage(of, of.x / of.w, of.xx - of.x ** 2 / of.w) ELSE of.ww / of.w ** 2 END,
    slope: CASE WHEN varies THEN -of.x / of.w / (of.xx - of.x ** 2 / of.w) ELSE 0 END
};
CREATE OR REPLACE TEMP MACRO on_line(line, mean, products) AS mean + CASE WHEN line.slope = 0 THEN 0 ELSE line.slope * products END;
-- Half the 95 % interval of a line's value, given how residuals lie about a line of their own (`about_line`).
CREATE OR REPLACE TEMP MACRO line_half(line, about) AS CASE WHEN line.df > 0 THEN student(line.df)
    * sqrt(squares_about(about.squares, coalesce(about.products ** 2 / line.squares, 0)) / line.df * line.leverage) END;
-- Lines through windows that lie `beyond` a load, an aggregate: `line` of all of them, `paid` of those whose cost is known and which have
-- a `paid_weight`; then what they show at that load, per window. Each sum is named once: a macro writes what it is given wherever it uses it.
CREATE OR REPLACE TEMP MACRO lines_through(beyond, weight, paid_weight, offered, accepted, cost_usd, nth) AS list_transform([{
    n: count(*), sums: weighted_sums(beyond, weight, nth), squares: regr_sxx(beyond, beyond ORDER BY nth), varies: min(beyond) < max(beyond),
    n_paid: count(cost_usd), paid_sums: weighted_sums(beyond, paid_weight, nth), paid_squares: regr_sxx(cost_usd, beyond ORDER BY nth),
    paid_varies: min(beyond) FILTER (WHERE cost_usd IS NOT NULL) < max(beyond) FILTER (WHERE cost_usd IS NOT NULL),
    offered: weighted_mean(offered, weight, nth), offered_products: weighted_products(offered, beyond, weight, nth),
    accepted: weighted_mean(accepted, weight, nth), accepted_products: weighted_products(accepted, beyond, weight, nth),
    paid_accepted: weighted_mean(accepted, paid_weight, nth), paid_accepted_products: weighted_products(accepted, beyond, paid_weight, nth),
    cost_usd: weighted_mean(cost_usd, paid_weight, nth), cost_products: weighted_products(cost_usd, beyond, paid_weight, nth)
}], lambda of: struct_insert(of,
    line := line_at(of.n, of.sums, of.squares, of.varies), paid := line_at(of.n_paid, of.paid_sums, of.paid_squares, of.paid_varies)))[1];
CREATE OR REPLACE TEMP MACRO at_load(lines) AS list_transform([lines], lambda seen: {
    line: seen.line, paid: seen.paid,
    offered: on_line(seen.line, seen.offered, seen.offered_products),
    accepted: on_line(seen.line, seen.accepted, seen.accepted_products),
    paid_accepted: on_line(seen.paid, seen.paid_accepted, seen.paid_accepted_products),
    cost_usd: on_line(seen.paid, seen.cost_usd, seen.cost_products)
})[1];
-- How many times as much replicas cost that are charged for themselves, given that of those in both times (NULL: of none) and of all by
-- GPU second; and those whose pool is charged, by GPU second and by second: the bill follows them, or is flat, or as many cost more.
-- NULL: price and use changed together.
CREATE OR REPLACE TEMP MACRO is_same(times) AS abs(times - 1) <= 0.01;
CREATE OR REPLACE TEMP MACRO replicas_dearer(same, by_gpu) AS
    CASE WHEN same IS NOT NULL THEN same WHEN is_same(by_gpu) THEN 1 END;
CREATE OR REPLACE TEMP MACRO pool_dearer(by_gpu, by_time) AS
    CASE WHEN is_same(by_time) OR is_same(by_gpu) THEN 1 WHEN is_same(by_gpu / by_time) THEN by_time END;
-- What a window with these `expenses` would cost more at the prices of so many windows in which replica time cost so much.
CREATE OR REPLACE TEMP MACRO dearer(spent, own_usd, pool_usd, gpu_s, windows) AS
    CASE WHEN spent.own_usd <> 0 THEN spent.own_usd * (replicas_dearer(
        ratio(spent.same_then_usd, spent.same_usd), ratio(own_usd * spent.gpu_s, spent.own_usd * gpu_s)) - 1) ELSE 0 END
    + CASE WHEN spent.pool_usd <> 0 THEN spent.pool_usd * (pool_dearer(
        ratio(pool_usd * spent.gpu_s, spent.pool_usd * gpu_s), ratio(pool_usd, spent.pool_usd * windows)) - 1) ELSE 0 END;
-- Why windows give no price at a load, or no upper end of it; a bill may cover all of a window of which a part of the requests is there.
-- The reasons have an order, so that the first of several is that of all of them.
CREATE OR REPLACE TEMP MACRO no_price(there, is_whole, is_seen, is_unmatched, price, cost) AS CASE
    WHEN there.line.df <= 0 THEN 'few_windows'
    WHEN NOT is_whole THEN 'partly_observed'
    WHEN NOT is_seen THEN 'load_unmatched'
    WHEN there.paid.df <= 0 AND is_unmatched THEN 'price_unmatched'
    WHEN there.paid.df <= 0 THEN 'cost_unknown'
    WHEN price IS NULL THEN 'nothing_accepted'
    WHEN cost.high IS NULL THEN 'nothing_judged'
END;
CREATE OR REPLACE TEMP MACRO price_reasons() AS
    ['few_windows', 'partly_observed', 'load_unmatched', 'price_unmatched', 'cost_unknown', 'nothing_accepted', 'nothing_judged'];
CREATE OR REPLACE TEMP MACRO first_reason(reason) AS price_reasons()[min(list_position(price_reasons(), reason))];
-- How residuals of these windows lie about a line of their own, an aggregate.
CREATE OR REPLACE TEMP MACRO about_line(residual, beyond, nth) AS
    {squares: regr_syy(residual, beyond ORDER BY nth), products: regr_sxy(residual, beyond ORDER BY nth)};
-- Share and price with their intervals, at least as wide as labels leave open (below, above), and wider by what has no label
-- (open_*), each of all that these windows offered or accepted.
CREATE OR REPLACE TEMP MACRO share_of(share, half, offered, labels) AS {
    value: CASE WHEN share IS NOT NULL THEN greatest(0, least(1, share)) END, -- greatest() alone would make none of it 0
    low: CASE WHEN half IS NOT NULL THEN greatest(0, share - at_least(half, labels.below / offered) - labels.open_below / offered) END,
    high: CASE WHEN half IS NOT NULL THEN least(1, share + at_least(half, labels.above / offered) + labels.open_above / offered) END
};
CREATE OR REPLACE TEMP MACRO price_of(price, half, accepted, labels) AS {
    value: price,
    low: at_least(price * accepted / (accepted + labels.open_above) - at_least(half, price * labels.above / accepted), 0),
    -- where all of it may have failed there is no upper end
    high: CASE WHEN accepted > labels.open_below
        THEN price * accepted / (accepted - labels.open_below) + at_least(half, price * labels.below / accepted) END
};
-- Squared residuals y - r x about their mean, given {xx, xy, yy}: the sums of squares and products about the means of x and y.
CREATE OR REPLACE TEMP MACRO residual_squares(moments, r) AS
    at_least(moments.yy - 2 * r * moments.xy + r ** 2 * moments.xx, 0);
-- A sum of numbers of either sign, and nothing where it is no more than their rounding, given how large they are together.
CREATE OR REPLACE TEMP MACRO beyond_rounding(number, magnitude) AS
    CASE WHEN abs(number) > 1e-12 * magnitude THEN number WHEN number IS NOT NULL THEN 0 END;
-- What units of work cost together, {units, cost_usd, accepted, moments, sampled, open_below, open_above}: `moments` of cost by
-- accepted, `sampled` accepted requests that labels leave open, and `open_*` those of which nothing is known. Half the interval of
-- their cost beside accepted requests at a price, and their own price with its interval: none without an upper end of accepted. Credits
-- beyond all cost have the other way round: the more are accepted, the less of them is each one's.
CREATE OR REPLACE TEMP MACRO cost_half(work, price) AS
    at_least(total_half(work.units, residual_squares(work.moments, price)), price * work.sampled);
CREATE OR REPLACE TEMP MACRO price_ends(work, half) AS {
    low: at_least(
        ratio(work.cost_usd, CASE WHEN work.cost_usd < 0 THEN work.accepted - work.open_below ELSE work.accepted + work.open_above END) - half,
        CASE WHEN work.cost_usd >= 0 THEN 0 END),
    high: ratio(work.cost_usd, CASE WHEN work.cost_usd < 0 THEN work.accepted + work.open_above ELSE work.accepted - work.open_below END) + half
};
CREATE OR REPLACE TEMP MACRO unit_cost(work, price) AS list_transform(
    [price_ends(work, cost_half(work, price) / nullif(work.accepted, 0))], lambda ends: {value: price, low: ends.low, high: ends.high})[1];
-- The same of steady and disrupted work together, were there disruptions `often` times as often as there were: what each displaces or
-- leaves is `usual`, {cost_usd, accepted, half_usd}, steady work at the disruptions' loads, with half the interval of its cost.
CREATE OR REPLACE TEMP MACRO not_displaced(usual, often) AS CASE WHEN often = 1 THEN 0 ELSE (1 - often) * usual END;
CREATE OR REPLACE TEMP MACRO blended_sums(steady, disrupted, usual, often) AS {
    cost_usd: steady.cost_usd + not_displaced(usual.cost_usd, often) + often * disrupted.cost_usd,
    accepted: beyond_rounding(
        steady.accepted + not_displaced(usual.accepted, often) + often * disrupted.accepted,
        steady.accepted + abs(not_displaced(usual.accepted, often)) + often * disrupted.accepted),
    -- of steady work at these loads as much has no label as of all of it
    open_below: steady.open_below * (1 + coalesce(ratio(not_displaced(usual.accepted, often), steady.accepted), 0)) + often * disrupted.open_below,
    open_above: steady.open_above * (1 + coalesce(ratio(not_displaced(usual.accepted, often), steady.accepted), 0)) + often * disrupted.open_above
};
CREATE OR REPLACE TEMP MACRO blended_half(steady, disrupted, usual, often, sums) AS
    sqrt(cost_half(steady, sums.cost_usd / sums.accepted) ** 2
        + (often * cost_half(disrupted, sums.cost_usd / sums.accepted)) ** 2 + not_displaced(usual.half_usd, often) ** 2) / sums.accepted;
CREATE OR REPLACE TEMP MACRO blended_cost(sums, half) AS list_transform(
    [price_ends(sums, half)], lambda ends: {value: ratio(sums.cost_usd, sums.accepted), low: ends.low, high: ends.high})[1];
-- The root of a list's squares added up; NULL where one is.
CREATE OR REPLACE TEMP MACRO in_quadrature(distances) AS CASE WHEN list_count(distances) = len(distances)
    THEN sqrt(list_sum(list_transform(distances, lambda distance: distance ** 2))) END;
-- Accepted requests of one window and workload where labels count over many windows together (all_*): they add up to the
-- estimate over all windows, and vary from window to window as far as its own labels show (Woodruff 1971).
CREATE OR REPLACE TEMP MACRO accepted_together(is_estimated, must_pass, need, labelled, passed, all_need, all_labelled, all_passed) AS
    CASE
        WHEN is_estimated THEN need * all_passed / all_labelled
            + all_need / all_labelled * (passed - labelled * all_passed / all_labelled)
        WHEN must_pass THEN passed
        ELSE passed + need - labelled
    END;
-- Latencies in buckets that are 1 % wide: they add up over windows, and a quantile from them is true to half of that.
-- None has no bucket: greatest() would make it the least.
CREATE OR REPLACE TEMP MACRO latency_bucket(latency_s) AS
    floor(ln(CASE WHEN latency_s < 1e-6 THEN 1e-6 ELSE latency_s END) / ln(1.01))::INTEGER;
CREATE OR REPLACE TEMP MACRO bucket_latency(bucket) AS exp((bucket + 0.5) * ln(1.01));
-- Latencies of more requests than are held are counted to the nearest of so many seconds: a percentile is off by half of one at most.
CREATE OR REPLACE TEMP MACRO latency_unit_s(metric) AS CASE metric WHEN 'tpot' THEN 1e-5 ELSE 1e-3 END;
CREATE OR REPLACE TEMP MACRO latency_units(latency_s, metric) AS round(latency_s / latency_unit_s(metric))::BIGINT;
-- How the percentiles of a partition are made.
CREATE OR REPLACE TEMP MACRO percentiles_of(is_large) AS CASE WHEN is_large THEN 'counted' ELSE 'exact' END;
-- Percentiles of values of which each has been counted, an aggregate: `up_to` counts it and all below it, of `total`. Interpolated
-- between the two values beside the rank, as quantile_cont does it.
CREATE OR REPLACE TEMP MACRO counted_quantile(value, up_to, total, quantile) AS
    min(value) FILTER (WHERE up_to > floor(quantile * (total - 1)))
    + (quantile * (any_value(total) - 1)) % 1 * (
        min(value) FILTER (WHERE up_to > ceil(quantile * (total - 1)))
        - min(value) FILTER (WHERE up_to > floor(quantile * (total - 1))));
CREATE OR REPLACE TEMP MACRO counted_percentiles(value, up_to, total) AS [
    counted_quantile(value, up_to, total, 0.5::DOUBLE),
    counted_quantile(value, up_to, total, 0.95::DOUBLE),
    counted_quantile(value, up_to, total, 0.99::DOUBLE)
];
-- Replicas for a peak of arrivals when each keeps its promises up to the knee; a hair less than a whole one is that one.
CREATE OR REPLACE TEMP MACRO replicas_needed(peak_rps, knee_rps, headroom) AS ceil(peak_rps / knee_rps * headroom - 1e-9)::BIGINT;
-- The difference b - a; none where it is no more than the rounding of doubles.
CREATE OR REPLACE TEMP MACRO gap(b, a) AS CASE WHEN abs(b - a) <= 1e-12 * greatest(abs(a), abs(b)) THEN 0 ELSE b - a END;
-- Two distances squared and added, of estimates whose correlation is phi; rounding alone would make less than nothing of it.
CREATE OR REPLACE TEMP MACRO square_and_add(x, y, phi) AS
    CASE WHEN phi = 0 THEN sqrt(x ** 2 + y ** 2) ELSE sqrt(at_least(x ** 2 - 2 * phi * x * y + y ** 2, 0)) END;
-- The interval of b - a from those of a and b, each {value, low, high}, whose correlation is phi (Newcombe 1998, method 10).
CREATE OR REPLACE TEMP MACRO difference(a, b, phi := 0) AS {
    value: gap(b.value, a.value),
    low: gap(b.value, a.value) - square_and_add(b.value - b.low, a.high - a.value, phi),
    high: gap(b.value, a.value) + square_and_add(b.high - b.value, a.value - a.low, phi)
};
-- The interval of a * b from those of a and b, of which neither is negative: distances in quadrature.
CREATE OR REPLACE TEMP MACRO product(a, b) AS {
    value: a.value * b.value,
    low: a.value * b.value - sqrt((b.value * (a.value - a.low)) ** 2 + (a.value * (b.value - b.low)) ** 2),
    high: a.value * b.value + sqrt((b.value * (a.high - a.value)) ** 2 + (a.value * (b.high - b.value)) ** 2)
};
CREATE OR REPLACE TEMP MACRO wilson(p, n, z := 1.959963984540054) AS {
    value: p,
    -- exact where nothing passed or everything did, which rounding would miss
    low: CASE WHEN p > 0 THEN greatest(0, wilson_mid(p, n, z := z) - wilson_half(p, n, z := z)) ELSE p END,
    high: CASE WHEN p < 1 THEN least(1, wilson_mid(p, n, z := z) + wilson_half(p, n, z := z)) ELSE p END
};
CREATE OR REPLACE TEMP MACRO around(x, variance) AS
    {value: x, low: x - 1.959963984540054 * sqrt(variance), high: x + 1.959963984540054 * sqrt(variance)};
-- A share by Wilson at the size that it is worth; over several strata {part, value, size} at least by square-and-add of theirs.
CREATE OR REPLACE TEMP MACRO share_within(e, t) AS list_transform([wilson(e.value, e.size, z := t)], lambda w: {
    value: e.value,
    low: least(w.low, greatest(0, e.value - sqrt(coalesce(list_sum(list_transform(e.strata,
        lambda s: (s.part * (s.value - wilson(s.value, s.size, z := t).low)) ** 2)), 0)))),
    high: greatest(w.high, least(1, e.value + sqrt(coalesce(list_sum(list_transform(e.strata,
        lambda s: (s.part * (wilson(s.value, s.size, z := t).high - s.value)) ** 2)), 0))))
})[1];
-- An estimate {scale, value, variance, df, alone, size, strata, below, above} as {value, low, high}, `t` standard errors wide: a cost
-- on the log scale, a rate around itself; below and above, by how far what nobody judged may move it.
CREATE OR REPLACE TEMP MACRO sampled_within(e, t) AS CASE
    WHEN e.scale = 'share' THEN share_within(e, t)
    WHEN e.scale = 'cost' AND e.value > 0 THEN {
        value: e.value,
        low: e.value * exp(-t * sqrt(e.variance) / e.value),
        high: e.value * exp(t * sqrt(e.variance) / e.value)
    }
    -- credits may exceed a cost; nothing else is below nothing
    WHEN e.value < 0 THEN {value: e.value, low: e.value - t * sqrt(e.variance), high: e.value + t * sqrt(e.variance)}
    ELSE {value: e.value, low: greatest(0, e.value - t * sqrt(e.variance)), high: e.value + t * sqrt(e.variance)}
END;
-- What nobody judged takes nothing below nothing that is not below it anyway.
CREATE OR REPLACE TEMP MACRO unjudged_below(e, low) AS CASE WHEN e.value < 0 THEN e.below ELSE least(e.below, low) END;
CREATE OR REPLACE TEMP MACRO estimated_within(e, t) AS list_transform([sampled_within(e, t)], lambda w:
    {value: w.value, low: w.low - unjudged_below(e, w.low), high: w.high + e.above})[1];
-- Degrees of freedom of a difference of two estimates (Welch 1947).
CREATE OR REPLACE TEMP MACRO welch_df(a, b) AS
    (a.variance + b.variance) ** 2 / (a.variance ** 2 / a.df + b.variance ** 2 / b.df);
-- How the difference of two sides varies over windows, an aggregate: of windows of one side alone, of the other alone and of both, as
-- three samples, each with its part of the degrees of freedom (Satterthwaite 1946). `a` and `b` are what a window adds to each side's
-- error, `common` the product of what may cancel of it, `in_a` and `in_b` whether it is of those that the side's variance is taken over, `part` how much
-- of a window it is. NULL where none is of both.
CREATE OR REPLACE TEMP MACRO squares_by_df(squares, windows, lost) AS
    CASE WHEN squares > 0 THEN squares ** 2 / greatest(1, windows * (1 - lost)) ELSE 0 END;
CREATE OR REPLACE TEMP MACRO over_windows(a, b, common, in_a, in_b, part, nth) AS list_transform([{
    of_a: coalesce(sum(a ** 2 - 2 * common + b ** 2 ORDER BY nth) FILTER (WHERE in_a AND NOT in_b), 0),
    of_b: coalesce(sum(a ** 2 - 2 * common + b ** 2 ORDER BY nth) FILTER (WHERE in_b AND NOT in_a), 0),
    of_two: coalesce(sum(a ** 2 - 2 * common + b ** 2 ORDER BY nth) FILTER (WHERE in_a = in_b), 0),
    a: sum(part ORDER BY nth) FILTER (WHERE in_a), b: sum(part ORDER BY nth) FILTER (WHERE in_b),
    two: sum(part ORDER BY nth) FILTER (WHERE in_a AND in_b)
}], lambda s: CASE WHEN s.two > 0 THEN {
    variance: s.of_a + s.of_b + s.of_two,
    df: (s.of_a + s.of_b + s.of_two) ** 2 / (squares_by_df(s.of_a, s.a - s.two, 1 / s.a)
        + squares_by_df(s.of_b, s.b - s.two, 1 / s.b) + squares_by_df(s.of_two, s.two, 1 / least(s.a, s.b)))
} END)[1];
-- How the difference of two estimates varies: {variance, df, phi}, phi the correlation that makes it so. Without windows of both
-- (`shared` is NULL), or where a side shows no variance, they are independent. With them the difference is an estimate as any other: what
-- windows show of it counts, or what requests and sessions of both sides alone do, that of which t^2 times the variance is larger.
CREATE OR REPLACE TEMP MACRO estimates_vary(a, b, shared) AS list_transform([{
    variance: a.variance + b.variance, product: sqrt(a.variance * b.variance),
    alone: {variance: a.alone.variance + b.alone.variance, df: welch_df(a.alone, b.alone)}
}], lambda s: list_transform([CASE
    WHEN shared IS NULL OR s.product = 0 THEN {variance: s.variance, df: welch_df(a, b)}
    WHEN shared.variance * student_beyond(shared.df, 0.025) ** 2 > s.alone.variance * student_beyond(s.alone.df, 0.025) ** 2 THEN shared
    ELSE s.alone
END], lambda of: list_transform(
    [CASE WHEN s.product = 0 THEN 0 ELSE greatest(-1, least(1, (s.variance - of.variance) / (2 * s.product))) END],
    lambda phi: {variance: s.variance - 2 * phi * s.product, df: of.df, phi: phi})[1])[1])[1];
-- The interval of b - a from such estimates, given how their difference varies: by chance squared and added, what nobody judged linearly.
-- Distances of unlike estimates may happen to be alike and cancel: of paired ones no less is left than their difference varies.
CREATE OR REPLACE TEMP MACRO estimates_apart(a, b, varies, t) AS list_transform(
    [{a: sampled_within(a, t), b: sampled_within(b, t), half: CASE WHEN varies.phi = 0 THEN 0 ELSE t * sqrt(at_least(varies.variance, 0)) END}],
    lambda w: list_transform([difference(w.a, w.b, phi := varies.phi)], lambda d: {
        value: d.value,
        low: least(d.low, d.value - w.half) - unjudged_below(b, w.b.low) - a.above,
        high: greatest(d.high, d.value + w.half) + b.above + unjudged_below(a, w.a.low)
    })[1])[1];
-- Among how many questions asked at once, up to three, a difference still shows (Bonferroni); a question may be of many comparisons.
CREATE OR REPLACE TEMP MACRO shows_among(a, b, varies, comparisons) AS len(list_filter([1, 2, 3], lambda questions: list_transform(
    [estimates_apart(a, b, varies, student_beyond(varies.df, 0.025 / (questions * comparisons)))],
    lambda asked: coalesce(asked.low > 0 OR asked.high < 0, false))[1]));
-- The estimator of labels that are a sample (docs/semantics.md#intervals). Parts of a window in which label rates may differ:
CREATE OR REPLACE TEMP MACRO part_length(window_s) AS greatest(window_s // 24, least(window_s, 300));
CREATE OR REPLACE TEMP MACRO window_part(at_s, window_s) AS at_s // part_length(window_s) * part_length(window_s);
-- Chi-square of the label rates of cells, given labelled ** 2 / need added up over them; and whether they differ by more than
-- chance explains in five cases of six: a stratum too many costs little, one too few is a bias.
CREATE OR REPLACE TEMP MACRO rates_unlike(squares_by_need, labelled, need) AS
    (squares_by_need - labelled * (labelled / need)) / nullif(labelled / need * (1 - labelled / need), 0);
-- What the term of a cell with so many draws varies by: that of chi-square, and more where few draws are as rare as that.
CREATE OR REPLACE TEMP MACRO rates_unlike_variance(rate, draws) AS
    2 + greatest(0, (1 / nullif(rate * (1 - rate), 0) - 6) / draws);
-- A draw that labels a whole session moves as many requests at once, so chi-square is of draws (Rao and Scott 1981): what rounding
-- leaves of one cell, or of rates all alike, is no difference.
CREATE OR REPLACE TEMP MACRO rates_differ(unlike, df, requests_per_draw) AS
    coalesce(unlike / requests_per_draw > df + sqrt(2 * df) + 1e-9, false);
-- Whether there are labels enough to compare the parts of a window: two for each cell on average. Fewer tell places apart alone.
CREATE OR REPLACE TEMP MACRO labels_tell_times_apart(labelled, cells) AS labelled >= 2 * cells;
-- How far a labelled request's session is labelled with it: the share of its other requests that is, beyond that of all.
CREATE OR REPLACE TEMP MACRO labelled_together(sampling, drawn, labelled_pairs, half_labelled_pairs) AS CASE
    WHEN sampling = 'session' THEN 1
    WHEN labelled_pairs > 0 AND drawn < 1
        THEN greatest(0, (labelled_pairs / (labelled_pairs + half_labelled_pairs / 2) - drawn) / (1 - drawn))
    ELSE 0
END;
-- The design effect of that on label rates: requests that one draw decides, 1 where requests are labelled one by one.
CREATE OR REPLACE TEMP MACRO requests_per_draw(sampling, need, labelled, pairs, labelled_pairs, half_labelled_pairs) AS
    1 + coalesce(labelled_together(sampling, labelled / need, labelled_pairs, half_labelled_pairs) * pairs / need, 0);
-- How far labels come session by session: 0 where a request's label says nothing about its session's others, 1 where sessions
-- are labelled wholly or not at all.
CREATE OR REPLACE TEMP MACRO labels_by_session(sampling, drawn, pairs, labelled_pairs) AS CASE
    WHEN sampling = 'session' THEN 1
    WHEN labelled_pairs > 0 AND drawn < 1 THEN least(1, greatest(0, (1 - drawn ** 2 * pairs / labelled_pairs) / (1 - drawn)))
    ELSE 0
END;
-- Over sessions: ordered pairs of requests of one session, those of which one is labelled, or both, of the latter those the first of
-- which passed, or both; and labelled requests beyond the first of their session.
CREATE OR REPLACE TEMP MACRO pairs_in_sessions(need, labelled, passed) AS {
    pairs: sum(need * (need - 1))::BIGINT,
    half_labelled_pairs: sum(2 * labelled * (need - labelled))::BIGINT,
    labelled_pairs: sum(labelled * (labelled - 1))::BIGINT,
    passed_pairs: sum(passed * (labelled - 1))::BIGINT,
    both_passed_pairs: sum(passed * (passed - 1))::BIGINT,
    followers: sum(greatest(labelled - 1, 0))::BIGINT
};
-- The residuals' product over the labelled pairs of requests in one session.
CREATE OR REPLACE TEMP MACRO alike_in_sessions(rate, labelled_pairs, passed_pairs, both_passed_pairs) AS
    coalesce(both_passed_pairs - 2 * rate * passed_pairs + rate ** 2 * labelled_pairs, 0);
-- Independent draws that labels are worth, of which `followers` are not the first of their session.
CREATE OR REPLACE TEMP MACRO label_draws(labelled, followers, by_session) AS
    labelled / (1 + by_session * (labelled / (labelled - coalesce(followers, 0)) - 1));
CREATE OR REPLACE TEMP MACRO design_effect(rate, labelled, by_session, alike, draws) AS
    CASE WHEN rate > 0 AND rate < 1
        THEN greatest(1, 1 + by_session * alike / (labelled * rate * (1 - rate)))
        ELSE labelled / draws
    END * (student(draws - 1) / student(labelled - 1)) ** 2;
-- How many requests of one outcome it takes to be worth one of equal weight, given all of a stratum: as many as of all requests, less
-- what passing and failing ones, each with one request more of the mean weight, differ by.
CREATE OR REPLACE TEMP MACRO unequal_within(all_requests, all_weight, all_squares, passed, passed_weight, failed, failed_weight) AS
    greatest(1, all_requests * all_squares / all_weight ** 2
        * (passed_weight + failed_weight + 2 * all_weight / all_requests) ** 2 / (passed + failed + 2)
        / ((passed_weight + all_weight / all_requests) ** 2 / (passed + 1)
            + (failed_weight + all_weight / all_requests) ** 2 / (failed + 1)));
-- Labelled requests of one outcome that count by tokens or dollars: how many, their weight and its squares, with one more that weighs
-- what the request of a token or dollar drawn from all of that outcome does: of few, the heaviest are mostly unseen. Its square is
-- larger by the root of what these are worth (`unequal`): half of their spread on the log scale.
CREATE OR REPLACE TEMP MACRO outcome_weights(requests, weight, squares, mean, unequal) AS {
    requests: requests + 1,
    weight: weight + unequal * (weight + mean) / (requests + 1),
    squares: squares + (unequal * (weight + mean) / (requests + 1)) ** 2 * sqrt(unequal)
};
-- How many labelled requests it takes to be worth one of equal weight, where this share of the weight passes: m labels have the
-- variance share * (1 - share) * effect / m, as passing and failing requests weigh what those of their outcome do.
CREATE OR REPLACE TEMP MACRO weight_effect(share, passed, failed) AS
    ((1 - share) * passed.squares / passed.weight + share * failed.squares / failed.weight)
    * (share * passed.requests / passed.weight + (1 - share) * failed.requests / failed.weight);
-- Wilson's interval of such a share at each end's own effect, if that is larger: `near` is the interval at that of the share.
CREATE OR REPLACE TEMP MACRO weighted_wilson(share, n, effect, near, passed, failed) AS {
    low: wilson(share, n / greatest(effect, weight_effect(near.low, passed, failed))).low,
    high: wilson(share, n / greatest(effect, weight_effect(near.high, passed, failed))).high
};
-- Variance of a stratum's passing requests; NULL of one label.
CREATE OR REPLACE TEMP MACRO stratum_variance(need, rate, labelled, effect) AS
    need ** 2 * rate * (1 - rate) / nullif(labelled - 1, 0) * (1 - labelled / need) * effect;
-- The interval of a sum over sampled strata {size, estimate, variance, df, low, high, below, above}: of one stratum its own; of
-- several the wider of the strata's distances in quadrature (below, above) and of Wilson's interval at the size that all are
-- worth together with Student's t, as few labels in each make its variance unsure, but never wider than the ends of all strata at
-- once (low, high).
CREATE OR REPLACE TEMP MACRO is_pooled(strata, t) AS
    strata > 1 AND t.variance > 0 AND t.estimate > 0 AND t.estimate < t.size;
CREATE OR REPLACE TEMP MACRO pooled_share(t) AS list_transform(
    [{rate: t.estimate / t.size, worth: t.estimate * (t.size - t.estimate) / t.variance, t: student_beyond(t.df, 0.025)}],
    lambda s: wilson(s.rate, s.worth, z := s.t))[1];
CREATE OR REPLACE TEMP MACRO sampled_total(strata, t) AS list_transform(
    [CASE WHEN is_pooled(strata, t) THEN pooled_share(t) END],
    lambda share: {
        low: greatest(t.low, least(t.estimate - t.below, t.size * share.low)),
        high: least(t.high, greatest(t.estimate + t.above, t.size * share.high))
    })[1];
-- What is added up over strata for that, an aggregate: sampled ones that are not wholly labelled (`is_uncertain`) as above, of others
-- their ends, which add up linearly. `noise` is what Satterthwaite's degrees of freedom take of a variance, NULL without; lower and
-- upper are what all of them together are within. `nth` is an order of the strata, so that sums are the same every time.
CREATE OR REPLACE TEMP MACRO strata_sums(is_uncertain, size, point, variance, noise, labelled, low, high, lower, upper, nth) AS {
    sure_value: coalesce(sum(point ORDER BY nth) FILTER (WHERE NOT is_uncertain), 0),
    sure_low: coalesce(sum(low ORDER BY nth) FILTER (WHERE NOT is_uncertain), 0),
    sure_high: coalesce(sum(high ORDER BY nth) FILTER (WHERE NOT is_uncertain), 0),
    strata: count(*) FILTER (WHERE is_uncertain),
    size: sum(size ORDER BY nth) FILTER (WHERE is_uncertain),
    estimate: greatest(sum(lower ORDER BY nth) FILTER (WHERE is_uncertain), least(
        sum(upper ORDER BY nth) FILTER (WHERE is_uncertain), sum(point ORDER BY nth) FILTER (WHERE is_uncertain))),
    variance: sum(variance ORDER BY nth) FILTER (WHERE is_uncertain),
    df: least(
        sum(labelled - 1) FILTER (WHERE is_uncertain),
        ratio((sum(variance ORDER BY nth) FILTER (WHERE is_uncertain)) ** 2, sum(noise ORDER BY nth) FILTER (WHERE is_uncertain))),
    low: sum(lower ORDER BY nth) FILTER (WHERE is_uncertain),
    high: sum(upper ORDER BY nth) FILTER (WHERE is_uncertain),
    below: sqrt(sum((point - low) ** 2 ORDER BY nth) FILTER (WHERE is_uncertain)),
    above: sqrt(sum((high - point) ** 2 ORDER BY nth) FILTER (WHERE is_uncertain))
};
CREATE OR REPLACE TEMP MACRO strata_total(sums) AS list_transform([sampled_total(sums.strata, sums)], lambda sampled: {
    value: sums.sure_value + coalesce(sums.estimate, 0),
    low: sums.sure_low + coalesce(sampled.low, 0),
    high: sums.sure_high + coalesce(sampled.high, 0)
})[1];
-- Tokens or dollars over several strata: which part of what labels show too much or too little of passes. A share of few labels leans one
-- way with what passes, that of all strata hardly: as if each other stratum had z^2 labels here.
CREATE OR REPLACE TEMP MACRO shared_slope(rate, labelled, all_rate, strata) AS
    (labelled * coalesce(rate, all_rate) + 1.959963984540054 ** 2 * (strata - 1) * all_rate)
        / (labelled + 1.959963984540054 ** 2 * (strata - 1));
-- A stratum's passing weight by its labelled requests and that slope, and its variance: of the squares about the slope, with one request
-- more that has the `spread` of all strata, squared on the scale of the mean weight.
CREATE OR REPLACE TEMP MACRO expanded_weight(slope, need, labelled, weight, passed, failed) AS
    need / labelled * passed + slope * (weight - need / labelled * (passed + failed));
CREATE OR REPLACE TEMP MACRO slope_squares(slope, requests, passed, failed, passed_squares, failed_squares) AS greatest(0,
    (1 - slope) ** 2 * passed_squares + slope ** 2 * failed_squares - ((1 - slope) * passed - slope * failed) ** 2 / requests);
CREATE OR REPLACE TEMP MACRO expanded_variance(need, labelled, weight, squares, spread, effect) AS
    (need / labelled) ** 2 * (1 - labelled / need) * (squares + spread * (weight / need) ** 2) * effect;
-- The quantile at a level of a sorted list, by linear interpolation; NULL beyond either end.
CREATE OR REPLACE TEMP MACRO at_level(sorted, level) AS CASE WHEN level BETWEEN 0 AND 1 THEN
    sorted[floor(level * (len(sorted) - 1))::BIGINT + 1]
    + (level * (len(sorted) - 1) - floor(level * (len(sorted) - 1)))
        * (sorted[ceil(level * (len(sorted) - 1))::BIGINT + 1] - sorted[floor(level * (len(sorted) - 1))::BIGINT + 1])
END;
-- A quantile with the 95 % interval between order statistics, given the variance of the share below it; too few values
-- leave an end of it open (NULL).
CREATE OR REPLACE TEMP MACRO quantile_within(sorted, p, variance) AS {
    value: at_level(sorted, p),
    low: at_level(sorted, p - 1.959963984540054 * sqrt(variance)),
    high: at_level(sorted, p + 1.959963984540054 * sqrt(variance))
};
-- Sums that are the same in every order of their rows: of dollars to 1e-18, of weighted tokens and seconds to 1e-12.
CREATE OR REPLACE TEMP MACRO sum_usd(usd) AS sum(usd::DECIMAL(38, 18))::DOUBLE;
CREATE OR REPLACE TEMP MACRO sum_steady(value) AS sum(value::DECIMAL(38, 12))::DOUBLE;
-- What the replica time of a window cost, an aggregate of its rows `x` of window_expenses; of the replicas that are charged for
-- themselves in another time too what these cost (`same_usd`), and would have cost at what each costs then, `then_usd` for `then_gpu_s`.
CREATE OR REPLACE TEMP MACRO expenses(x, then_usd, then_gpu_s, nth) AS {
    own_usd: sum_usd(x.own_usd), pool_usd: sum_usd(x.pool_usd), gpu_s: sum_steady(x.gpu_s),
    same_usd: sum(x.own_usd ORDER BY nth) FILTER (WHERE x.gpu_s > 0 AND then_gpu_s > 0 AND x.own_usd <> 0 AND then_usd <> 0),
    same_then_usd: sum(x.gpu_s * then_usd / then_gpu_s ORDER BY nth)
        FILTER (WHERE x.gpu_s > 0 AND then_gpu_s > 0 AND x.own_usd <> 0 AND then_usd <> 0)
};
-- How far money that is added up may be off, given each part's {is_bounded, variance, common_usd}: what is common adds up; NULL: unknown.
CREATE OR REPLACE TEMP MACRO error_of(doubt) AS CASE WHEN bool_and(doubt.is_bounded)
    THEN sum(doubt.common_usd::DECIMAL(38, 18))::DOUBLE + sqrt(sum(doubt.variance::DECIMAL(38, 22))::DOUBLE) END;
-- What cost is to be known of all for: work without a price may make it anything.
CREATE OR REPLACE TEMP MACRO if_all_priced(number, unpriced) AS CASE WHEN coalesce(unpriced, 0) = 0 THEN number END;
-- The interval of a window's cost per accepted request: of accepted requests, and by how far the cost may be off, in quadrature around
-- the price; bounds, as without an estimate, add up linearly. No end where none may be accepted, or the error is unknown. A credit
-- is the less for each the more are accepted.
CREATE OR REPLACE TEMP MACRO priced_between(usd, error_usd, estimate, is_bound, most, fewest) AS CASE
    WHEN is_bound THEN {
        low: at_least((usd - error_usd) / nullif(most, 0), CASE WHEN usd >= 0 THEN 0 END), high: (usd + error_usd) / nullif(fewest, 0)
    }
    ELSE {
        low: at_least(
            usd / estimate - sqrt((usd / estimate - usd / nullif(most, 0)) ** 2 + (error_usd / estimate) ** 2),
            CASE WHEN usd >= 0 THEN 0 END),
        high: usd / estimate + sqrt((usd / nullif(fewest, 0) - usd / estimate) ** 2 + (error_usd / estimate) ** 2)
    }
END;
CREATE OR REPLACE TEMP MACRO price_within(usd, error_usd, estimate, low, high, lower, upper) AS priced_between(
    usd, error_usd, estimate, coalesce(estimate, 0) = 0 OR (low = lower AND high = upper),
    CASE WHEN usd < 0 THEN low ELSE high END, CASE WHEN usd < 0 THEN high ELSE low END);
-- An attempt is bought by the token where no engine of ours served it, and its replica, if any, has no known cost and its
-- engine shows nothing of itself.
CREATE OR REPLACE TEMP MACRO is_bought(replica_usd, engine_seen, by_engine) AS
    replica_usd IS NULL AND NOT engine_seen AND NOT coalesce(by_engine, false);
-- How far in a layer lies: the caller outermost.
CREATE OR REPLACE TEMP MACRO layer_depth(layer) AS CASE layer WHEN 'client' THEN 0 WHEN 'gateway' THEN 1 ELSE 2 END;
-- Whether two records {call_id, response_id} carry an id of one call.
CREATE OR REPLACE TEMP MACRO shares_call(one, other) AS
    coalesce(one.response_id = other.response_id, false) OR coalesce(one.call_id = other.call_id, false);
-- Whether a record may be a view of the same call as one of an outer layer: by an id, else in its time (clocks of two systems
-- differ a little) with the same prompt, where both report that.
CREATE OR REPLACE TEMP MACRO may_lie_below(inner_record, outer_record) AS
    outer_record.depth < inner_record.depth
    AND (shares_call(inner_record, outer_record)
        OR (inner_record.started_ns >= outer_record.started_ns - 1000000000 AND inner_record.over_ns <= outer_record.over_ns + 1000000000
            AND coalesce(inner_record.input_tokens = outer_record.input_tokens, true)));
-- Which record's outcome counts, lowest rank first: the status of a whole call only shows that an answer began, and of
-- several records of one try, the first that saw it fail is right.
CREATE OR REPLACE TEMP MACRO outcome_rank(covers_tries, outcome, depth) AS
    CASE WHEN covers_tries AND outcome = 'ok' THEN 200 ELSE floor(depth) + depth + (outcome = 'ok')::INTEGER END;
-- Whether a later one of several tries that answered began after this one had ended: nobody asks again for what he has.
CREATE OR REPLACE TEMP MACRO is_superseded(started_ns, ended_ns, last_started_ns) AS
    coalesce(started_ns < last_started_ns AND ended_ns <= last_started_ns, false);
-- The first token by a caller's outer record: what it counts as one, such as a first event, may come before the token that its
-- SDK passed up. No later than its end, since the SDK may be another machine's.
CREATE OR REPLACE TEMP MACRO passed_up(outer_ns, inner_ns, ended_ns, layer) AS
    CASE WHEN layer = 'client' AND inner_ns BETWEEN outer_ns AND ended_ns THEN inner_ns ELSE outer_ns END;
-- The one of two values that is preferred, else the other.
CREATE OR REPLACE TEMP MACRO preferred(first, one, other) AS
    CASE WHEN first THEN coalesce(one, other) ELSE coalesce(other, one) END;
-- The variance with which the next of n draws lies about their mean, given theirs about it (n may be fractional).
CREATE OR REPLACE TEMP MACRO spread(variance, n) AS CASE WHEN n > 1 THEN greatest(0, variance) * (n + 1) / (n - 1) END;
-- Dollars in words: to the cent from a dollar on, and never so few digits that two that count are lost.
CREATE OR REPLACE TEMP MACRO dollars(usd, least_digits := 2) AS
    CASE WHEN usd < 0 THEN '-' ELSE '' END || format(
        '${:,.' || CASE WHEN usd = 0 OR abs(usd) >= 1 THEN 2
            ELSE greatest(least_digits, least(15, 1 - floor(log10(abs(usd)))::INTEGER)) END || 'f}', abs(usd));
-- A name as a table for people has room for it: names of telemetry may have thousands of letters.
CREATE OR REPLACE TEMP MACRO short_name(name, most := 60) AS
    CASE WHEN length(name) > most THEN left(name, most - 1) || '…' ELSE name END;
-- The first words of a list, and how many more it has.
CREATE OR REPLACE TEMP MACRO some_of(words, most := 5) AS
    array_to_string(words[:most], ', ') || CASE WHEN len(words) > most THEN format(' and {} more', len(words) - most) ELSE '' END;
-- The start of a window as warnings write it.
CREATE OR REPLACE TEMP MACRO minute_utc(instant) AS strftime(instant AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M');
-- A time of hours or days as warnings write it.
CREATE OR REPLACE TEMP MACRO long_span(seconds) AS
    CASE WHEN seconds < 2 * 86400 THEN format('{:.1f} h', seconds / 3600) ELSE format('{:.1f} days', seconds / 86400) END;
-- Tries of a call in all that two layers count: each layer tries anew for every try of the layer above it.
CREATE OR REPLACE TEMP MACRO multiplied_tries(outer_tries, inner_tries) AS
    CASE WHEN coalesce(outer_tries, inner_tries) IS NOT NULL THEN greatest(outer_tries, 1) * greatest(inner_tries, 1) END;
-- A quantile of a histogram: {value, low, high}, by linear interpolation in the bucket that holds it, whose bounds are low
-- and high. `counts`, cumulative, are as long as `bounds`; beyond the last bound the value is unknown.
CREATE OR REPLACE TEMP MACRO bucket_quantile(bounds, counts, observed, p) AS list_transform(
    [len(list_filter(counts, lambda c: c < p * observed))],
    lambda below: {
        value: coalesce(bounds[below], 0) + (bounds[below + 1] - coalesce(bounds[below], 0))
            * ratio(p * observed - coalesce(counts[below], 0), counts[below + 1] - coalesce(counts[below], 0)),
        low: CASE WHEN observed > 0 THEN coalesce(bounds[below], 0) END,
        high: CASE WHEN observed > 0 THEN bounds[below + 1] END
    }
)[1];
-- What the emitter names, else what the first tag of a list names that is there and not empty.
CREATE OR REPLACE TEMP MACRO tagged_as(named, tag, keys) AS
    coalesce(named, list_filter(list_transform(keys, lambda k: tag[k]), lambda v: v <> '')[1]);

-- The digits of the last date in a path, empty where it has none: which of two exports is the later one.
CREATE OR REPLACE TEMP MACRO path_date(path) AS regexp_replace(
    coalesce(list_extract(regexp_extract_all(path, '20\d\d-?[01]\d-?[0-3]\d(T[0-9:.-]+)?'), -1), ''), '[^0-9]', '', 'g');

-- description: Of these the ones that judge nothing, of evaluators of which they are 20 and a tenth or more, or all: so few others are worth no search
-- grain: label_id
-- reads: newest_labels
SELECT * EXCLUDE (is_joined)
FROM newest_labels
WINDOW of_evaluator AS (PARTITION BY evaluator)
QUALIFY NOT is_joined
    AND (count(*) FILTER (WHERE is_joined) OVER of_evaluator = 0
        OR count(*) FILTER (WHERE NOT is_joined) OVER of_evaluator >= greatest(20, 0.1 * count(*) OVER of_evaluator))

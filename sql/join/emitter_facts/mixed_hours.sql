-- description: Hours in which, or beside which, more than one system recorded: one alone links its records itself
-- grain: epoch_hour
-- reads: near_facts
SELECT epoch_hour
FROM near_facts
WHERE fact = 'dialect'
GROUP BY epoch_hour
HAVING count(*) > 1

-- description: How many alarms are in which state
-- grain: state
-- reads: alarms
SELECT state, count(*) AS alarms FROM alarms GROUP BY state ORDER BY state

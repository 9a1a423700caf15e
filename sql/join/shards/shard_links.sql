-- description: Pairs of places whose rows must be joined together: those that one id links (docs/scale.md#an-hour-that-is-cut)
-- grain: place, id
-- reads: named_places, timed_places
WITH named AS (
    SELECT DISTINCT place, id FROM named_places
)
SELECT place, id
FROM named
WHERE id IN (SELECT id FROM named GROUP BY id HAVING min(place) <> max(place)) -- what one place alone names links nothing
UNION
SELECT place, id FROM timed_places WHERE place <> id

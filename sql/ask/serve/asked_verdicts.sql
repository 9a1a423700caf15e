-- description: How many of the requests that a reader asks for have each verdict
-- grain: verdict
-- reads: asked_requests
SELECT verdict, count(*) AS requests
FROM asked_requests
GROUP BY verdict
ORDER BY requests DESC, verdict

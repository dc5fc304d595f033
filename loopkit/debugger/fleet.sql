-- Many recordings as tables; `$files` is the list of their paths. Lines that are no JSON (a torn end, damage) are left out.

CREATE TABLE lines AS
SELECT filename AS file, json
FROM read_ndjson_objects($files, filename = true, ignore_errors = true, maximum_object_size = 268435456)
WHERE json IS NOT NULL;

CREATE TABLE headers AS
SELECT file, json->>'$.run' AS run, json->>'$.created' AS created, json->>'$.parent' AS parent
FROM lines
WHERE json->>'$.loopkit' IS NOT NULL;

CREATE TABLE events AS
SELECT
    file,
    (json->>'$.seq')::BIGINT AS seq,
    (json->>'$.t')::DOUBLE AS t,
    json->>'$.loop' AS loop,
    (json->>'$.iteration')::BIGINT AS iteration,
    json->>'$.type' AS type,
    json->>'$.call' AS call,
    json AS data
FROM lines
WHERE json->>'$.seq' IS NOT NULL;

DROP TABLE lines;

CREATE TABLE loops AS
SELECT
    file, loop, data->>'$.agent' AS agent, data->>'$.model' AS model, data->>'$.parent_call' AS parent_call
FROM events
WHERE type = 'LoopStarted';

-- One row an answer that was asked for, also one that never came.
CREATE TABLE requests AS
WITH told AS (
    SELECT
        *,
        lead(type) OVER turn AS answered,
        lead(t) OVER turn AS ended,
        lead(data) OVER turn AS answer
    FROM events
    WHERE type IN ('ModelRequested', 'ModelReplied', 'ModelAttemptFailed', 'ModelInterrupted')
    WINDOW turn AS (PARTITION BY file, loop ORDER BY seq)
)
SELECT
    told.file, told.loop, iteration, told.t AS started, ended, ended - told.t AS seconds,
    CASE WHEN answered = 'ModelRequested' THEN NULL ELSE answered END AS outcome,
    coalesce(answer->>'$.model', loops.model) AS model,
    answered = 'ModelReplied' AND (answer->>'$.usage.input_tokens') IS NOT NULL AS reported,
    coalesce((answer->>'$.usage.input_tokens')::BIGINT, 0) AS input_tokens,
    coalesce((answer->>'$.usage.output_tokens')::BIGINT, 0) AS output_tokens,
    coalesce((answer->>'$.usage.cache_read_tokens')::BIGINT, 0) AS cache_read_tokens,
    coalesce((answer->>'$.usage.cache_write_tokens')::BIGINT, 0) AS cache_write_tokens,
    coalesce((answer->>'$.usage.reasoning_tokens')::BIGINT, 0) AS reasoning_tokens
FROM told LEFT JOIN loops ON loops.file = told.file AND loops.loop = told.loop
WHERE type = 'ModelRequested';

-- One row a call that was asked for; `status` is what became of it.
CREATE TABLE calls AS
WITH asked AS (
    SELECT
        file, loop, iteration, seq, loop || '/' || iteration || '.' || position AS call, part->>'$.name' AS tool
    FROM (
        SELECT
            file, loop, iteration, seq, part, row_number() OVER (PARTITION BY file, seq ORDER BY place) AS position
        FROM (
            SELECT
                file, loop, iteration, seq,
                unnest(json_extract(data, '$.message.parts[*]')) AS part,
                generate_subscripts(json_extract(data, '$.message.parts[*]'), 1) AS place
            FROM events
            WHERE type = 'ModelReplied'
        )
        WHERE part->>'$.type' IN ('ToolCall', 'CutOffCall')
    )
), told AS (
    SELECT
        file, call,
        max(t) FILTER (type = 'ToolStarted') AS started,
        max(t) FILTER (type IN ('ToolReturned', 'ToolFailed', 'ToolAbandoned')) AS ended,
        max(t) FILTER (type = 'DecisionRequested') AS requested,
        max(t) FILTER (type = 'Decided') AS decided,
        max(data->>'$.by') FILTER (type = 'Decided') AS decided_by,
        max(data->>'$.decision.type') FILTER (type = 'Decided') AS decision,
        max(data->>'$.cause') FILTER (type = 'ToolSkipped') AS skipped,
        bool_or(type = 'ToolReturned' AND coalesce((data->>'$.is_error')::BOOLEAN, false)) AS told_error,
        bool_or(type = 'ToolFailed') AS failed,
        bool_or(type = 'ToolAbandoned') AS abandoned,
        bool_or(type = 'ToolReturned') AS returned
    FROM events
    WHERE call IS NOT NULL
    GROUP BY file, call
)
SELECT
    asked.file, asked.loop, asked.iteration, asked.call, asked.tool,
    decision, decided_by, requested, decided, started, ended, ended - started AS seconds,
    CASE
        WHEN skipped IS NOT NULL THEN skipped
        WHEN failed OR told_error THEN 'error'
        WHEN abandoned THEN 'abandoned'
        WHEN returned THEN 'done'
        ELSE 'unfinished'
    END AS status,
    coalesce(failed OR told_error OR abandoned OR skipped NOT IN ('denied', 'responded'), false) AS is_error
FROM asked LEFT JOIN told ON told.file = asked.file AND told.call = asked.call;

CREATE TABLE warnings AS
SELECT
    file, loop, iteration, seq, data->>'$.detector' AS detector, data->>'$.tool_name' AS tool,
    (data->>'$.count')::BIGINT AS count, data->>'$.action' AS action
FROM events
WHERE type = 'RepetitionDetected';

-- Stretches in which something worked or waited: a call that started sub-agents is not work of its own,
-- a person is waited for by a decision or a pause.
CREATE TABLE stretches AS
SELECT file, 'model' AS kind, started, ended FROM requests WHERE ended IS NOT NULL
UNION ALL
SELECT file, 'tool', started, ended FROM calls
WHERE started IS NOT NULL AND ended IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM loops WHERE loops.file = calls.file AND loops.parent_call = calls.call)
UNION ALL
SELECT file, 'person', requested, decided FROM calls WHERE decided_by = 'person' AND requested IS NOT NULL
UNION ALL
SELECT file, 'person', t, resumed
FROM (
    SELECT file, type, t, lead(t) OVER (PARTITION BY file, loop ORDER BY seq) AS resumed
    FROM events
    WHERE type IN ('Paused', 'Resumed', 'LoopFinished', 'LoopFailed')
)
WHERE type = 'Paused' AND resumed IS NOT NULL;

-- Every moment of a run counts once: for the model if one works, else for a tool, else for a person who is waited for.
CREATE TABLE splits AS
WITH edges AS (
    SELECT file, started AS t, kind, 1 AS change FROM stretches
    UNION ALL
    SELECT file, ended, kind, -1 FROM stretches
), moments AS (
    SELECT
        file, t,
        sum(sum(change) FILTER (kind = 'model')) OVER upto AS model,
        sum(sum(change) FILTER (kind = 'tool')) OVER upto AS tool,
        sum(sum(change) FILTER (kind = 'person')) OVER upto AS person,
        lead(t) OVER (PARTITION BY file ORDER BY t) - t AS seconds
    FROM edges
    GROUP BY file, t
    WINDOW upto AS (PARTITION BY file ORDER BY t)
)
SELECT
    file,
    coalesce(sum(seconds) FILTER (model > 0), 0) AS model,
    coalesce(sum(seconds) FILTER (coalesce(model, 0) = 0 AND tool > 0), 0) AS tool,
    coalesce(sum(seconds) FILTER (coalesce(model, 0) = 0 AND coalesce(tool, 0) = 0 AND person > 0), 0) AS person
FROM moments
GROUP BY file;

CREATE TABLE runs AS
WITH counted AS (
    SELECT
        file,
        count(*) FILTER (type = 'IterationStarted') AS iterations,
        count(*) FILTER (type = 'LoopStarted') - 1 AS sub_agents,
        count(*) FILTER (type = 'RepetitionDetected') AS warnings,
        count(*) FILTER (type = 'ModelAttemptFailed') AS failed_attempts,
        count(*) FILTER (type = 'LoopFailed') AS failed_loops,
        count(*) AS events,
        max(t) FILTER (type <> 'ToolEndedLate') - min(t) AS seconds,
        max(CASE type WHEN 'LoopFinished' THEN data->>'$.reason.type' WHEN 'LoopFailed' THEN 'Failed' END)
            FILTER (loop = 'root') AS ended
    FROM events
    GROUP BY file
), tallied AS (
    SELECT
        file,
        count(*) AS calls,
        count(*) FILTER (is_error) AS errors,
        count(*) FILTER (status = 'denied') AS denied,
        count(*) FILTER (decision = 'Modify') AS edited
    FROM calls
    GROUP BY file
), spent AS (
    SELECT
        file,
        sum(input_tokens) AS input_tokens,
        sum(output_tokens) AS output_tokens,
        bool_and(reported) FILTER (outcome = 'ModelReplied') AS all_reported
    FROM requests
    GROUP BY file
)
SELECT
    headers.file, run, created, parent, root.agent, root.model,
    coalesce(lower(regexp_replace(ended, '([a-z])([A-Z])', '\1_\2', 'g')), 'unfinished') AS outcome,
    coalesce(iterations, 0) AS iterations, coalesce(calls, 0) AS calls, coalesce(greatest(sub_agents, 0), 0) AS sub_agents,
    coalesce(warnings, 0) AS warnings, coalesce(errors, 0) + coalesce(failed_loops, 0) AS errors, coalesce(denied, 0) AS denied,
    coalesce(edited, 0) AS edited, coalesce(failed_attempts, 0) AS failed_attempts, coalesce(events, 0) AS events,
    input_tokens, output_tokens, coalesce(all_reported, false) AS tokens_complete,
    coalesce(seconds, 0) AS seconds, coalesce(splits.model, 0) AS model_seconds,
    coalesce(splits.tool, 0) AS tool_seconds, coalesce(splits.person, 0) AS person_seconds
FROM headers
LEFT JOIN counted ON counted.file = headers.file
LEFT JOIN tallied ON tallied.file = headers.file
LEFT JOIN spent ON spent.file = headers.file
LEFT JOIN splits ON splits.file = headers.file
LEFT JOIN loops root ON root.file = headers.file AND root.loop = 'root';

-- For wrk: updates of activities in turn, each with a state and an Idempotency-Key of its own; one a request, or many in
-- a batch. Arguments: app, API key, number of this run, number of activities, changes in a request (0: no batch).

local app, key, run, activities, size
local made = 0

-- 400 bytes, whatever the number.
local before = '{"home_score":2,"away_score":1,"period":"second_half","last_event":"'
local after = '","clock":'
local event = string.rep("Mbappe scores. ", 40)
event = event:sub(1, 400 - #before - #after - #"100000000}")

-- No run repeats the states of another: what is shown already would not be stored.
local function state(number)
   return before .. event .. after .. (100000000 + run * 1000000 + number) .. "}"
end

local function activity(number)
   return "match-" .. (number % activities + 1)
end

local function post(path, headers, body)
   return "POST /v1/apps/" .. app .. path .. " HTTP/1.1\r\nHost: tally\r\nAuthorization: Bearer " .. key
      .. "\r\nContent-Type: application/json\r\nContent-Length: " .. #body .. "\r\n" .. headers .. "\r\n" .. body
end

local function one()
   made = made + 1
   return post(
      "/activities/" .. activity(made) .. "/updates",
      "Idempotency-Key: run-" .. run .. "-" .. made .. "\r\n",
      '{"content_state":' .. state(made) .. "}"
   )
end

local function batch()
   local operations = {}
   for place = 1, size do
      made = made + 1
      operations[place] = '{"op":"update","id":"' .. activity(made) .. '","idempotency_key":"run-' .. run .. "-" .. made
         .. '","body":{"content_state":' .. state(made) .. "}}"
   end
   return post("/batch", "", '{"operations":[' .. table.concat(operations, ",") .. "]}")
end

function init(arguments)
   app, key, run = arguments[1], arguments[2], tonumber(arguments[3])
   activities, size = tonumber(arguments[4]), tonumber(arguments[5])
   request = size == 0 and one or batch
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      '{"requests":%d,"seconds":%f,"refused":%d,"broken":%d,"p50_ms":%f,"p90_ms":%f,"p99_ms":%f,"max_ms":%f}\n',
      summary.requests, summary.duration / 1e6, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
      latency:percentile(50) / 1e3, latency:percentile(90) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3
   ))
end

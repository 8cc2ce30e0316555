-- Posts one chat completion again and again: wrk -s models.lua URL -- KEY plain|stream|paced [CUSTOM_HOST [tenth]]. Prints one JSON line.
-- tenth: each tenth call has its key in two headers, so that a worker passes it on.
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.headers["x-portkey-provider"] = "openai"
function init(args)
  local stream = args[2] == "plain" and "" or '"stream":true,"user":"' .. args[2] .. '",'
  wrk.body = '{' .. stream .. '"model":"gpt-4o-mini","max_tokens":500,"messages":[{"role":"user","content":"' .. string.rep("hello ", 60) .. '"}]}'
  wrk.headers["authorization"] = "Bearer " .. args[1]
  wrk.headers["x-portkey-custom-host"] = args[3]
  if args[4] == "tenth" then
    local served = wrk.format()
    wrk.headers["x-api-key"] = args[1]
    local passed = wrk.format()
    local calls = 0
    request = function()
      calls = calls + 1
      return calls % 10 == 0 and passed or served
    end
  end
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'JSON {"requests":%d,"us":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max,
    e.status, e.connect + e.read + e.write + e.timeout))
end

-- Posts one chat completion again and again. Prints one JSON line.
wrk.method = "POST"
wrk.body = '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"' .. string.rep("hello ", 60) .. '"}]}'
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer sk-x"
wrk.headers["x-portkey-provider"] = "openai"
function init(args)
  wrk.headers["x-portkey-custom-host"] = args[1]
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'JSON {"requests":%d,"us":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max,
    e.status, e.connect + e.read + e.write + e.timeout))
end

-- Asks for a data endpoint without a credential, with another query each time: wrk -s challenges.lua URL. Prints one JSON line.
local asked = 0
function request()
  asked = asked + 1
  return wrk.format("GET", wrk.path .. "?q=cats+" .. asked)
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'JSON {"requests":%d,"us":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max,
    e.status, e.connect + e.read + e.write + e.timeout))
end

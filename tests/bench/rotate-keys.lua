-- Rotates the keys of a file over one path: wrk -s rotate-keys.lua URL -- KEYS_FILE. Prints one JSON line.
local requests = {}
local n = 0
function init(args)
  math.randomseed(os.time())
  if args[1] == nil then return end
  for key in io.lines(args[1]) do
    n = n + 1
    requests[n] = wrk.format("GET", nil, { ["Authorization"] = "Bearer " .. key })
  end
end
function request()
  return requests[math.random(n)]
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'JSON {"requests":%d,"us":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max,
    e.status, e.connect + e.read + e.write + e.timeout))
end

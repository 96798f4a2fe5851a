-- settle: URLs of leases are done, measurements enter the averages; with release the server is free again.
-- ARGV[2]  {now, {{server, token, {done…}, pages, failures, {connection_ms…}, {response_ms…}, carried or -1, delay_ms or -1, due, release}, …}}
-- Reply    one 1 (accepted) or 0 (stale token: refused, nothing changed) for each
-- Keeps    only the holder of the lease's token can acknowledge its URLs.
local now, settlements = args[1], args[2]

local function average(estimate, measured)
  for _, m in ipairs(measured) do
    estimate = estimate and rules.alpha * estimate + (1 - rules.alpha) * m or m
  end
  return estimate
end

local function settle(server, token, done, pages, failures, connection_ms, response_ms, carried, delay_ms, due, free)
  local s = load(server)
  if s.st ~= 'l' or s.token ~= token then
    count('refused', 1)
    return 0
  end
  -- A member that is queued and not held keeps its payload, whatever the agent says of it.
  local held = {}
  in_pieces(done, function(...)
    local members = {...}
    for i, score in ipairs(redis.call('HMGET', s.held, ...)) do
      if score then held[members[i]] = score end
    end
  end)
  local settled = {}
  for member, score in pairs(held) do
    settled[#settled + 1] = member
    drop_payload(s, tonumber(score), member)
  end
  in_pieces(settled, function(...) redis.call('HDEL', s.held, ...) end)
  count('settled', #settled)
  count('leased', -#settled)
  s.pages = s.pages + pages
  s.fails = pages > 0 and failures or s.fails + failures
  s.ct = average(s.ct, connection_ms)
  s.rt = average(s.rt, response_ms)
  if carried >= 1 then s.rpc = carried end
  if delay_ms >= 0 then s.delay = delay_ms end
  s.due = math.max(s.due, due)
  local fields = {'pages', whole(s.pages), 'fails', whole(s.fails), 'due', whole(s.due)}
  local measured = {ct = s.ct, rt = s.rt, delay = s.delay, rpc = carried >= 1 and s.rpc or nil}
  for name, value in pairs(measured) do
    fields[#fields + 1] = name
    fields[#fields + 1] = exact(value)
  end
  save(s, unpack(fields))
  if closed(s) then drop_queue(s) end
  if free == 1 then release(s, now) end
  return 1
end

local replies = {}
for i, settlement in ipairs(settlements) do replies[i] = settle(unpack(settlement)) end
write()
return replies

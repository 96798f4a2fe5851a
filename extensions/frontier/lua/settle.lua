-- settle: URLs of leases are done, measurements enter the averages; with release the server is free again.
-- ARGV[2]  {now, {{server, token, {msgpack of {done…}, how many} or {}, pages, failures, {connection_ms…}, {response_ms…}, carried or -1, delay_ms or -1, due, release}, …}}
-- Reply    msgpack of {1 (accepted) or 0 (stale token: refused, nothing changed), …}, one for each
-- Keeps    only the holder of the lease's token can acknowledge its URLs.
local now, settlements = args[1], args[2]

local function average(estimate, measured)
  for _, m in ipairs(measured) do
    estimate = estimate and rules.alpha * estimate + (1 - rules.alpha) * m or m
  end
  return estimate
end

-- Takes what is done out of what a lease holds; how many they were. Mostly it is all of it, in its order: that can be told from the strings.
local function acknowledge(s, done, size)
  local packed = packed_of(s)
  if packed and not s.held and string.sub(packed, 2, #done + 1) == done then
    hold(s, {{}, {}, {}, {}})
    return size
  end
  local is_done = {}
  for _, member in ipairs(cmsgpack.unpack(done)) do is_done[member] = true end
  local members = members_of(s)
  local left = {}
  for i, member in ipairs(members) do
    if not is_done[member] then left[#left + 1] = i end
  end
  local settled = #members - #left
  if settled > 0 and #left == 0 then
    hold(s, {{}, {}, {}, {}})
  elseif settled > 0 then
    local all = held_of(s)
    -- The list of payloads stays as it is, so that places in it do.
    local held = {{}, {}, {}, all[4]}
    for k = 1, 3 do
      for i, place in ipairs(left) do held[k][i] = all[k][place] end
    end
    hold(s, held)
  end
  return settled
end

local function settle(server, token, done, pages, failures, connection_ms, response_ms, carried, delay_ms, due, free)
  local s = servers[server]
  if s.st ~= 'l' or s.token ~= token then
    count('refused', 1)
    return 0
  end
  if #done > 0 then
    local settled = acknowledge(s, unpack(done))
    count('settled', settled)
    count('leased', -settled)
  end
  s.pages = s.pages + pages
  s.fails = pages > 0 and failures or s.fails + failures
  s.ct = average(s.ct, connection_ms)
  s.rt = average(s.rt, response_ms)
  if carried >= 1 then s.rpc, s.carries = carried, carried end
  if delay_ms >= 0 then s.delay = delay_ms end
  s.due = math.max(s.due, due)
  s.changed = true
  if closed(s) then drop_queue(s) end
  if free == 1 then release(s, now) end
  return 1
end

local names = {}
for i, settlement in ipairs(settlements) do names[i] = settlement[1] end
load_all(names, true)
read_books('order', 'queued', 'leased', 'open_servers', 'settled')
local replies = {}
for i, settlement in ipairs(settlements) do replies[i] = settle(unpack(settlement)) end
write()
return cmsgpack.pack(replies)

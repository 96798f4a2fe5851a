-- settle: URLs of leases are done, measurements enter the averages; with release the server is free again.
-- ARGV[2]  {now, {{server, token, {msgpack of {done…}, how many} or {}, pages, failures, {connection_ms…}, {response_ms…}, carried or -1, delay_ms or -1, due, release, odds or 0, {[member] = q, …} of those that are lowered, again}, …}}; the last two may be missing
-- Reply    msgpack of {1 (accepted) or 0 (stale token: refused, nothing changed), …}, one for each
-- Keeps    only the holder of the lease's token can acknowledge its URLs.
local now, settlements = args[1], args[2]

local function average(estimate, measured)
  for _, m in ipairs(measured) do
    estimate = estimate and rules.alpha * estimate + (1 - rules.alpha) * m or m
  end
  return estimate
end

-- Marks what is done of what a lease holds; how many they were. Mostly they are the next ones in its order, or all: that can be told from the strings.
local function acknowledge(s, done, size)
  local packed = packed_of(s)
  if packed and not s.members and #packed == s.held_size then
    local header = header_of(size)
    local last = s.held_at + #done - header
    if string.sub(packed, s.held_at + 1, last) == string.sub(done, header + 1) then
      s.held_first, s.held_at = s.held_first + size, last
      local many, high, low = string.byte(packed, 2, 4)
      if s.held_first == (many < 160 and many - 144 or high * 256 + low) then hold(s, {{}, {}, {}, {}}) end
      return size
    end
  end
  local members, gone = members_of(s)
  local is_done, settled, left = {}, {}, 0
  for _, member in ipairs(cmsgpack.unpack(done)) do is_done[member] = true end
  for _, member in ipairs(members) do
    if not gone[member] then
      if is_done[member] then settled[#settled + 1] = member else left = left + 1 end
    end
  end
  if #settled > 0 and left == 0 then
    hold(s, {{}, {}, {}, {}})
  elseif #settled > 0 then
    for _, member in ipairs(settled) do gone[member] = true end
    s.settled = s.settled or {}
    s.settled[#s.settled + 1] = cmsgpack.pack(settled)
  end
  return #settled
end

-- What was done under a lease that Redis has forgotten, as far as it is queued again.
local function settle_queued(s, done, due)
  local settled = 0
  for _, member in ipairs(done) do
    local score = redis.call('ZSCORE', s.queue, member)
    if score then
      redis.call('ZREM', s.queue, member)
      take_payload(s, sequence_of(tonumber(score)), member)
      settled = settled + 1
    end
  end
  s.n = s.n - settled
  count('settled', settled)
  count('queued', -settled)
  s.due = math.max(s.due, due)
  s.changed = true
  if s.st == 'l' then return end
  place(s, now)
  if s.st == 'w' or (s.st == 'r' and s.due > now) then
    s.st, s.at = 'w', whole(s.due)
  end
end

local function settle(server, token, done, pages, failures, connection_ms, response_ms, carried, delay_ms, due, free, odds, lowered, again)
  local s = servers[server]
  if s.st ~= 'l' or s.token ~= token then
    count('refused', 1)
    if again == 1 and s.known then settle_queued(s, #done > 0 and cmsgpack.unpack(done[1]) or {}, due) end
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
  if odds > 0 then s.odds = odds end
  s.due = math.max(s.due, due)
  s.changed = true
  if closed(s) then drop_queue(s) end
  if free == 1 then release(s, now, lowered) end
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

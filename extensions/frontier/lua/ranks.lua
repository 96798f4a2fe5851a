-- Rank of a server and length of its lease (policies.py has the formulas and their source).

-- A quality after its odds were multiplied; by 1/odds, what it was before.
local function adjusted(quality, odds) return odds * quality / (1 + (odds - 1) * quality) end

-- Whether a URL takes so long that a rate which it lowers is another double; otherwise the longer connection counts as an equal.
local function tells(c, r) return r > 0.000002 * c end

-- The most quality per second of a connection, and how many URLs bring it (the most of equals), where another URL takes `r` seconds and a `pause` before it.
-- For the first `longest` URLs the same without pauses: third comes how many bring that, fourth the first's quality as queued. It ends where the rest of the first `most` URLs can only lower both.
local function best_rates(s, most, c, r, pause, longest)
  local sum, best, length, restful, stay = 0, -1, 1, -1, 0
  local k, top = 0, nil
  local odds, may_end = s.odds, tells(c, r)
  -- One URL is enough where a pause costs more than to come back, otherwise it is about as many as last time.
  local piece = math.max(longest, pause > 2 * c and 1 or s.length > 0 and s.length + 2 or 8)
  local quality = 1
  while k < most do
    local head = redis.call('ZREVRANGE', s.queue, digits(k), digits(math.min(k + piece, most) - 1), 'WITHSCORES')
    for i = 2, #head, 2 do
      quality = floor(tonumber(head[i]) / 549755813888) / STEPS
      top = top or quality
      if odds ~= 1 then quality = adjusted(quality, odds) end
      -- No later URL is better than this one: where it lowers a rate, all of them do. The margin is more than what rounding can do.
      local lowers = may_end and k > 0 and 2 * c + k * r > 0.001 and quality < best * (r + pause) * 0.999999
      if lowers and (k >= longest or quality < restful * r * 0.999999) then return best, length, stay, top end
      k = k + 1
      sum = sum + quality
      local rate = sum / math.max(2 * c + k * r + (k - 1) * pause, 0.001)
      if rate >= best then best, length = rate, k end
      if k <= longest then
        rate = sum / math.max(2 * c + k * r, 0.001)
        if rate >= restful then restful, stay = rate, k end
      end
    end
    -- Nor is any better that has not been read.
    if may_end and 2 * c + k * r > 0.001 and k >= longest and quality < best * (r + pause) * 0.999999 then break end
    piece = math.max(8, 2 * piece)
  end
  return best, length, stay, top
end

-- The rank of a server with URLs queued, how many of them a lease would carry, and the `cut`: a URL of less quality than that comes after those, and would lower the rate of
-- any connection that got as far as to it (unless it were the first), so whether it is queued changes neither. In steps of quality as queued; 0 where that cannot be said.
local function rank(s, uncontested)
  local most = math.max(1, math.min(s.rpc, s.n))
  local c = (s.ct or rules.connection_ms) / 1000
  local r = (s.rt or rules.response_ms) / rules.pipelining / 1000
  local pause = delay_of(s) / 1000
  local best, length, cut = 0, most, 0
  if rules.policy == 'breadth_first' then
    best = -s.order
  elseif rules.policy == 'performance' then
    best = most / math.max(2 * c + most * r + (most - 1) * pause, 0.001)
  elseif rules.policy == 'quality' then
    best = adjusted(unpack_score(tonumber(redis.call('ZREVRANGE', s.queue, 0, 0, 'WITHSCORES')[2])) / STEPS, s.odds)
  else
    local longest = uncontested and most or 0
    if rules.keep_open_ms > 0 then
      longest = math.min(longest, 1 + floor(rules.keep_open_ms / math.max(delay_of(s), 1)))
    end
    local stay, top
    best, length, stay, top = best_rates(s, most, c, r, pause, longest)
    length = math.max(length, stay)
    if 2 * c + r > 0.001 and tells(c, r) then
      local least = best * (r + pause) * 0.999999
      -- Turned back, the margin is still a thousand times what rounding can do, whatever the odds.
      if s.odds ~= 1 then least = adjusted(math.min(least, 1), 1 / s.odds) end
      cut = math.min(least, top + 0.5 / STEPS) * STEPS
    end
  end
  return best, length, cut
end

-- Whether a lease that nobody else wants explores, and the URLs that it does it by, {member, score, …} (exploring.py has the reasons and the constants).
local function explores(s, token, vain)
  return rules.explore > 0 and rules.policy == 'capability' and s.odds < 2 and vain < 30 and floor(token * rules.explore) > floor((token - 1) * rules.explore)
end
local function explored(s, length)
  local most = math.min(length, 2)
  local head = redis.call('ZREVRANGE', s.queue, '0', '63', 'WITHSCORES')
  local urls, promises = {}, {}
  for i = 1, #head, 2 do
    local member = head[i]
    local step = math.min(math.max(floor(tonumber(head[i + 1]) / 549755813888), 1), STEPS - 1)
    local promise = step / (STEPS - step)
    -- No segments would make it better, and no later one is.
    if promises[most] and promise <= promises[most] then break end
    local at = string.byte(member) ~= 0 and string.find(member, '/', 2, true)
    while at do
      promise = promise * 0.4
      at = string.find(member, '/', at + 1, true)
    end
    -- Its place among the best so far; of equals the earlier one stays before it.
    local place = #promises + 1
    while place > 1 and promise > promises[place - 1] do place = place - 1 end
    if place <= most then
      table.insert(promises, place, promise)
      table.insert(urls, 2 * place - 1, head[i + 1])
      table.insert(urls, 2 * place - 1, member)
      promises[most + 1], urls[2 * most + 1], urls[2 * most + 2] = nil, nil, nil
    end
  end
  return urls
end

-- How many URLs a lease of a ready server carries.
local function lease_length(s, uncontested)
  if rules.keep_open_ms > 0 and delay_of(s) >= rules.keep_open_ms then return 1 end
  if rules.policy ~= 'capability' then return math.max(1, math.min(s.rpc, s.n)) end
  if not uncontested then return math.max(1, s.length) end
  local _, length = rank(s, true)
  return length
end

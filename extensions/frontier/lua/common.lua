-- What every verb shares. Put in front of each script when it is registered (a Redis script cannot import another).
--
-- KEYS[1]  the partition's counters, "frontier:{crawl:partition}:m"; all other keys of the partition share its prefix and hash tag:
--            m            hash: counters, and the next token and order
--            r, w, l      sorted sets of servers: ready by rank, waiting by due instant, leased by deadline
--            s:<server>   hash: what is known of a server
--            q:<server>   sorted set: its URL queue, member by score (contract.py has the layout)
--            h:<server>   hash: the URLs that its lease holds, member to score
--            x:<server>   hash: payloads of queued and held members, where there are any
--            u:<bucket>   set of integers: one bucket of the seen-set
-- ARGV[1]  the rules (records.Rules), msgpack map
-- ARGV[2]  the verb's own arguments, msgpack; the caller gives the time in them, so that one clock rules

local prefix = string.sub(KEYS[1], 1, -2)
local rules = cmsgpack.unpack(ARGV[1])
local args = cmsgpack.unpack(ARGV[2])
local by_quality = rules.policy == 'capability' or rules.policy == 'quality'

local STEPS = 16383
local MAX_SEQUENCE = 33554431
local READY, WAITING, LEASED = prefix .. 'r', prefix .. 'w', prefix .. 'l'

local counted = {}
local function count(name, by)
  counted[name] = (counted[name] or 0) + by
end
local function write_counts()
  for name, by in pairs(counted) do
    if by ~= 0 then redis.call('HINCRBY', KEYS[1], name, by) end
  end
end

local function exact(number) return string.format('%.17g', number) end

-- A server, read once per call. `st` is its state: r, w, l, or nil for idle.
local FIELDS = {'st', 'seq', 'pages', 'fails', 'rpc', 'ct', 'rt', 'delay', 'due', 'order', 'token', 'agent'}
local servers = {}
local function load(name)
  local s = servers[name]
  if s then return s end
  local got = redis.call('HMGET', prefix .. 's:' .. name, unpack(FIELDS))
  s = {
    name = name, queue = prefix .. 'q:' .. name, held = prefix .. 'h:' .. name, payloads = prefix .. 'x:' .. name,
    known = got[2] and true or false,
    st = got[1] and got[1] ~= '' and got[1] or nil,
    seq = tonumber(got[2] or 0), pages = tonumber(got[3] or 0), fails = tonumber(got[4] or 0),
    rpc = tonumber(got[5] or rules.requests_per_connection),
    ct = tonumber(got[6]), rt = tonumber(got[7]), delay = tonumber(got[8]),
    due = tonumber(got[9] or 0), order = tonumber(got[10] or 0), token = tonumber(got[11] or 0), agent = got[12],
  }
  s.n = s.known and redis.call('ZCARD', s.queue) or 0
  servers[name] = s
  return s
end
local function save(s, ...)
  redis.call('HSET', prefix .. 's:' .. s.name, ...)
end

local function closed(s)
  return (rules.max_pages > 0 and s.pages >= rules.max_pages) or (rules.max_failures > 0 and s.fails >= rules.max_failures)
end
local function delay_of(s) return s.delay or rules.delay_ms end

-- The number under which a URL is queued, exact in a double. See contract.py.
local function pack(q, s, depth, hops)
  if by_quality then return ((q * 33554432 + s) * 1024 + depth) * 16 + hops end
  return ((s * 16384 + q) * 1024 + depth) * 16 + hops
end
local function unpack_score(score)
  local hops = score % 16
  local rest = (score - hops) / 16
  local depth = rest % 1024
  rest = (rest - depth) / 1024
  if by_quality then
    local s = rest % 33554432
    return (rest - s) / 33554432, s, depth, hops
  end
  local q = rest % 16384
  return q, (rest - q) / 16384, depth, hops
end
local function whole(number) return string.format('%.0f', number) end

-- Rank of a server with URLs queued, and how many of them a lease would carry (policies.py has the formulas and their source).
local function rank(s, uncontested)
  local most = math.max(1, math.min(s.rpc, s.n))
  local c = (s.ct or rules.connection_ms) / 1000
  local r = (s.rt or rules.response_ms) / rules.pipelining / 1000
  local pause = delay_of(s) / 1000
  local best, length = 0, most
  if rules.policy == 'breadth_first' then
    best = -s.order
  elseif rules.policy == 'performance' then
    best = most / math.max(2 * c + most * r + (most - 1) * pause, 0.001)
  else
    local head = redis.call('ZREVRANGE', s.queue, 0, rules.policy == 'quality' and 0 or most - 1, 'WITHSCORES')
    if rules.policy == 'quality' then
      best = unpack_score(tonumber(head[2])) / STEPS
    else
      local longest = uncontested and most or 0
      if rules.keep_open_ms > 0 then
        longest = math.min(longest, 1 + math.floor(rules.keep_open_ms / math.max(delay_of(s), 1)))
      end
      local sum, restful, stay = 0, -1, 0
      best = -1
      for k = 1, #head / 2 do
        sum = sum + unpack_score(tonumber(head[2 * k])) / STEPS
        local rate = sum / math.max(2 * c + k * r + (k - 1) * pause, 0.001)
        if rate >= best then best, length = rate, k end
        if k <= longest then
          rate = sum / math.max(2 * c + k * r, 0.001)
          if rate >= restful then restful, stay = rate, k end
        end
      end
      length = math.max(length, stay)
    end
  end
  if rules.keep_open_ms > 0 and delay_of(s) >= rules.keep_open_ms then length = 1 end
  return best, length
end

-- Put a server that is not leased where it belongs: idle, waiting or ready.
local function place(s, now)
  if s.n == 0 then
    if s.st then s.st = nil; save(s, 'st', '') end
    return
  end
  if not s.st then
    s.order = math.max(tonumber(redis.call('HGET', KEYS[1], 'order') or 0) + 1, now)
    redis.call('HSET', KEYS[1], 'order', whole(s.order))
    s.st = s.due <= now and 'r' or 'w'
    save(s, 'st', s.st, 'order', whole(s.order))
    if s.st == 'w' then redis.call('ZADD', WAITING, whole(s.due), s.name) end
  end
  if s.st == 'r' then redis.call('ZADD', READY, exact((rank(s))), s.name) end
end

-- In pieces, because a call takes only so many arguments.
local function in_pieces(list, call)
  for first = 1, #list, 2000 do
    call(unpack(list, first, math.min(first + 1999, #list)))
  end
end

-- Every queued URL of a server that takes no more is dropped, its payloads too (those of held URLs stay).
local function drop_queue(s)
  if s.n == 0 then return end
  if redis.call('EXISTS', s.payloads) == 1 then
    in_pieces(redis.call('ZRANGE', s.queue, 0, -1), function(...) redis.call('HDEL', s.payloads, ...) end)
  end
  redis.call('DEL', s.queue)
  count('dropped', s.n)
  count('queued', -s.n)
  s.n = 0
end

-- End a lease: what it still holds goes back to its old place in the queue, or is dropped where the server is closed.
local function release(s, now)
  local held = redis.call('HGETALL', s.held)
  local back, gone = {}, {}
  for i = 1, #held, 2 do
    if closed(s) then
      gone[#gone + 1] = held[i]
    else
      back[#back + 1] = held[i + 1]
      back[#back + 1] = held[i]
    end
  end
  in_pieces(back, function(...) redis.call('ZADD', s.queue, ...) end)
  in_pieces(gone, function(...) redis.call('HDEL', s.payloads, ...) end)
  redis.call('DEL', s.held)
  redis.call('ZREM', LEASED, s.name)
  s.n = s.n + #back / 2
  count('queued', #back / 2)
  count('dropped', #gone)
  count('leased', -#held / 2)
  count('open_servers', -1)
  s.st = nil
  save(s, 'st', '', 'due', whole(s.due), 'agent', '')
  place(s, now)
  return #held / 2
end


-- What every verb shares. Put in front of each script when it is registered (a Redis script cannot import another).
--
-- KEYS[1]  the partition's counters, "frontier:{crawl:partition}:m"; all other keys of the partition share its prefix and hash tag:
--            m            hash: counters, and the next token and order
--            r, w, l      sorted sets of servers: ready by rank, waiting by due instant, leased by deadline
--            s:<server>   hash: what is known of a server
--            q:<server>   sorted set: its URL queue, member by score (contract.py has the layout)
--            h:<server>   hash: the URLs that its lease holds, member to score
--            x:<server>   sorted set: payloads of queued and held URLs, where there are any, by the first sequence that each is for
--            y:<server>   hash: member to payload, for URLs whose sequence is MAX_SEQUENCE
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

local function exact(number) return string.format('%.17g', number) end
local function whole(number) return string.format('%.0f', number) end
-- The same for what is a whole number anyway. Redis would write a number as a double, which takes several times as long.
local function digits(number) return string.format('%d', number) end

-- A server, read once per call. `st` is its state: r, w, l, or nil for idle.
local FIELDS = {'st', 'seq', 'pages', 'fails', 'rpc', 'ct', 'rt', 'delay', 'due', 'order', 'token', 'agent'}
local servers = {}
local function load(name)
  local s = servers[name]
  if s then return s end
  local got = redis.call('HMGET', prefix .. 's:' .. name, unpack(FIELDS))
  s = {
    name = name, queue = prefix .. 'q:' .. name, held = prefix .. 'h:' .. name,
    runs_key = prefix .. 'x:' .. name, late_key = prefix .. 'y:' .. name, runs = {},
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
-- Written once, at the end of the call.
local function save(s, ...)
  s.unsaved = s.unsaved or {}
  for i = 1, select('#', ...), 2 do
    local field, value = select(i, ...)
    s.unsaved[field] = value
  end
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
-- Its place among all that were ever put into this queue, from 0.
local function sequence_of(score)
  local _, s = unpack_score(score)
  return MAX_SEQUENCE - s
end

-- Payloads. URLs of one page are queued in a row and have one payload, the page's URL. So a payload is stored once for a run of sequences:
-- msgpack of {the last of them, how many are left, the payload}, by the first. Changes are made in `runs` and written at the end of the call.
local function write_payloads(s)
  for _, run in pairs(s.runs) do
    if run.left ~= run.stored_left then
      if run.stored then redis.call('ZREM', s.runs_key, run.stored) end
      run.stored = run.left > 0 and cmsgpack.pack({run.last, run.left, run.payload}) or nil
      run.stored_left = run.left
      if run.stored then
        redis.call('ZADD', s.runs_key, digits(run.first), run.stored)
        s.any_runs = true
      end
    end
  end
  s.run = nil
end
local function keep_payload(s, sequence, member, payload)
  if sequence == MAX_SEQUENCE then
    redis.call('HSET', s.late_key, member, payload)
    return
  end
  local run = s.run
  if run and run.last == sequence - 1 and run.payload == payload then
    run.last, run.left = sequence, run.left + 1
    return
  end
  run = {first = sequence, last = sequence, left = 1, payload = payload}
  s.run = run
  s.runs[sequence] = run
end
local function find_run(s, sequence)
  local run = s.run
  if not (run and run.first <= sequence and sequence <= run.last) then
    -- Those of this call are in Redis only at its end.
    if s.run then write_payloads(s) end
    if s.any_runs == nil then s.any_runs = redis.call('EXISTS', s.runs_key) == 1 end
    if not s.any_runs then return nil end
    local found = redis.call('ZREVRANGEBYSCORE', s.runs_key, digits(sequence), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
    if not found[1] then return nil end
    local first = tonumber(found[2])
    run = s.runs[first]
    if not run then
      local last, left, payload = unpack(cmsgpack.unpack(found[1]))
      run = {first = first, last = last, left = left, payload = payload, stored = found[1], stored_left = left}
      s.runs[first] = run
    end
  end
  return sequence <= run.last and run or nil
end
local function payload_of(s, score, member)
  local sequence = sequence_of(score)
  if sequence == MAX_SEQUENCE then return redis.call('HGET', s.late_key, member) or '' end
  local run = find_run(s, sequence)
  return run and run.payload or ''
end
local function drop_payload(s, score, member)
  local sequence = sequence_of(score)
  if sequence == MAX_SEQUENCE then
    redis.call('HDEL', s.late_key, member)
    return
  end
  local run = find_run(s, sequence)
  if run then run.left = run.left - 1 end
end

-- What has changed: last thing of every call that changes anything.
local order
local function write()
  for name, s in pairs(servers) do
    write_payloads(s)
    if s.unsaved then
      local fields = {}
      for field, value in pairs(s.unsaved) do
        fields[#fields + 1] = field
        fields[#fields + 1] = value
      end
      redis.call('HSET', prefix .. 's:' .. name, unpack(fields))
    end
  end
  for name, by in pairs(counted) do
    if by ~= 0 then redis.call('HINCRBY', KEYS[1], name, by) end
  end
  if order then redis.call('HSET', KEYS[1], 'order', whole(order)) end
end

-- The most quality per second of a connection, and how many URLs bring it (the most of equals), where another URL takes `r` seconds and a `pause` before it.
-- For the first `longest` URLs the same without pauses: third comes how many bring that. It ends where the rest of the first `most` URLs can only lower both.
local function best_rates(s, most, c, r, pause, longest)
  local sum, best, length, restful, stay = 0, -1, 1, -1, 0
  local k, piece = 0, 8
  while k < most do
    local head = redis.call('ZREVRANGE', s.queue, digits(k), digits(math.min(k + piece, most) - 1), 'WITHSCORES')
    for i = 2, #head, 2 do
      local quality = math.floor(tonumber(head[i]) / 549755813888) / STEPS
      -- No later URL is better than this one: where it lowers a rate, all of them do. The margin is more than what rounding can do.
      local lowers = k > 0 and 2 * c + k * r > 0.001 and quality < best * (r + pause) * 0.999999
      if lowers and (k >= longest or quality < restful * r * 0.999999) then return best, length, stay end
      k = k + 1
      sum = sum + quality
      local rate = sum / math.max(2 * c + k * r + (k - 1) * pause, 0.001)
      if rate >= best then best, length = rate, k end
      if k <= longest then
        rate = sum / math.max(2 * c + k * r, 0.001)
        if rate >= restful then restful, stay = rate, k end
      end
    end
    piece = 2 * piece
  end
  return best, length, stay
end

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
  elseif rules.policy == 'quality' then
    best = unpack_score(tonumber(redis.call('ZREVRANGE', s.queue, 0, 0, 'WITHSCORES')[2])) / STEPS
  else
    local longest = uncontested and most or 0
    if rules.keep_open_ms > 0 then
      longest = math.min(longest, 1 + math.floor(rules.keep_open_ms / math.max(delay_of(s), 1)))
    end
    local stay
    best, length, stay = best_rates(s, most, c, r, pause, longest)
    length = math.max(length, stay)
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
    order = math.max((order or tonumber(redis.call('HGET', KEYS[1], 'order') or 0)) + 1, now)
    s.order = order
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
  if s.any_runs or redis.call('EXISTS', s.runs_key, s.late_key) > 0 then
    -- What is kept is less than what goes.
    local kept = {}
    local held = redis.call('HGETALL', s.held)
    for i = 1, #held, 2 do
      local payload = payload_of(s, tonumber(held[i + 1]), held[i])
      if payload ~= '' then kept[#kept + 1] = {sequence_of(tonumber(held[i + 1])), held[i], payload} end
    end
    redis.call('DEL', s.runs_key, s.late_key)
    s.runs, s.run, s.any_runs = {}, nil, false
    for _, one in ipairs(kept) do keep_payload(s, unpack(one)) end
  end
  redis.call('DEL', s.queue)
  count('dropped', s.n)
  count('queued', -s.n)
  s.n = 0
end

-- End a lease: what it still holds goes back to its old place in the queue, or is dropped where the server is closed.
local function release(s, now)
  local held = redis.call('HGETALL', s.held)
  local back, gone = {}, 0
  for i = 1, #held, 2 do
    if closed(s) then
      gone = gone + 1
      drop_payload(s, tonumber(held[i + 1]), held[i])
    else
      back[#back + 1] = held[i + 1]
      back[#back + 1] = held[i]
    end
  end
  in_pieces(back, function(...) redis.call('ZADD', s.queue, ...) end)
  redis.call('DEL', s.held)
  redis.call('ZREM', LEASED, s.name)
  s.n = s.n + #back / 2
  count('queued', #back / 2)
  count('dropped', gone)
  count('leased', -#held / 2)
  count('open_servers', -1)
  s.st = nil
  save(s, 'st', '', 'due', whole(s.due), 'agent', '')
  place(s, now)
  return #held / 2
end


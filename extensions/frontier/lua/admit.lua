-- admit: seen test, bounds, URL queue and server rank for a batch of candidates, in one atomic step.
-- ARGV[2]  {now, {payload, …}, server, {member, bucket, remainder, q, depth * 16 + hops, flags, …}, server, {…}, …}
--          flags: 1 if forced, 2 if too deep, 4 times the place of its payload (0: none)
-- Reply    msgpack of {admitted, raised, duplicates, dropped, evicted}
-- Keeps    a URL is in the seen-set from the moment it is queued, so no crash falls between the two.
local now, payloads = args[1], args[2]
local touched = {}
local newcomers = false

-- The seen-set's bucket of a URL, or where that is full, one of the four parts behind it, and so on: so each stays an intset, however unevenly servers fall.
-- The parts are told apart by bits of the remainder itself, so nothing more is taken for the same.
local function remember(bucket, remainder)
  local key, rest = prefix .. 'u:' .. bucket, nil
  while redis.call('SCARD', key) >= 512 do
    if redis.call('SISMEMBER', key, remainder) == 1 then return false end
    rest = rest or tonumber(remainder)
    key = key .. '.' .. rest % 4
    rest = floor(rest / 4)
  end
  return redis.call('SADD', key, remainder) == 1
end

local function is_held(s, member)
  if not s.held_members then
    local members, gone = members_of(s)
    s.held_members = {}
    for _, one in ipairs(members) do s.held_members[one] = not gone[one] end
  end
  return s.held_members[member] or false
end

local function touch(s, q)
  if not s.best_new then
    touched[#touched + 1] = s
    s.best_new = q
  elseif q > s.best_new then
    s.best_new = q
  end
end

-- The score of a URL that is queued already and met again with a better q, or nil.
local function raised_score(score, q, low)
  local old_q, old_s, old_depth, old_hops = unpack_score(score)
  if q <= old_q then return nil end
  local hops = low % 16
  return pack(q, old_s, math.min((low - hops) / 16, old_depth) * 16 + math.min(hops, old_hops))
end

-- So many more are in the queue now, the best of them with q.
local function entered(s, size, q)
  if not s.known then
    s.known = true
    newcomers = true
    count('servers', 1)
  end
  s.seq = math.min(s.seq + size, MAX_SEQUENCE)
  s.n = s.n + size
  count('queued', size)
  touch(s, q)
end

-- One candidate by itself, to the letter of the contract. `news` if it is unseen or forced, and not held.
local function admit_one(s, member, q, low, news, shut, payload)
  local score = s.n > 0 and redis.call('ZSCORE', s.queue, member)
  if score then
    local better = raised_score(tonumber(score), q, low)
    if not better then return 'duplicates' end
    redis.call('ZADD', s.queue, digits(better), member)
    touch(s, q)
    return 'raised'
  end
  if not news then return 'duplicates' end
  if shut then return 'dropped' end
  local new = pack(q, MAX_SEQUENCE - s.seq, low)
  if rules.max_pending > 0 and s.n >= rules.max_pending then
    local least = redis.call('ZRANGE', s.queue, 0, 0, 'WITHSCORES')
    if new <= tonumber(least[2]) then return 'dropped' end
    redis.call('ZREM', s.queue, least[1])
    take_payload(s, sequence_of(tonumber(least[2])), least[1])
    s.n = s.n - 1
    count('queued', -1)
    count('evicted', 1)
  end
  redis.call('ZADD', s.queue, digits(new), member)
  put_payload(s, s.seq, member, payload)
  entered(s, 1, q)
  return 'admitted'
end

-- Most candidates are either unseen, hence not queued, and there is room for them; or seen, so that they can only be raised. Both kinds are gathered, and then done together.
local GATHER = 1000

-- Seen ones: {member, q, low} each.
local function raise(s, met)
  local members, raises = {}, {}
  for i, one in ipairs(met) do members[i] = one[1] end
  local scores = redis.call('ZMSCORE', s.queue, unpack(members))
  local raised = {}
  for i, one in ipairs(met) do
    local member, q, low = unpack(one)
    local score = raised[member] or (scores[i] and tonumber(scores[i]))
    local better = score and raised_score(score, q, low)
    if better then
      raised[member] = better
      raises[#raises + 1] = digits(better)
      raises[#raises + 1] = member
      touch(s, q)
      count('raised', 1)
    else
      count('duplicates', 1)
    end
  end
  call_with('ZADD', s.queue, raises)
end

-- Unseen ones, as they are to be queued, {score, member, …}, and the payload of each; the best of them has q.
local function enter(s, scored, payload_of, q)
  local size = #payload_of
  if redis.call('ZADD', s.queue, 'NX', unpack(scored)) < size then
    -- Some were queued although unseen: their fingerprint has changed. Then one by one, as if nothing had been done.
    for i = 1, 2 * size, 2 do
      local score = redis.call('ZSCORE', s.queue, scored[i + 1])
      if tonumber(score) == tonumber(scored[i]) then redis.call('ZREM', s.queue, scored[i + 1]) end
    end
    for i, payload in ipairs(payload_of) do
      local score = tonumber(scored[2 * i - 1])
      local one_q = unpack_score(score)
      count(admit_one(s, scored[2 * i], one_q, score % 16384, true, false, payload), 1)
    end
    return
  end
  local first = 1
  for i = 1, size do
    local payload, alone = payload_of[i], byte(scored[2 * i]) == 0
    if alone then put_payload(s, s.seq + i - 1, scored[2 * i], payload) end
    if alone or payload_of[i + 1] ~= payload or byte(scored[2 * i + 2]) == 0 then
      if not alone and payload ~= '' then put_run(s, s.seq + first - 1, s.seq + i - 1, payload) end
      first = i + 1
    end
  end
  entered(s, size, q)
  count('admitted', size)
end

local function admit(s, candidates)
  local shut, max_pending = closed(s), rules.max_pending
  local seen, duplicates = 0, 0
  local scored, payload_of, met, q_of, size, best
  local function begin() scored, payload_of, met, q_of, size, best = {}, {}, {}, {}, 0, -1 end
  local function do_gathered()
    if #met > 0 then raise(s, met) end
    if size > 0 then enter(s, scored, payload_of, best) end
    begin()
  end
  begin()
  for i = 1, #candidates, 6 do
    local member, q, low, flags = candidates[i], candidates[i + 3], candidates[i + 4], candidates[i + 5]
    local plain = flags % 4 == 0
    local unseen = remember(candidates[i + 1], candidates[i + 2])
    if unseen then seen = seen + 1 end
    local gathered = q_of[member]
    if plain and gathered and q <= gathered then
      duplicates = duplicates + 1
    elseif plain and not gathered and not unseen then
      if s.n > 0 then met[#met + 1] = {member, q, low} else duplicates = duplicates + 1 end
    else
      local sequence = s.seq + size
      local payload = payloads[(flags - flags % 4) / 4] or ''
      local news = (unseen or flags % 2 == 1) and not (s.st == 'l' and is_held(s, member))
      if plain and news and not (gathered or shut) and sequence < MAX_SEQUENCE and (max_pending == 0 or s.n + size < max_pending) then
        size = size + 1
        scored[2 * size - 1], scored[2 * size] = digits(pack(q, MAX_SEQUENCE - sequence, low)), member
        payload_of[size], q_of[member] = payload, q
        if q > best then best = q end
      else
        do_gathered()
        count(admit_one(s, member, q, low, news, shut or flags % 4 >= 2, payload), 1)
      end
    end
    if size + #met >= GATHER then do_gathered() end
  end
  do_gathered()
  count('seen', seen)
  count('duplicates', duplicates)
end

local names = {}
for i = 3, #args, 2 do names[#names + 1] = args[i] end
load_all(names)
for i = 3, #args, 2 do admit(servers[args[i]], args[i + 1]) end
for _, s in ipairs(touched) do
  s.changed = true
  if s.st ~= 'l' and s.st ~= 'w' and not (s.st == 'r' and s.best_new < s.cut) then place(s, now) end
end
if newcomers and rules.explore > 0 then redis.call('HSET', KEYS[1], 'vain', '0') end
write()
return cmsgpack.pack({counted.admitted or 0, counted.raised or 0, counted.duplicates or 0, counted.dropped or 0, counted.evicted or 0})

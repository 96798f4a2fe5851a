-- admit: seen test, bounds, URL queue and server rank for a batch of candidates, in one atomic step.
-- ARGV[2]  {now, {{server, member, bucket, remainder, q, depth, hops, force, payload}, …}}
-- Reply    admitted, raised, duplicates, dropped, evicted
-- Keeps    a URL is in the seen-set from the moment it is queued, so no crash falls between the two.
local now, candidates = args[1], args[2]
local touched = {}
local marked = {}
local function touch(s)
  if not marked[s] then
    marked[s] = true
    touched[#touched + 1] = s
  end
end

-- The seen-set's bucket of a URL, or where that is full, one of the four parts behind it, and so on: so each stays an intset, however unevenly servers fall.
-- The parts are told apart by bits of the remainder itself, so nothing more is taken for the same.
local function remember(bucket, remainder)
  local key, rest = prefix .. 'u:' .. bucket, nil
  while redis.call('SCARD', key) >= 512 do
    if redis.call('SISMEMBER', key, remainder) == 1 then return false end
    rest = rest or tonumber(remainder)
    key = key .. '.' .. rest % 4
    rest = math.floor(rest / 4)
  end
  return redis.call('SADD', key, remainder) == 1
end

local function admit(server, member, bucket, remainder, q, depth, hops, force, payload)
  local s = load(server)
  local unseen = remember(bucket, remainder)
  if unseen then count('seen', 1) end
  local held = s.st == 'l' and redis.call('HEXISTS', s.held, member) == 1
  local shut = closed(s) or (rules.max_depth > 0 and depth > rules.max_depth)
  local full = rules.max_pending > 0 and s.n >= rules.max_pending
  local new = pack(q, MAX_SEQUENCE - s.seq, math.min(depth, 1023), hops)
  local fresh = (unseen or force == 1) and not held
  -- Most that get here are new and there is room: then one call finds that out and queues them.
  if not (fresh and not shut and not full and redis.call('ZADD', s.queue, 'NX', digits(new), member) == 1) then
    local score = s.n > 0 and redis.call('ZSCORE', s.queue, member)
    if score then
      local old_q, old_s, old_depth, old_hops = unpack_score(tonumber(score))
      if q > old_q then
        redis.call('ZADD', s.queue, digits(pack(q, old_s, math.min(depth, old_depth), math.min(hops, old_hops))), member)
        touch(s)
        return 'raised'
      end
    end
    if score or not fresh then return 'duplicates' end
    if shut then return 'dropped' end
    local least = redis.call('ZRANGE', s.queue, 0, 0, 'WITHSCORES')
    if new <= tonumber(least[2]) then return 'dropped' end
    redis.call('ZREM', s.queue, least[1])
    drop_payload(s, tonumber(least[2]), least[1])
    s.n = s.n - 1
    count('queued', -1)
    count('evicted', 1)
    redis.call('ZADD', s.queue, digits(new), member)
  end
  if not s.known then
    s.known = true
    count('servers', 1)
  end
  if payload ~= '' then keep_payload(s, s.seq, member, payload) end
  s.seq = math.min(s.seq + 1, MAX_SEQUENCE)
  s.n = s.n + 1
  count('queued', 1)
  touch(s)
  return 'admitted'
end

for _, candidate in ipairs(candidates) do
  count(admit(unpack(candidate)), 1)
end
for _, s in ipairs(touched) do
  save(s, 'seq', digits(s.seq))
  if s.st ~= 'l' and s.st ~= 'w' then place(s, now) end
end
write()
return {counted.admitted or 0, counted.raised or 0, counted.duplicates or 0, counted.dropped or 0, counted.evicted or 0}

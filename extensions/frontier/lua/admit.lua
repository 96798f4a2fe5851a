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

local function admit(server, member, bucket, remainder, q, depth, hops, force, payload)
  local s = load(server)
  local unseen = redis.call('SADD', prefix .. 'u:' .. bucket, remainder) == 1
  if unseen then count('seen', 1) end
  local score = s.n > 0 and redis.call('ZSCORE', s.queue, member)
  local held = s.st == 'l' and redis.call('HEXISTS', s.held, member) == 1
  if score or held or not (unseen or force == 1) then
    if score then
      local old_q, old_s, old_depth, old_hops = unpack_score(tonumber(score))
      if q > old_q then
        redis.call('ZADD', s.queue, whole(pack(q, old_s, math.min(depth, old_depth), math.min(hops, old_hops))), member)
        touch(s)
        return 'raised'
      end
    end
    return 'duplicates'
  end
  if closed(s) or (rules.max_depth > 0 and depth > rules.max_depth) then return 'dropped' end
  depth = math.min(depth, 1023)
  local new = pack(q, MAX_SEQUENCE - math.min(s.seq, MAX_SEQUENCE), depth, hops)
  if rules.max_pending > 0 and s.n >= rules.max_pending then
    local least = redis.call('ZRANGE', s.queue, 0, 0, 'WITHSCORES')
    if new <= tonumber(least[2]) then return 'dropped' end
    redis.call('ZREM', s.queue, least[1])
    redis.call('HDEL', s.payloads, least[1])
    s.n = s.n - 1
    count('queued', -1)
    count('evicted', 1)
  end
  if not s.known then
    s.known = true
    count('servers', 1)
  end
  redis.call('ZADD', s.queue, whole(new), member)
  if payload ~= '' then redis.call('HSET', s.payloads, member, payload) end
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
  save(s, 'seq', whole(s.seq))
  if s.st ~= 'l' and s.st ~= 'w' then place(s, now) end
end
write_counts()
return {counted.admitted or 0, counted.raised or 0, counted.duplicates or 0, counted.dropped or 0, counted.evicted or 0}

-- lease: the best servers that are due, each with its best URLs, for one agent until a deadline.
-- ARGV[2]  {now, agent, count, lease_ms, promote_limit, heads, overdue_ms, overdue_limit}
-- Reply    {msgpack of {{server, token, deadline, due, delay, connection, response, {{member, q, depth, hops, payload}, …}}, …},
--           the earliest due instant among waiting servers or "", queued, leased, servers still ready, the ranks of the first `heads` of them}
-- Keeps    one lease per server at a time; a leased URL is in h:<server> and no longer in q:<server>.
local now, agent, wanted, lease_ms, promote_limit, heads, overdue_ms, overdue_limit = unpack(args)

for _, name in ipairs(redis.call('ZRANGEBYSCORE', WAITING, '-inf', whole(now), 'LIMIT', 0, promote_limit)) do
  local s = load(name)
  redis.call('ZREM', WAITING, name)
  redis.call('ZADD', READY, exact((rank(s))), name)
  s.st = 'r'
  save(s, 'st', 'r')
end

local uncontested = overdue_ms == 0 and redis.call('ZCARD', READY) <= wanted

local function open(s)
  local _, length = rank(s, uncontested)
  local taken = redis.call('ZREVRANGE', s.queue, '0', digits(length - 1), 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', s.queue, digits(-length), '-1')
  local urls, held = {}, {}
  for i = 1, #taken, 2 do
    local member, score = taken[i], tonumber(taken[i + 1])
    local q, _, depth, hops = unpack_score(score)
    urls[#urls + 1] = {member, q, depth, hops, payload_of(s, score, member)}
    held[i], held[i + 1] = member, digits(score)
  end
  in_pieces(held, function(...) redis.call('HSET', s.held, ...) end)
  s.token = redis.call('HINCRBY', KEYS[1], 'token', 1)
  s.st = 'l'
  s.n = s.n - #urls
  local deadline = now + lease_ms
  redis.call('ZADD', LEASED, whole(deadline), s.name)
  save(s, 'st', 'l', 'token', whole(s.token), 'agent', agent)
  count('queued', -#urls)
  count('leased', #urls)
  count('open_servers', 1)
  return {s.name, s.token, deadline, s.due, delay_of(s), s.ct or rules.connection_ms, s.rt or rules.response_ms, urls}
end

local leases = {}
if wanted > 0 and overdue_ms > 0 then
  for _, name in ipairs(redis.call('ZREVRANGE', READY, 0, overdue_limit - 1)) do
    local s = load(name)
    if #leases < wanted and s.due <= now - overdue_ms then
      redis.call('ZREM', READY, name)
      leases[#leases + 1] = open(s)
    end
  end
elseif wanted > 0 then
  local best = redis.call('ZPOPMAX', READY, wanted)
  for i = 1, #best, 2 do leases[#leases + 1] = open(load(best[i])) end
end
write()
local next = redis.call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')
local left = redis.call('HMGET', KEYS[1], 'queued', 'leased')
local ranks = {}
if heads > 0 then
  local first = redis.call('ZREVRANGE', READY, 0, heads - 1, 'WITHSCORES')
  for i = 2, #first, 2 do ranks[#ranks + 1] = first[i] end
end
return {
  cmsgpack.pack(leases), next[2] or '', tonumber(left[1] or 0), tonumber(left[2] or 0), redis.call('ZCARD', READY), ranks,
}

-- lease: the best servers that are due, each with its best URLs, for one agent until a deadline.
-- ARGV[2]  {now, agent, count, lease_ms, promote_limit, heads, overdue_ms, overdue_limit}
-- Reply    msgpack of {{{server, token, deadline, due, delay, connection, response, what it holds (`hold` in common.lua)}, …},
--           the earliest due instant among waiting servers or "", queued, leased, servers still ready, {the ranks of the first `heads` of them…}}.
--           One string, as a client takes longer to read a list than all that is in it.
-- Keeps    one lease per server at a time; a leased URL is in h:<server> and no longer in q:<server>.
local now, agent, wanted, lease_ms, promote_limit, heads, overdue_ms, overdue_limit = unpack(args)

local due = redis.call('ZRANGEBYSCORE', WAITING, '-inf', whole(now), 'LIMIT', 0, digits(promote_limit))
if #due > 0 then
  load_all(due)
  for _, name in ipairs(due) do
    local s = servers[name]
    s.st = 'r'
    place(s, now)
  end
  file()
end

local ready = redis.call('ZCARD', READY)
local uncontested = overdue_ms == 0 and ready <= wanted
local deadline = now + lease_ms
read_books('token', 'queued', 'leased', 'open_servers', 'vain')

local function open(s)
  count('token', 1)
  s.token = books.token + counted.token
  local length = lease_length(s, uncontested)
  local urls
  if uncontested and explores(s, s.token, books.vain + (counted.vain or 0)) then
    count('vain', 1)
    urls = explored(s, length)
    for i = 1, #urls, 2 do redis.call('ZREM', s.queue, urls[i]) end
  else
    -- To pop them would look for each one's place.
    urls = redis.call('ZREVRANGE', s.queue, '0', digits(length - 1), 'WITHSCORES')
    redis.call('ZREMRANGEBYRANK', s.queue, digits(-length), '-1')
  end
  local size = #urls / 2
  hold(s, take_all(s, urls))
  s.st, s.agent, s.at = 'l', agent, whole(deadline)
  s.n = s.n - size
  s.changed = true
  count('queued', -size)
  count('leased', size)
  count('open_servers', 1)
  return {s.name, s.token, deadline, s.due, delay_of(s), s.ct or rules.connection_ms, s.rt or rules.response_ms, s.packed}
end

local leases = {}
if wanted > 0 and overdue_ms > 0 then
  local first = redis.call('ZREVRANGE', READY, 0, digits(overdue_limit - 1))
  load_all(first)
  for _, name in ipairs(first) do
    local s = servers[name]
    if #leases < wanted and s.due <= now - overdue_ms then leases[#leases + 1] = open(s) end
  end
elseif wanted > 0 and ready > 0 then
  local names = {}
  local best = redis.call('ZPOPMAX', READY, digits(wanted))
  for i = 1, #best, 2 do names[#names + 1] = best[i] end
  load_all(names)
  for i, name in ipairs(names) do
    servers[name].was = nil
    leases[i] = open(servers[name])
  end
end
write()
local next = redis.call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')
local ranks = {}
if heads > 0 and ready > #leases then
  local first = redis.call('ZREVRANGE', READY, 0, digits(heads - 1), 'WITHSCORES')
  for i = 2, #first, 2 do ranks[#ranks + 1] = first[i] end
end
return cmsgpack.pack({leases, next[2] or '', books.queued, books.leased, ready - #leases, ranks})

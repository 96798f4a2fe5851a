-- reclaim: leases past their deadline, or all leases of one agent, end; what they held is queued again at its old place.
-- ARGV[2]  {now, agent or ""}
-- Reply    how many URLs were held
-- Keeps    politeness: the holder may have sent a request just now, so the server's crawl delay begins anew.
local now, agent = args[1], args[2]
local reclaimed = 0
local leases = agent == '' and redis.call('ZRANGEBYSCORE', LEASED, '-inf', whole(now)) or redis.call('ZRANGE', LEASED, 0, -1)
for _, name in ipairs(leases) do
  local s = load(name)
  if agent == '' or s.agent == agent then
    s.due = math.max(s.due, now + math.ceil(delay_of(s)))
    reclaimed = reclaimed + release(s, now)
  end
end
count('reclaimed', reclaimed)
write_counts()
return reclaimed

-- renew: the deadlines of leases that are still held move to now + lease_ms.
-- ARGV[2]  {now, lease_ms, {{server, token}, …}}
-- Reply    the servers whose token is stale
local now, lease_ms, leases = args[1], args[2], args[3]
local stale = {}
for _, lease in ipairs(leases) do
  local s = load(lease[1])
  if s.st == 'l' and s.token == lease[2] then
    redis.call('ZADD', LEASED, whole(now + lease_ms), s.name)
  else
    stale[#stale + 1] = s.name
    count('refused', 1)
  end
end
write()
return stale

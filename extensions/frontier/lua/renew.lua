-- renew: the deadlines of leases that are still held move to now + lease_ms.
-- ARGV[2]  {now, lease_ms, {{server, token}, …}}
-- Reply    msgpack of the servers whose token is stale
local now, lease_ms, leases = args[1], args[2], args[3]
local names, stale = {}, {}
for i, lease in ipairs(leases) do names[i] = lease[1] end
load_all(names)
for _, lease in ipairs(leases) do
  local s = servers[lease[1]]
  if s.st == 'l' and s.token == lease[2] then
    s.at = whole(now + lease_ms)
  else
    stale[#stale + 1] = s.name
    count('refused', 1)
  end
end
write()
return cmsgpack.pack(stale)

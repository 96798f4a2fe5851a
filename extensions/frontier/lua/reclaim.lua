-- reclaim: leases past their deadline, or those of one agent that it does not know of, end; what they held is queued again at its old place.
-- ARGV[2]  {now, agent or "", {{server, token}, …} that the agent does know of, token_jump}
-- Reply    how many URLs were held
-- Keeps    politeness: the holder may have sent a request just now, so the server's crawl delay begins anew.
local now, agent, held, token_jump = unpack(args)
local reclaimed = 0
local spared = {}
for _, lease in ipairs(held) do spared[lease[1]] = lease[2] end

local function leave_alone(s) s.due = math.max(s.due, now + math.ceil(delay_of(s))) end

local leases = agent == '' and redis.call('ZRANGEBYSCORE', LEASED, '-inf', whole(now)) or redis.call('ZRANGE', LEASED, 0, -1)
load_all(leases)
for _, name in ipairs(leases) do
  local s = servers[name]
  if agent == '' or (s.agent == agent and spared[name] ~= s.token) then
    if agent == '' then count('expired', 1) end
    leave_alone(s)
    reclaimed = reclaimed + release(s, now)
  end
end
if agent ~= '' then
  count('token', token_jump)
  -- Leases that Redis has lost.
  for _, lease in ipairs(held) do
    local s = load(lease[1])
    if s.known and s.st ~= 'l' then
      leave_alone(s)
      s.changed = true
      if s.st == 'w' or (s.st == 'r' and s.due > now) then
        s.st, s.at = 'w', whole(s.due)
      end
    end
  end
end
count('reclaimed', reclaimed)
write()
return reclaimed

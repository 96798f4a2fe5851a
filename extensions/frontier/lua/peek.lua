-- peek: servers as they stand, the ready by rank, then the waiting by due instant, then the leased by deadline. Reads only.
-- ARGV[2]  {count, head}
-- Reply    msgpack of {{server, state, rank or instant, queued, {{member, q, depth, hops, payload}, …}}, …}
local most, head = args[1], args[2]
local rows = {}
local function list(found, state)
  for i = 1, #found, 2 do
    local s = load(found[i])
    local urls = {}
    local first = head > 0 and redis.call('ZREVRANGE', s.queue, 0, head - 1, 'WITHSCORES') or {}
    for k = 1, #first, 2 do
      local score = tonumber(first[k + 1])
      local q, _, depth, hops = unpack_score(score)
      urls[#urls + 1] = {first[k], q, depth, hops, payload_of(s, score, first[k])}
    end
    rows[#rows + 1] = {s.name, state, tonumber(found[i + 1]), s.n, urls}
  end
end
for _, part in ipairs({{'ZREVRANGE', READY, 'ready'}, {'ZRANGE', WAITING, 'waiting'}, {'ZRANGE', LEASED, 'leased'}}) do
  local left = most - #rows
  if left > 0 then list(redis.call(part[1], part[2], 0, left - 1, 'WITHSCORES'), part[3]) end
end
return cmsgpack.pack(rows)

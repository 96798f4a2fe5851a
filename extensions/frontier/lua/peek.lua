-- peek: servers as they stand, the ready by rank, then the waiting by due instant, then the leased by deadline. Reads only.
-- ARGV[2]  {count, head}
-- Reply    msgpack of {{server, state, rank or instant, queued, {member, …}, {score, …}, {payload of each, …}}, …}
local most, head = args[1], args[2]
local rows = {}
local function list(found, state)
  for i = 1, #found, 2 do
    local s = load(found[i])
    local urls = head > 0 and redis.call('ZREVRANGE', s.queue, 0, digits(head - 1), 'WITHSCORES') or {}
    local members, scores, payloads = {}, {}, {}
    for k = 1, #urls / 2 do
      members[k], scores[k] = urls[2 * k - 1], tonumber(urls[2 * k])
      payloads[k] = find_payload(s, sequence_of(scores[k]), members[k])
    end
    rows[#rows + 1] = {s.name, state, tonumber(found[i + 1]), s.n, members, scores, payloads}
  end
end
for _, part in ipairs({{'ZREVRANGE', READY, 'ready'}, {'ZRANGE', WAITING, 'waiting'}, {'ZRANGE', LEASED, 'leased'}}) do
  local left = most - #rows
  if left > 0 then list(redis.call(part[1], part[2], 0, digits(left - 1), 'WITHSCORES'), part[3]) end
end
return cmsgpack.pack(rows)

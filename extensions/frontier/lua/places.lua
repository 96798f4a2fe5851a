-- Where servers are: idle, waiting, ready or leased; and the end of every call that changes anything.
local PLACES = {r = READY, w = WAITING, l = LEASED}

-- `at` is the number under which a server belongs into the sorted set of its state. Here those that have changed are put there.
local function add(lists, state, ...)
  local list = lists[state]
  if list then
    for i = 1, select('#', ...) do list[#list + 1] = select(i, ...) end
  else
    lists[state] = {...}
  end
end
local function file()
  local come, go = {}, {}
  for name, s in pairs(servers) do
    local st = s.st
    if s.was and s.was ~= st then add(go, s.was, name) end
    if s.at then add(come, st, s.at, name) end
    s.was, s.at = st, nil
  end
  for state, list in pairs(go) do call_with('ZREM', PLACES[state], list) end
  for state, list in pairs(come) do call_with('ZADD', PLACES[state], list) end
end

-- The counters that were read or written, as they are now.
local books = {}
local function read_books(...)
  local found = redis.call('HMGET', KEYS[1], ...)
  for i, value in ipairs(found) do books[select(i, ...)] = tonumber(value or 0) end
end
local function write_books()
  local unread, fields = {}, {}
  for name, by in pairs(counted) do
    if by ~= 0 and not books[name] then unread[#unread + 1] = name end
  end
  if #unread > 0 then read_books(unpack(unread)) end
  for name, by in pairs(counted) do
    if by ~= 0 then
      books[name] = books[name] + by
      fields[#fields + 1] = name
      fields[#fields + 1] = whole(books[name])
    end
  end
  call_with('HSET', KEYS[1], fields)
end

local function write()
  file()
  local kept, gone = {}, {}
  for name, s in pairs(servers) do
    if s.changed_chunks then write_payloads(s) end
    if s.changed then
      kept[#kept + 1] = prefix .. 's:' .. name
      kept[#kept + 1] = record(s)
    end
    if s.changed_held then
      if s.packed then
        kept[#kept + 1] = prefix .. 'h:' .. name
        kept[#kept + 1] = s.packed
      else
        gone[#gone + 1] = prefix .. 'h:' .. name
      end
    elseif s.settled then
      redis.call('APPEND', prefix .. 'h:' .. name, table.concat(s.settled))
    end
  end
  for first = 1, #kept, PIECE do redis.call('MSET', unpack(kept, first, math.min(first + PIECE - 1, #kept))) end
  for first = 1, #gone, PIECE do redis.call('DEL', unpack(gone, first, math.min(first + PIECE - 1, #gone))) end
  write_books()
end

-- Put a server that is not leased where it belongs: idle, waiting or ready.
local function place(s, now)
  s.changed = true
  if s.n == 0 then
    s.st, s.at = nil, nil
    return
  end
  if not s.st then
    if not books.order then read_books('order') end
    local order = math.max(books.order + (counted.order or 0) + 1, now)
    counted.order = order - books.order
    s.order = order
    s.st = s.due <= now and 'r' or 'w'
    s.at = whole(s.due)
  end
  if s.st == 'r' then
    local best
    best, s.length, s.cut = rank(s)
    s.at = exact(best)
  end
end

-- Every queued URL of a server that takes no more is dropped, its payloads too.
local function drop_queue(s)
  if s.n == 0 then return end
  redis.call('DEL', s.queue)
  forget_payloads(s)
  count('dropped', s.n)
  count('queued', -s.n)
  s.n = 0
end

-- The scores of URLs of which some, {[member] = q, …}, are worth less now.
local function lower(members, scores, lowered)
  local found = {}
  for i, member in ipairs(members) do
    local old, sequence = unpack_score(scores[i])
    local q = lowered[member]
    found[i] = q and q < old and pack(q, sequence, scores[i] % 16384) or scores[i]
  end
  return found
end

-- End a lease: what it still holds goes back to its old place in the queue, or to a lower one, or is dropped where the server is closed.
local function release(s, now, lowered)
  local members, scores, which, payloads = unpack(held_of(s))
  local held = #members
  if held > 0 then
    if closed(s) then
      count('dropped', held)
    else
      local back = {}
      if lowered then scores = lower(members, scores, lowered) end
      for i, member in ipairs(members) do
        back[2 * i - 1], back[2 * i] = digits(scores[i]), member
        put_payload(s, sequence_of(scores[i]), member, payloads[which[i]] or '')
      end
      call_with('ZADD', s.queue, back)
      s.n = s.n + held
      count('queued', held)
    end
    hold(s, {{}, {}, {}, {}})
  end
  count('leased', -held)
  count('open_servers', -1)
  s.st = nil
  place(s, now)
  return held
end

-- What every verb shares. Put in front of each script when it is registered (a Redis script cannot import another): this, then payloads.lua, ranks.lua, places.lua.
--
-- KEYS[1]  the partition's counters, "frontier:{crawl:partition}:m"; all other keys of the partition share its prefix and hash tag:
--            m            hash: counters, the next token and order, and how many leases have explored in vain
--            r, w, l      sorted sets of servers: ready by rank, waiting by due instant, leased by deadline
--            s:<server>   msgpack: what is known of a server (`record`)
--            q:<server>   sorted set: its URL queue, member by score (contract.py has the layout)
--            h:<server>   msgpack: the URLs that its lease holds, with their payloads (`members_of`)
--            x:<server>   hash: payloads of queued URLs, where there are any (payloads.lua)
--            y:<server>   hash: member to payload, for queued URLs that share theirs with none
--            u:<bucket>   set of integers: one bucket of the seen-set
-- ARGV[1]  the rules (records.Rules), msgpack map
-- ARGV[2]  the verb's own arguments, msgpack; the caller gives the time in them, so that one clock rules
--
-- What a verb finds out about a server it keeps in a table, and writes at its end (`write` in places.lua), in as few commands as can be: a command costs about as much as
-- what it does, and a server has many. Only the URL queues are changed at once.

local prefix = string.sub(KEYS[1], 1, -2)
local rules = cmsgpack.unpack(ARGV[1])
local args = cmsgpack.unpack(ARGV[2])
local by_quality = rules.policy == 'capability' or rules.policy == 'quality'

local STEPS = 16383
local MAX_SEQUENCE = 33554431
local READY, WAITING, LEASED = prefix .. 'r', prefix .. 'w', prefix .. 'l'
local floor = math.floor

local counted = {}
local function count(name, by)
  counted[name] = (counted[name] or 0) + by
end

-- Redis would write a number as a double, which takes several times as long as to write one that is whole.
local function exact(number) return string.format('%.17g', number) end
local function whole(number) return string.format('%.0f', number) end
local function digits(number) return string.format('%d', number) end

-- A call takes only so many arguments, so a long list goes in pieces (an even number each, since some lists are of pairs).
local PIECE = 2000
local function call_with(command, key, list)
  local size = #list
  for first = 1, size, PIECE do
    local last = first + PIECE - 1
    redis.call(command, key, unpack(list, first, last < size and last or size))
  end
end
local function fetch(keys)
  local size = #keys
  if size <= PIECE then return size > 0 and redis.call('MGET', unpack(keys)) or {} end
  local found = {}
  for first = 1, size, PIECE do
    for i, value in ipairs(redis.call('MGET', unpack(keys, first, math.min(first + PIECE - 1, size)))) do found[first + i - 1] = value end
  end
  return found
end

-- A server, read once a call. `st` is its state: r, w, l, or nil for idle; `n` the length of its queue; `length` that of its next lease if others want the connection, and
-- `cut` the quality below which a new URL changes neither its rank nor that (ranks.lua). The last two hold as long as it is ready. `odds` is what all qualities queued there are
-- adjusted by (1: not at all). `held_size`, `held_first`, `held_at`: see below.
local servers = {}
local function server_of(name, stored, held)
  local st, n, seq, due, order, token, agent, pages, fails, rpc, ct, rt, delay, length, cut, size, first, at, odds = '', 0, 0, 0, 0, 0, '', 0, 0, false, false, false, false, 0, 0, 0, 0, 0, 1
  if stored then st, n, seq, due, order, token, agent, pages, fails, rpc, ct, rt, delay, length, cut, size, first, at, odds = cmsgpack.unpack(stored) end
  if st == '' then st = nil end
  local s = {
    name = name, known = stored and true or false, st = st, was = st, n = n, seq = seq, due = due, order = order, token = token, agent = agent,
    pages = pages, fails = fails, carries = rpc, rpc = rpc or rules.requests_per_connection, ct = ct or nil, rt = rt or nil, delay = delay or nil,
    length = length, cut = cut, odds = odds, held_size = size, held_first = first, held_at = at, queue = prefix .. 'q:' .. name, packed = held,
    -- What comes later has its place from the beginning, as to make room for it costs more than to read all the above.
    at = nil, changed = nil, held = nil, changed_held = nil, members = nil, gone = nil, settled = nil, chunks = nil, changed_chunks = nil, best_new = nil,
  }
  servers[name] = s
  return s
end
local function record(s)
  return cmsgpack.pack(
    s.st or '', s.n, s.seq, s.due, s.order, s.token, s.st == 'l' and s.agent or '', s.pages, s.fails, s.carries, s.ct or false, s.rt or false, s.delay or false,
    s.length, s.cut, s.held_size, s.held_first, s.held_at, s.odds
  )
end
local function load(name)
  return servers[name] or server_of(name, redis.call('GET', prefix .. 's:' .. name))
end
-- All of them at once; what their leases hold as well, if it will be asked for.
local function load_all(names, with_held)
  local keys = {}
  for i, name in ipairs(names) do
    keys[i] = prefix .. 's:' .. name
    if with_held then keys[#names + i] = prefix .. 'h:' .. name end
  end
  local found = fetch(keys)
  for i, name in ipairs(names) do
    if not servers[name] then server_of(name, found[i], with_held and found[#names + i] or nil) end
  end
end

local function closed(s)
  return (rules.max_pages > 0 and s.pages >= rules.max_pages) or (rules.max_failures > 0 and s.fails >= rules.max_failures)
end
local function delay_of(s) return s.delay or rules.delay_ms end

-- What a lease holds, four lists: members, scores, the place of each one's payload in the last or 0, payloads. In Redis they are one after the other behind the mark of
-- an array of four, so that the members, of which there is most to ask, can be read alone. They stay as they are until the lease ends or the last URL is settled.
-- Settled so far are the first `held_first` members, which end at byte `held_at`; others are listed behind the `held_size` bytes of all that, a list for each settlement.
local FOUR = string.char(148)
local function header_of(size) return size < 16 and 1 or 3 end
local function packed_of(s)
  if s.packed == nil then s.packed = s.st == 'l' and redis.call('GET', prefix .. 'h:' .. s.name) end
  return s.packed
end
local function hold(s, held)
  local size = #held[1]
  s.held, s.members, s.gone, s.changed_held = held, held[1], {}, true
  s.packed = size > 0 and FOUR .. cmsgpack.pack(unpack(held))
  s.held_size, s.held_first, s.held_at = s.packed and #s.packed or 0, 0, 1 + header_of(size)
end
-- All that were leased, and which of them are settled.
local function members_of(s)
  if not s.members then
    s.members, s.gone = {}, {}
    local packed = packed_of(s)
    if packed then
      local _, members = cmsgpack.unpack_one(packed, 1)
      s.members = members
      for i = 1, s.held_first do s.gone[members[i]] = true end
      if #packed > s.held_size then
        for _, settled in ipairs({cmsgpack.unpack(string.sub(packed, s.held_size + 1))}) do
          for _, member in ipairs(settled) do s.gone[member] = true end
        end
      end
    end
  end
  return s.members, s.gone
end
local function held_of(s)
  local members, gone = members_of(s)
  local held = s.held
  if not held then
    local packed, _ = packed_of(s), nil
    if not packed then return {{}, {}, {}, {}} end
    _, held = cmsgpack.unpack_one(packed, 0)
  end
  if next(gone) == nil then return held end
  local left = {{}, {}, {}, held[4]}
  for i, member in ipairs(members) do
    if not gone[member] then
      local place = #left[1] + 1
      for k = 1, 3 do left[k][place] = held[k][i] end
    end
  end
  return left
end

-- The number under which a URL is queued, exact in a double. See contract.py.
local function pack(q, s, low)
  if by_quality then return (q * 33554432 + s) * 16384 + low end
  return (s * 16384 + q) * 16384 + low
end
local function unpack_score(score)
  local hops = score % 16
  local rest = (score - hops) / 16
  local depth = rest % 1024
  rest = (rest - depth) / 1024
  if by_quality then
    local s = rest % 33554432
    return (rest - s) / 33554432, s, depth, hops
  end
  local q = rest % 16384
  return q, (rest - q) / 16384, depth, hops
end
-- Its place among all that were ever put into this queue, from 0.
local below = by_quality and 16384 or 268435456
local function sequence_of(score)
  return MAX_SEQUENCE - floor(score / below) % 33554432
end

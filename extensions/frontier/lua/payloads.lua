-- Payloads of queued URLs. Those of one page are queued in a row and have one payload, the page's URL. So they are kept by chunks of 32 sequences: a field of x:<server> is
-- msgpack of which of the 32 (bits), their payload, which, their payload, …. A URL that has shared its payload with none (its name begins with a NUL), or whose sequence
-- says nothing any more, has a field of y:<server>. Changes are made in tables and written at the end of the call. A URL that is leased takes its payload with it.
local CHUNK = 32
local byte = string.byte
local function stands_alone(sequence, member)
  return sequence == MAX_SEQUENCE or byte(member) == 0
end
local function chunks_of(s)
  if not s.chunks then s.chunks, s.changed_chunks = {}, {} end
  return s.chunks
end
local function chunk_of(s, number)
  local chunk = chunks_of(s)[number]
  if not chunk then
    local stored = redis.call('HGET', prefix .. 'x:' .. s.name, digits(number))
    chunk = stored and {cmsgpack.unpack(stored)} or {}
    s.chunks[number] = chunk
  end
  return chunk
end
-- Of the URLs from one sequence to another, none of which stands alone.
local function put_run(s, first, last, payload)
  while first <= last do
    local place = first % CHUNK
    local number = (first - place) / CHUNK
    local size = math.min(last - first + 1, CHUNK - place)
    -- The first of a chunk, if it is new: so is the chunk.
    if place == 0 and first >= s.seq then chunks_of(s)[number] = {} end
    local chunk = chunk_of(s, number)
    s.changed_chunks[number] = true
    local mask = 2 ^ (place + size) - 2 ^ place
    local at = #chunk
    while at > 0 and chunk[at] ~= payload do at = at - 2 end
    if at > 0 then
      chunk[at - 1] = chunk[at - 1] + mask
    else
      chunk[#chunk + 1] = mask
      chunk[#chunk + 1] = payload
    end
    first = first + size
  end
end
local function put_payload(s, sequence, member, payload)
  if payload == '' then return end
  if stands_alone(sequence, member) then
    redis.call('HSET', prefix .. 'y:' .. s.name, member, payload)
  else
    put_run(s, sequence, sequence, payload)
  end
end
-- The payload, and where it is in its chunk.
local function find_payload(s, sequence, member)
  if stands_alone(sequence, member) then return redis.call('HGET', prefix .. 'y:' .. s.name, member) or '' end
  local place = sequence % CHUNK
  local number = (sequence - place) / CHUNK
  local chunk = chunk_of(s, number)
  local mask = 2 ^ place
  for i = 1, #chunk, 2 do
    if chunk[i] % (2 * mask) >= mask then return chunk[i + 1], chunk, i, mask, number end
  end
  return ''
end
local function take_payload(s, sequence, member)
  local payload, chunk, i, mask, number = find_payload(s, sequence, member)
  if chunk then
    s.changed_chunks[number] = true
    if chunk[i] > mask then
      chunk[i] = chunk[i] - mask
    else
      -- The order within a chunk says nothing.
      local last = #chunk
      if i < last - 1 then chunk[i], chunk[i + 1] = chunk[last - 1], chunk[last] end
      chunk[last - 1], chunk[last] = nil, nil
    end
  elseif payload ~= '' then
    redis.call('HDEL', prefix .. 'y:' .. s.name, member)
  end
  return payload
end

-- What a lease of these URLs, {member, score, …}, holds.
local function take_all(s, urls)
  local members, scores, which, payloads, places = {}, {}, {}, {}, {}
  local size = 0
  for i = 1, #urls, 2 do
    local member, score = urls[i], tonumber(urls[i + 1])
    local payload = take_payload(s, sequence_of(score), member)
    local place = payload == '' and 0 or places[payload]
    if not place then
      place = #payloads + 1
      payloads[place] = payload
      places[payload] = place
    end
    size = size + 1
    members[size], scores[size], which[size] = member, score, place
  end
  return {members, scores, which, payloads}
end

local function write_payloads(s)
  local kept, gone = {}, {}
  for number in pairs(s.changed_chunks) do
    local chunk = s.chunks[number]
    if #chunk > 0 then
      kept[#kept + 1] = digits(number)
      kept[#kept + 1] = cmsgpack.pack(unpack(chunk))
    else
      gone[#gone + 1] = digits(number)
    end
  end
  call_with('HSET', prefix .. 'x:' .. s.name, kept)
  call_with('HDEL', prefix .. 'x:' .. s.name, gone)
  s.changed_chunks = {}
end
local function forget_payloads(s)
  redis.call('DEL', prefix .. 'x:' .. s.name, prefix .. 'y:' .. s.name)
  s.chunks = nil
end

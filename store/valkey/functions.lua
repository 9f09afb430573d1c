#!lua name=LIBRARY
-- The functions of store/valkey. Names end with a hash of this file, see functions.go.
--
-- A history is a list of packed events, {ns:user}h, and a hash from what stands for an event id to
-- its revision, {ns:user}i. A packed event is: mark (8 bytes), time (12), value and names. The
-- mark is drawn anew by the client for each attempt to add an event, so it tells who has added it.
--
-- WAIT covers the last write of its own connection. So a call that finds that there is nothing to
-- do writes something all the same, or its answer could be taken back by a failover.

local MARK = 8     -- bytes of the mark
local PAYLOAD = 21 -- where the value begins, behind mark and time
local LIFE = 300   -- seconds for which the token of a call is kept
local CHUNK = 1000 -- arguments of one command, which are on the stack of Lua

local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function mark_of(event)
  return string.sub(event, 1, MARK)
end

-- all adds arguments to a command, in chunks.
local function all(command, key, args)
  for i = 1, #args, CHUNK do
    redis.call(command, key, unpack(args, i, math.min(i + CHUNK - 1, #args)))
  end
end

-- is_repeat tells whether a call with this token has taken place. It keeps the token, which is a
-- write in both cases.
local function is_repeat(key, token)
  local seen = redis.call('GET', key) == token
  redis.call('SET', key, token, 'EX', LIFE)
  return seen
end

-- KEYS: list, ids. ARGV: for each record what stands for its id, 'r' if its time is that of
-- arrival, and the packed event.
--
-- Returns the mark of the history before, and for each record its revision if it was added, or a
-- list: 'd' or 'o', revision, mark, mark before it (added before, by another call or by an earlier
-- attempt of this one); 'c', revision (conflict); 'x' (the list lacks an event that the ids have).
local function append(keys, args)
  local h, ids = keys[1], keys[2]
  local n = redis.call('LLEN', h)
  local first = n
  local out = {n > 0 and mark_of(redis.call('LINDEX', h, -1)) or ''}
  local revisions, added, entries = {}, {}, {}
  for i = 1, #args, 3 do
    local id, received, event = args[i], args[i + 1] == 'r', args[i + 2]
    local rev = revisions[id] or tonumber(redis.call('HGET', ids, id) or nil)
    local function at(r)
      if r > first then return added[r - first] end
      return redis.call('LINDEX', h, r - 1)
    end
    if not rev then
      n = n + 1
      revisions[id], added[n - first] = n, event
      entries[#entries + 1], entries[#entries + 2] = id, n
      out[#out + 1] = n
    else
      local old = at(rev)
      if not old then
        out[#out + 1] = {'x'}
      elseif string.sub(old, PAYLOAD) ~= string.sub(event, PAYLOAD) or
          not received and string.sub(old, MARK + 1, PAYLOAD - 1) ~=
          string.sub(event, MARK + 1, PAYLOAD - 1) then
        out[#out + 1] = {'c', rev}
      else
        local before = rev > 1 and at(rev - 1)
        out[#out + 1] = {mark_of(old) == mark_of(event) and 'o' or 'd', rev, mark_of(old),
          before and mark_of(before) or ''}
      end
    end
  end
  if n > first then
    all('RPUSH', h, added)
    all('HSET', ids, entries)
  else
    redis.call('HSET', ids, args[1], redis.call('HGET', ids, args[1]))
  end
  return out
end

-- KEYS: list. ARGV: revision and mark that the caller knows, number of events at most.
--
-- Returns the revision and the mark of the history, 1 if it begins with what the caller knows, and
-- the next events after that, or from the first one on.
local function since(keys, args)
  local h, rev, limit = keys[1], tonumber(args[1]), tonumber(args[3])
  local n = redis.call('LLEN', h)
  local head = n > 0 and mark_of(redis.call('LINDEX', h, -1)) or ''
  local same = 1
  if rev > 0 then
    local mark = head
    if rev < n then mark = mark_of(redis.call('LINDEX', h, rev - 1)) end
    if rev > n or mark ~= args[2] then same, rev = 0, 0 end
  end
  local events = {}
  if rev < n and limit > 0 then events = redis.call('LRANGE', h, rev, rev + limit - 1) end
  return {n, head, same, events}
end

-- KEYS: list, ids, tokens of the slot. ARGV: token.
--
-- Returns how many events there were.
local function erase(keys, args)
  local seen = redis.call('GET', keys[3])
  local n
  if seen and string.sub(seen, 1, #args[1]) == args[1] then
    n = tonumber(string.sub(seen, #args[1] + 1))
  else
    n = redis.call('LLEN', keys[1])
    redis.call('UNLINK', keys[1], keys[2])
  end
  redis.call('SET', keys[3], args[1] .. n, 'EX', LIFE)
  return n
end

-- KEYS: list, ids, tokens of the slot. ARGV: token, revision and mark of the history that is to be
-- replaced, and for each event what stands for its id and the packed event.
--
-- Returns 1, or 0 if the history is another one; then nothing was done.
local function replace(keys, args)
  local h, ids, tokens = keys[1], keys[2], keys[3]
  if redis.call('GET', tokens) ~= args[1] then
    local n = redis.call('LLEN', h)
    local head = n > 0 and mark_of(redis.call('LINDEX', h, -1)) or ''
    if n ~= tonumber(args[2]) or head ~= args[3] then return 0 end
    local events, entries = {}, {}
    for i = 4, #args, 2 do
      events[#events + 1] = args[i + 1]
      entries[#entries + 1], entries[#entries + 2] = args[i], #events
    end
    redis.call('UNLINK', h, ids)
    all('RPUSH', h, events)
    all('HSET', ids, entries)
  end
  redis.call('SET', tokens, args[1], 'EX', LIFE)
  return 1
end

-- KEYS: list, ids, tokens of the slot. ARGV: token, revision and mark that the caller has read.
--
-- Returns 1, or 0 if the history is another one. It changes nothing but the token.
local function confirm(keys, args)
  local n = redis.call('LLEN', keys[1])
  local head = n > 0 and mark_of(redis.call('LINDEX', keys[1], -1)) or ''
  redis.call('SET', keys[3], args[1], 'EX', LIFE)
  return n == tonumber(args[2]) and head == args[3] and 1 or 0
end

-- KEYS: hash of the store. ARGV: an identity, the format.
--
-- Returns the identity and the format of the store, which are the given ones if it had none.
local function identity(keys, args)
  redis.call('HSETNX', keys[1], 'id', args[1])
  redis.call('HSETNX', keys[1], 'format', args[2])
  redis.call('HSET', keys[1], 'format', redis.call('HGET', keys[1], 'format'))
  return redis.call('HMGET', keys[1], 'id', 'format')
end

-- KEYS: items, order, revision, token. ARGV: token, and for each item its id and what it is packed
-- to.
local function put_items(keys, args)
  if is_repeat(keys[4], args[1]) then return 0 end
  for i = 2, #args, 2 do
    redis.call('HSET', keys[1], args[i], args[i + 1])
    redis.call('ZADD', keys[2], 0, args[i])
  end
  return redis.call('INCR', keys[3])
end

-- KEYS: as of put_items. ARGV: token, ids.
local function delete_items(keys, args)
  if is_repeat(keys[4], args[1]) then return 0 end
  for i = 2, #args do
    redis.call('HDEL', keys[1], args[i])
    redis.call('ZREM', keys[2], args[i])
  end
  return redis.call('INCR', keys[3])
end

-- KEYS: items. ARGV: id. Returns the packed item or nil.
local function item(keys, args)
  return redis.call('HGET', keys[1], args[1])
end

-- KEYS: items, order. ARGV: where to begin, as ZRANGEBYLEX has it, and how many.
--
-- Returns the ids and the packed items in turn.
local function items_after(keys, args)
  local ids = redis.call('ZRANGEBYLEX', keys[2], args[1], '+', 'LIMIT', 0, args[2])
  local out = {}
  for _, id in ipairs(ids) do
    out[#out + 1] = id
    out[#out + 1] = redis.call('HGET', keys[1], id) or ''
  end
  return out
end

-- KEYS: revision. Returns the number of calls that have changed the catalogue.
local function items_revision(keys)
  return redis.call('GET', keys[1]) or '0'
end

-- KEYS: lease. ARGV: holder, milliseconds.
--
-- Returns the term, and 1 if the holder has the lease.
local function lease(keys, args)
  local l = redis.call('HMGET', keys[1], 'holder', 'term', 'until')
  local term, now = tonumber(l[2] or 0), now_ms()
  if l[1] ~= args[1] then
    if l[1] and now < tonumber(l[3]) then return {term, 0} end
    term = term + 1
  end
  redis.call('HSET', keys[1], 'holder', args[1], 'term', term, 'until', now + args[2])
  return {term, 1}
end

-- KEYS: lease. ARGV: holder.
local function release(keys, args)
  if redis.call('HGET', keys[1], 'holder') == args[1] then
    redis.call('HSET', keys[1], 'until', 0)
  end
  return 0
end

-- holds tells whether nobody has got a term after the given one; '' asks for none.
local function holds(key, term)
  return term == '' or redis.call('HGET', key, 'term') == term
end

-- KEYS: notes of a topic, token, lease. ARGV: token, term or '', name, value.
--
-- Returns 1, or 0 if the lease has gone to another holder.
local function put_note(keys, args)
  if redis.call('GET', keys[2]) ~= args[1] then
    if not holds(keys[3], args[2]) then return 0 end
    redis.call('HSET', keys[1], args[3], args[4])
  end
  redis.call('SET', keys[2], args[1], 'EX', LIFE)
  return 1
end

-- KEYS: as of put_note. ARGV: token, term or '', names. Returns as put_note.
local function delete_notes(keys, args)
  if redis.call('GET', keys[2]) ~= args[1] then
    if not holds(keys[3], args[2]) then return 0 end
    for i = 3, #args do redis.call('HDEL', keys[1], args[i]) end
  end
  redis.call('SET', keys[2], args[1], 'EX', LIFE)
  return 1
end

-- KEYS: notes of a topic. ARGV: name. Returns the value or nil.
local function note(keys, args)
  return redis.call('HGET', keys[1], args[1])
end

-- KEYS: notes of a topic. Returns the names.
local function note_names(keys)
  return redis.call('HKEYS', keys[1])
end

-- writes registers a function that changes something. The last of its arguments is the time by the
-- clock of this node, in milliseconds, from which on nobody waits for the call. What comes later,
-- since the node hung, is not done.
local function writes(name, callback, flags)
  redis.register_function{function_name = 'LIBRARY_' .. name, flags = flags or {},
    callback = function(keys, args)
      if now_ms() >= tonumber(table.remove(args)) then
        return redis.error_reply('LATE the call came after its time')
      end
      return callback(keys, args)
    end}
end

writes('append', append)
writes('replace', replace)
writes('confirm', confirm)
writes('identity', identity)
writes('put_items', put_items)
writes('lease', lease)
writes('release', release)
writes('put_note', put_note)

local frees = {'allow-oom'} -- what frees memory must not wait for it
writes('erase', erase, frees)
writes('delete_items', delete_items, frees)
writes('delete_notes', delete_notes, frees)

redis.register_function{function_name = 'LIBRARY_since', callback = since,
  flags = {'no-writes'}}
redis.register_function{function_name = 'LIBRARY_item', callback = item,
  flags = {'no-writes'}}
redis.register_function{function_name = 'LIBRARY_items_after', callback = items_after,
  flags = {'no-writes'}}
redis.register_function{function_name = 'LIBRARY_items_revision', callback = items_revision,
  flags = {'no-writes'}}
redis.register_function{function_name = 'LIBRARY_note', callback = note,
  flags = {'no-writes'}}
redis.register_function{function_name = 'LIBRARY_note_names', callback = note_names,
  flags = {'no-writes'}}

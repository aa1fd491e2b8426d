-- Take the lock for one token, or tell who has it and queue up.
--
-- ARGV[1] token    ARGV[2] its ticket       ARGV[3] time to live, ms
-- ARGV[4] smallest fencing token to grant   ARGV[5] life of the fence companion, ms; 0 for ever
-- ARGV[6] how long to stay queued without asking again, ms; 0: do not queue
-- ARGV[7] channel to be told on
--
-- Answers {what, fence, ms left, value found, waiters ahead, longest TTL}:
-- what is 1 granted, 0 somebody else's, 2 the node has no marker, 3 it is in
-- quarantine (for ms left), 4 this token was released already.
-- Asking twice with one token answers the same grant, so that a lost reply
-- does not turn the caller's own key into somebody else's.
local token, ticket, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local window = tonumber(ARGV[6])

local out, longest = quarantine()
if out < 0 then
  return { 2, '0', 0, '', 0, 0 }
end
if MARKER and ttl > longest then
  -- Recorded before the grant: whoever makes this node's next marker must
  -- know how long a forgotten lock can live.
  local birth, _, run = string.match(redis.call('GET', MARKER), '^(%d+) (%d+) (.*)$')
  redis.call('SET', MARKER, birth .. ' ' .. ARGV[3] .. ' ' .. run)
  longest = ttl
end

-- The companion is read first: if it is of a wrong type this fails before
-- anything was written.
local last = redis.call('HMGET', FENCE, 'fence', 'since')
local fence = tonumber(last[1] or '0')
if not fence or not (math.max(fence + 1, tonumber(ARGV[4])) <= LARGEST) then
  return redis.error_reply('ERR the fencing counter is spent or no number; set it to the last number that was granted')
end
local holder = holder_of()

if holder == token then
  -- Ours already. It gets its full time again, so that every answer of
  -- "granted" means: at least a TTL from when this was asked.
  redis.call('PEXPIRE', LOCK, ARGV[3])
  return { 1, int(fence), ttl, token, 0, longest }
end
if out > 0 then
  return { 3, int(fence), out, holder or '', 0, longest }
end
local record = redis.call('HGET', WAIT, token)
if record and string.sub(record, 1, 4) == 'gone' then
  -- The record stays: more than one acquire of the token may be on its way.
  return { 4, int(fence), 0, holder or '', 0, longest }
end

if not holder then
  local served, empty = serve(ticket)
  if not served then
    if not empty then
      leave_queue(token)
    end
    fence = math.max(fence + 1, tonumber(ARGV[4]))
    grant(token, ARGV[3], fence, ARGV[5], last[2])
    return { 1, int(fence), ttl, token, 0, longest }
  end
  holder = holder_of()
  fence = fence_of()
end

local ahead = 0
if window > 0 then
  redis.call('ZADD', QUEUE, ARGV[2], token)
  redis.call('HSET', WAIT, token,
    int(now() + window) .. ' ' .. ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5] .. ' ' .. ARGV[7])
  keep_waiting(window)
  ahead = redis.call('ZRANK', QUEUE, token)
end
return { 0, int(fence), redis.call('PTTL', LOCK), holder, ahead, longest }

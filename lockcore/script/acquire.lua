-- Take the lock for one token, or tell who has it and queue up.
--
-- ARGV[1] token    ARGV[2] its ticket       ARGV[3] time to live, ms
-- ARGV[4] smallest fencing token to grant   ARGV[5] life of the fence companion, ms; 0 for ever
-- ARGV[6] how long to stay queued without asking again, ms, and the channel to
--         be told on, separated by a space; '0' is not to queue
--
-- Answers "what fence left ahead longest found": what is 1 granted, 0 somebody
-- else's, 2 the node has no marker, 3 it is in quarantine, 4 this token was
-- released already; fence the node's counter; left the ms that what was found
-- or the quarantine lasts; ahead how many waiters asked before; longest the
-- longest TTL the node was asked for; found the value that is there, left out
-- where it is the token.
-- Asking twice with one token answers the same grant, so that a lost reply
-- does not turn the caller's own key into somebody else's.
--
-- free.lua has done this already where the lock is free and nobody waits.
local token, ttl = ARGV[1], ARGV[3]

local out, longest = quarantine()
if out < 0 then
  if redis.call('EXISTS', MARKER) == 1 then
    return redis.error_reply('ERR what is stored under the marker of this node is no marker; remove it, or use another prefix')
  end
  return '2 0 0 0 0 '
end

-- All that can be wrong is found before anything is written.
local fence = counter()
local least = tonumber(ARGV[4])
if not fence or not (math.max(fence + 1, least) <= LARGEST) then
  return redis.error_reply('ERR the fencing counter is spent or no number; set it to the last number that was granted and a 0, as in "41 0"')
end
local holder = holder_of()

-- Fencing tokens are microseconds since 2026 by the clients' clocks. A client
-- that is years ahead would lift the counter for good, and with it every token
-- that storage has to compare. Counting on from what is stored is always right.
if holder ~= token and least > fence + 1 and least > math.max(0, now() - 1767225600000) * 1000 + 3600000000 then
  return redis.error_reply("ERR the client's clock is more than an hour ahead of this node's, so no fencing token was granted; set both clocks right")
end

if MARKER and tonumber(ttl) > longest then
  -- Recorded before the grant: whoever makes this node's next marker must
  -- know how long a forgotten lock can live.
  local birth, _, run = string.match(redis.call('GET', MARKER), '^(%d+) (%d+) (.*)$')
  redis.call('SET', MARKER, birth .. ' ' .. ttl .. ' ' .. run)
  longest = ttl
end

if holder == token then
  -- Ours already. It gets its full time again, so that every answer of
  -- "granted" means: at least a TTL from when this was asked.
  redis.call('PEXPIRE', LOCK, ttl)
  return '1 ' .. int(fence) .. ' ' .. ttl .. ' 0 ' .. longest .. ' '
end

if out > 0 then
  return '3 ' .. int(fence) .. ' ' .. int(out) .. ' 0 ' .. longest .. ' ' .. (holder or '')
end
local record = redis.call('HGET', WAIT, token)
if record and string.sub(record, 1, 4) == 'gone' then
  -- The record stays: more than one acquire of the token may be on its way.
  return '4 ' .. int(fence) .. ' 0 0 ' .. longest .. ' ' .. (holder or '')
end

if not holder then
  local served, empty = serve(tonumber(ARGV[2]))
  if not served then
    if not empty then
      leave_queue(token)
    end
    local next = int(math.max(fence + 1, least))
    grant(token, ttl, next, ARGV[5])
    return '1 ' .. next .. ' ' .. ttl .. ' 0 ' .. longest .. ' '
  end
  holder = holder_of()
  fence = counter()
end

local ahead = 0
local window, channel = string.match(ARGV[6], '^(%d+) (%S+)$')
if window then
  window = tonumber(window)
  redis.call('ZADD', QUEUE, ARGV[2], token)
  redis.call('HSET', WAIT, token, int(now() + window) .. ' ' .. ttl .. ' ' .. ARGV[4] .. ' ' .. ARGV[5] .. ' ' .. channel)
  keep_waiting(window)
  ahead = redis.call('ZRANK', QUEUE, token)
end
return '0 ' .. int(fence) .. ' ' .. redis.call('PTTL', LOCK) .. ' ' .. ahead .. ' ' .. longest .. ' ' .. holder

-- What the scripts on a lock share. It stands behind free.lua, still.lua and
-- own.lua, which settle the common cases: each function that is defined here
-- costs a call as much as a fast command, whether or not it is used.

-- The largest fencing token: beyond it a number plus one is the same number.
local LARGEST = 9007199254740991

-- A number's digits. Lua itself gives no more than 14 of them and would write
-- a larger one as 9.007199254741e+15.
local function int(n)
  if n < 1e14 then
    return n .. ''
  end
  return string.format('%.0f', n)
end

-- The node's clock in ms. A script sees one frozen "now"; it is read when it
-- is first needed.
local clock
local function now()
  if not clock then
    local time = redis.call('TIME')
    clock = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return clock
end

-- The newest fencing token and the text of when it was granted. Nothing if
-- what is stored there is no counter of ours; it is then left alone.
local function counter()
  local stored = redis.pcall('GET', FENCE)
  if not stored then
    return 0, '0'
  end
  if type(stored) ~= 'string' then
    return nil
  end
  local fence, since = string.match(stored, '^(%d+) (%d+)$')
  return tonumber(fence or ''), since
end

local function count(fence, since, life)
  if life == '0' then
    redis.call('SET', FENCE, fence .. ' ' .. since)
  else
    redis.call('SET', FENCE, fence .. ' ' .. since, 'PX', life)
  end
end

-- Make a token the owner. The lock must be free. The counter goes first: if
-- the second command failed, a number would be skipped and none repeated.
local function grant(token, ttl, fence, life)
  count(fence, int(now()), life)
  redis.call('SET', LOCK, token, 'PX', ttl)
end

-- The value under the lock's key: a string, false if it is free, or '' for a
-- key of another type, which nobody's token equals.
local function holder_of()
  local found = redis.pcall('GET', LOCK)
  if found == false or type(found) == 'string' then
    return found
  end
  return ''
end

-- How long this node must still stay out: 0 if it votes, -1 if it has no
-- marker. The second result is the longest TTL anybody asked it for.
local function quarantine()
  if not MARKER then
    return 0, 0
  end
  local birth, longest = string.match(redis.call('GET', MARKER) or '', '^(%d+) (%d+)')
  if not birth then
    return -1, 0
  end
  longest = tonumber(longest)
  if birth == '0' then
    return 0, longest
  end
  -- A hundredth more, for clocks that run at different rates.
  return math.max(0, birth + longest + math.ceil(longest / 100) - now()), longest
end

-- Bring the counter up to a fencing token that was granted elsewhere. Answers
-- whether it is at least that now.
local function raise_fence(fence, life)
  local own, since = counter()
  if not own then
    return false
  end
  if own < fence then
    count(int(fence), since, life)
  end
  return true
end

-- Keep the companions of a waiting token for at least this long.
local function keep_waiting(ms)
  if redis.call('PTTL', WAIT) < ms then
    redis.call('PEXPIRE', WAIT, int(ms))
  end
  if redis.call('PTTL', QUEUE) < ms then
    redis.call('PEXPIRE', QUEUE, int(ms))
  end
end

-- A token that is not queued may be remembered as released; that stays.
local function leave_queue(token)
  if redis.call('ZREM', QUEUE, token) == 1 then
    redis.call('HDEL', WAIT, token)
  end
end

-- Remember that a token was released although an acquire of it may be on its
-- way still, for ms. Such records are rare and leave with what else is over,
-- since on a lock that somebody always waits for the companion never expires.
local function remember_gone(token, ms)
  local records = redis.call('HGETALL', WAIT)
  for i = 1, #records, 2 do
    local until_ = string.match(records[i + 1], '%d+')
    if not until_ or tonumber(until_) < now() then
      redis.call('ZREM', QUEUE, records[i])
      redis.call('HDEL', WAIT, records[i])
    end
  end
  redis.call('ZREM', QUEUE, token)
  redis.call('HSET', WAIT, token, 'gone ' .. int(now() + ms))
  if redis.call('PTTL', WAIT) < ms then
    redis.call('PEXPIRE', WAIT, int(ms))
  end
end

-- Hand a free lock to whoever has waited longest, if that is somebody who
-- asked before ticket. Being told is being granted: a waiter hears of it on
-- its process' channel. One who is gone, by the clock or because nobody
-- listens on its channel, is dropped, so that a dead waiter delays nobody.
--
-- Answers whether the lock was handed over, and whether the queue is empty.
local function serve(ticket)
  for _ = 1, 16 do
    local head = redis.call('ZRANGE', QUEUE, 0, 0, 'WITHSCORES')
    if not head[1] then
      return false, true
    end
    if tonumber(head[2]) >= ticket or quarantine() ~= 0 then
      return false, false
    end
    local token = head[1]
    local until_, ttl, least, life, channel =
      string.match(redis.call('HGET', WAIT, token) or '', '^(%d+) (%d+) (%d+) (%d+) (%S+)$')
    leave_queue(token)
    if until_ and tonumber(until_) >= now() then
      local fence = math.max((counter() or LARGEST) + 1, tonumber(least))
      local heard = fence <= LARGEST and
        redis.pcall('PUBLISH', channel, 'granted ' .. int(fence) .. ' ' .. token .. ' ' .. LOCK)
      if type(heard) == 'number' and heard > 0 then
        grant(token, ttl, int(fence), life)
        return true, false
      end
    end
  end
  return false, false
end

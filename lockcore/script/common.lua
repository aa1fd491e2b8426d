-- What the scripts share. It is put in front of each of them.
--
-- KEYS[1] the lock: string, the holder's token
-- KEYS[2] fence companion: hash, fence and since
-- KEYS[3] queue companion: sorted set, waiting tokens by ticket
-- KEYS[4] wait companion: hash, by token what a waiter left for being served:
--         "<until> <ttl> <least> <life> <channel>", or "gone <until>" for a
--         token that was released before its acquire arrived
-- KEYS[5] marker of this node: string "<birth> <longest> <run>"; only where
--         nodes that lost their data must stay out (see birth.lua)
local LOCK, FENCE, QUEUE, WAIT, MARKER = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

-- The largest fencing token: beyond it a number plus one is the same number.
local LARGEST = 9007199254740991

-- Lua would print a large number as 9.007199254741e+15.
local function int(n)
  return string.format('%.0f', n)
end

-- The node's clock in ms. A script sees one frozen "now"; it is read when it
-- is first needed, since each call costs as much as the rest of a fast script.
local clock
local function now()
  if not clock then
    local time = redis.call('TIME')
    clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  return clock
end

local function fence_of()
  return tonumber(redis.call('HGET', FENCE, 'fence') or '0') or 0
end

-- Make a token the owner. The lock must be free. since is when the last grant
-- was made, as HMGET gives it.
local function grant(token, ttl, fence, life, since)
  redis.call('SET', LOCK, token, 'PX', ttl)
  redis.call('HSET', FENCE, 'fence', int(fence), 'since', int(now()))
  -- The companion's life is much longer than an hour, so refreshing it once
  -- an hour keeps it.
  if life ~= '0' and now() - (tonumber(since or '0')) > 3600000 then
    redis.call('PEXPIRE', FENCE, life)
  end
end

local function raise_fence(fence, life)
  fence = tonumber(fence)
  if fence > 0 and fence_of() < fence then
    redis.call('HSET', FENCE, 'fence', int(fence))
    if life ~= '0' then
      redis.call('PEXPIRE', FENCE, life)
    end
  end
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
  birth, longest = tonumber(birth), tonumber(longest)
  if birth == 0 then
    return 0, longest
  end
  -- A hundredth more, for clocks that run at different rates.
  return math.max(0, birth + longest + math.ceil(longest / 100) - now()), longest
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
      local last = redis.call('HMGET', FENCE, 'fence', 'since')
      local fence = math.max((tonumber(last[1] or '0') or LARGEST) + 1, tonumber(least))
      local heard = fence <= LARGEST and
        redis.pcall('PUBLISH', channel, 'granted ' .. int(fence) .. ' ' .. token .. ' ' .. LOCK)
      if type(heard) == 'number' and heard > 0 then
        grant(token, ttl, fence, life, last[2])
        return true, false
      end
    end
  end
  return false, false
end

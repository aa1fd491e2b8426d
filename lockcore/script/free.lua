-- The common case of acquire.lua, whose arguments and answer these are: the
-- lock is free, nobody waits for it, and the node votes. Anything else is left
-- to what follows, with nothing written; what follows would do the same as this
-- but costs twice as much.
--
-- Where there is no wait companion, no token can have been released before it
-- came. A marker with birth 0 means no quarantine.
if redis.call('EXISTS', QUEUE, WAIT) == 0 then
  local longest = '0'
  if MARKER then
    longest = string.match(redis.call('GET', MARKER) or '', '^0 (%d+) ')
  end
  local stored = redis.pcall('GET', FENCE) or '0 0'
  local fence = type(stored) == 'string' and tonumber(string.match(stored, '^(%d+) %d+$') or '')
  if fence and longest and (not MARKER or tonumber(ARGV[3]) <= tonumber(longest)) then
    local least, time = tonumber(ARGV[4]), redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    fence = math.max(fence + 1, least)
    -- Lua writes 14 digits without loss. The limit of least is that of acquire.lua.
    if fence < 1e14 and least <= math.max(0, now - 1767225600000) * 1000 + 3600000000 and
        redis.call('SET', LOCK, ARGV[1], 'NX', 'PX', ARGV[3]) then
      -- A script runs to its end or fails, so nobody sees the lock without
      -- its number; and a caller who is told of a failure was told of none.
      if ARGV[5] == '0' then
        redis.call('SET', FENCE, fence .. ' ' .. now)
      else
        redis.call('SET', FENCE, fence .. ' ' .. now, 'PX', ARGV[5])
      end
      return '1 ' .. fence .. ' ' .. ARGV[3] .. ' 0 ' .. longest .. ' '
    end
  end
end

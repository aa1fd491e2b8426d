-- Take the lock for one token, or tell who has it.
--
-- KEYS[1] the lock            ARGV[1] token
-- KEYS[2] its fence companion ARGV[2] time to live, ms
--                             ARGV[3] smallest fencing token to grant
--                             ARGV[4] life of the companion, ms; 0 for ever
--
-- Answers {granted, fence, ms left, value found}. Asking twice with one token
-- answers the same grant, so that a lost reply does not turn the caller's own
-- key into somebody else's.

-- The companion is read first: if it is of a wrong type this fails before
-- anything was written.
local fence = tonumber(redis.call('HGET', KEYS[2], 'fence') or '0')

if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local left = redis.call('PTTL', KEYS[1])
  local found = redis.pcall('GET', KEYS[1])
  if type(found) ~= 'string' then
    found = '' -- a key of another type
  end
  local granted = 0
  if found == ARGV[1] then
    granted = 1
  end
  return { granted, string.format('%.0f', fence), left, found }
end

fence = math.max(fence + 1, tonumber(ARGV[3]))
local now = redis.call('TIME')
-- %.0f because Lua would print a large number in scientific notation.
redis.call('HSET', KEYS[2],
  'fence', string.format('%.0f', fence),
  'since', string.format('%.0f', tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)))
if ARGV[4] ~= '0' then
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return { 1, string.format('%.0f', fence), tonumber(ARGV[2]), ARGV[1] }

-- Compare and delete. A holder also leaves its fencing token behind where the
-- node's own is smaller, which brings nodes that missed the grant back in step.
--
-- KEYS[1] the lock            ARGV[1] token
-- KEYS[2] its fence companion ARGV[2] fencing token of the grant, 0 for none
--                             ARGV[3] life of the companion, ms; 0 for ever
--
-- Answers {1 deleted | 0 was missing | -1 somebody else's, ms left, value found}.
if ARGV[2] ~= '0' then
  local fence = tonumber(redis.call('HGET', KEYS[2], 'fence') or '0')
  if fence < tonumber(ARGV[2]) then
    redis.call('HSET', KEYS[2], 'fence', ARGV[2])
    if ARGV[3] ~= '0' then
      redis.call('PEXPIRE', KEYS[2], ARGV[3])
    end
  end
end
local found = redis.pcall('GET', KEYS[1])
if found == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return { 1, 0, '' }
end
if found == false then
  return { 0, 0, '' }
end
return { -1, redis.call('PTTL', KEYS[1]), type(found) == 'string' and found or '' }

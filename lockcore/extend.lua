-- Give a lock that is still ours a new time to live. A missing key is never
-- re-created: it was lost, and somebody may have held it in between.
--
-- KEYS[1] the lock            ARGV[1] token
-- KEYS[2] its fence companion ARGV[2] time to live, ms
--                             ARGV[3] life of the companion, ms; 0 for ever
--
-- Answers {1 extended | 0 missing | -1 somebody else's, fence, value found}.
local fence = redis.call('HGET', KEYS[2], 'fence') or '0'
local found = redis.pcall('GET', KEYS[1])
if found ~= ARGV[1] then
  if found == false then
    return { 0, fence, '' }
  end
  return { -1, fence, type(found) == 'string' and found or '' }
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if ARGV[3] ~= '0' then
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return { 1, fence, found }

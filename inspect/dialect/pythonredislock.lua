-- Releases a lock of python-redis-lock and wakes one who waits, as its own
-- release does. KEYS[1] the lock, KEYS[2] the list that waiters block on,
-- ARGV[1] the token.
local no = compare(ARGV[1], 'GET')
if no then
  return no
end
if type(redis.pcall('LLEN', KEYS[2])) == 'number' then
  redis.call('DEL', KEYS[2])
  redis.call('LPUSH', KEYS[2], '1')
  redis.call('PEXPIRE', KEYS[2], '1000')
end
return redis.call('DEL', KEYS[1])

-- Releases one job's lock of sidekiq-unique-jobs.
-- KEYS[1] the locked jobs, KEYS[2] index of digests; where jobs wait also
-- KEYS[3] index of those that expire, KEYS[4] the list waiters block on,
-- KEYS[5] and on: what ends with the last job
-- ARGV[1] job, ARGV[2] its value as it was seen, ARGV[3] digest
local no = compare(ARGV[2], 'HGET', ARGV[1])
if no then
  return no
end
redis.call('HDEL', KEYS[1], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.pcall('ZREM', KEYS[2], ARGV[3])
  if KEYS[3] then
    redis.pcall('ZREM', KEYS[3], ARGV[3])
  end
  for i = 4, #KEYS do
    redis.call('DEL', KEYS[i])
  end
end
if KEYS[4] then
  redis.call('LPUSH', KEYS[4], '1')
  redis.call('PEXPIRE', KEYS[4], '5000')
end
return 1

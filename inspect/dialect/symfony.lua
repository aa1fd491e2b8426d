-- Releases one holder's part of a lock of Symfony: KEYS[1] the lock, ARGV[1]
-- the token. The mark of a writer has its writer's score. The key then lives
-- for as long as the last of the others, as after a release of their own.
local no = compare(nil, 'ZSCORE', ARGV[1])
if no then
  return no
end
if redis.call('ZSCORE', KEYS[1], '__write__') == redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  redis.call('ZREM', KEYS[1], '__write__')
end
redis.call('ZREM', KEYS[1], ARGV[1])
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if last[2] then
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', tonumber(last[2])))
end
return 1

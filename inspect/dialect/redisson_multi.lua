-- Releases one value of a group of locks of Redisson.
-- ARGV[1] field with the owner, ARGV[2] owner, ARGV[3] field with the expiry,
-- ARGV[4] field with how often it entered, ARGV[5] that number, ARGV[6] channel
local no = compare(ARGV[2], 'HGET', ARGV[1]) or compare(ARGV[5], 'HGET', ARGV[4])
if no then
  return no
end
redis.call('HDEL', KEYS[1], ARGV[1], ARGV[3], ARGV[4])
wake(ARGV[6], '0')
return 1

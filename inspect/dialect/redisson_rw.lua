-- Releases one holder's part of a read-write lock of Redisson.
-- KEYS[1] the lock, the others: the lives of this reader's entries
-- ARGV[1] the holder's field, ARGV[2] how often it entered, ARGV[3] channel,
-- ARGV[4] 1: it is the writer
-- The key keeps its time to live where others stay in it. That may be longer
-- than theirs, but nothing here could cut short one who has just come.
local no = compare(ARGV[2], 'HGET', ARGV[1])
if no then
  return no
end
redis.call('HDEL', KEYS[1], ARGV[1])
for i = 2, #KEYS do
  redis.call('DEL', KEYS[i])
end
if redis.call('HLEN', KEYS[1]) <= 1 then -- the mode alone
  redis.call('DEL', KEYS[1])
  wake(ARGV[3], ARGV[4])
elseif ARGV[4] == '1' then -- the writer reads as well
  redis.call('HSET', KEYS[1], 'mode', 'read')
  wake(ARGV[3], '1')
end
return 1

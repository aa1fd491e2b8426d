-- Gives a permit of a semaphore of Redisson back.
-- KEYS[1] the permits by expiry, KEYS[2] and on: what the counter of free ones
-- may be called, which the name of the permits does not always tell
-- ARGV[1] permit, ARGV[2] channel
local no = compare(nil, 'ZSCORE', ARGV[1])
if no then
  return no
end
local counter
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    if counter then
      return -1
    end
    counter = KEYS[i]
  end
end
if counter then
  wake(ARGV[2], redis.call('INCR', counter))
end
redis.call('ZREM', KEYS[1], ARGV[1])
return 1

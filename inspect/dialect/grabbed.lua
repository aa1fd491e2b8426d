-- Gives one place of a semaphore back and wakes one who waits for it. KEYS[1]
-- the places that are taken, KEYS[2] the list of those that are free, ARGV[1]
-- the place, ARGV[2] since when it was taken, as it was seen.
local no = compare(ARGV[2], 'HGET', ARGV[1])
if no then
  return no
end
redis.call('LPUSH', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
return 1

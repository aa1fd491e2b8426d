-- Releases a lock of Redisson: what one thread holds, however often it entered.
-- KEYS[1] the lock, KEYS[2] the queue of a fair one, KEYS[3] until when each in
-- it waits, by its client's clock in ms
-- ARGV[1] client and thread, ARGV[2] how often it entered, ARGV[3] channel
local no = compare(ARGV[2], 'HGET', ARGV[1])
if no then
  return no
end
if redis.call('HLEN', KEYS[1]) ~= 1 then
  return -1
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('DEL', KEYS[1])
-- In a fair lock it is the first's turn alone. One who has given up is dropped,
-- as each client does; the others keep their place.
for _ = 1, 1000 do
  local head = redis.pcall('LINDEX', KEYS[2], 0)
  if type(head) ~= 'string' then
    break
  end
  local deadline = redis.pcall('ZSCORE', KEYS[3], head)
  if type(deadline) ~= 'string' or tonumber(deadline) > now then
    wake(ARGV[3] .. ':' .. head, '0')
    break
  end
  if redis.pcall('LPOP', KEYS[2]) ~= head then
    break
  end
  redis.pcall('ZREM', KEYS[3], head)
end
wake(ARGV[3], '0')
return 1

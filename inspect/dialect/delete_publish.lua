-- Deletes KEYS[1] if it holds exactly ARGV[1], and then tells whoever waits:
-- publishes ARGV[2] on each of the channels ARGV[3] and on.
-- 1: deleted, 0: there is no such key, -1: it holds something else,
-- -2: it is not a string. Whatever else goes wrong is the reply.
local v = redis.pcall('GET', KEYS[1])
if not v then return 0 end
if type(v) == 'table' then -- an error, which is how another type shows
  if string.find(v.err, 'WRONGTYPE', 1, true) then return -2 end
  return v
end
if v ~= ARGV[1] then return -1 end
redis.call('DEL', KEYS[1])
for i = 3, #ARGV do
  redis.pcall('PUBLISH', ARGV[i], ARGV[2]) -- may not be permitted; then waiters look by themselves, later
end
return 1

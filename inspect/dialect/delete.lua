-- Deletes KEYS[1] if it holds exactly ARGV[1].
-- 1: deleted, 0: there is no such key, -1: it holds something else,
-- -2: it is not a string. Whatever else goes wrong is the reply.
local v = redis.pcall('GET', KEYS[1])
if not v then return 0 end
if type(v) == 'table' then -- an error, which is how another type shows
  if string.find(v.err, 'WRONGTYPE', 1, true) then return -2 end
  return v
end
if v ~= ARGV[1] then return -1 end
return redis.call('DEL', KEYS[1])

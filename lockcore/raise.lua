-- Store a fencing token on a node that granted a smaller one, but only while
-- that node still carries our entry: a majority of nodes that each stored the
-- number *under our entry* is what makes fencing tokens grow from grant to
-- grant without any clock.
--
-- KEYS[1] the lock            ARGV[1] token
-- KEYS[2] its fence companion ARGV[2] fencing token
--                             ARGV[3] life of the companion, ms; 0 for ever
--
-- Answers 1 if the entry is ours and the number is stored, else 0.
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
local fence = tonumber(redis.call('HGET', KEYS[2], 'fence') or '0')
if fence < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[2], 'fence', ARGV[2])
  if ARGV[3] ~= '0' then
    redis.call('PEXPIRE', KEYS[2], ARGV[3])
  end
end
return 1

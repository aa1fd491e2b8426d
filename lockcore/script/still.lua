-- The common case of extend.lua, whose arguments and answer these are: the lock
-- is still ours.
if redis.pcall('GET', LOCK) == ARGV[1] then
  redis.call('PEXPIRE', LOCK, ARGV[2])
  if ARGV[4] ~= '0' then
    redis.call('PEXPIRE', FENCE, ARGV[4])
  end
  return '1 0 '
end

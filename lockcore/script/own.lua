-- The common case of release.lua, whose arguments and answer these are: the
-- lock is ours, nobody waits for it, and there is nothing else to do than to
-- delete it. Anything else is left to what follows, with nothing written.
if ARGV[2] == '0' and ARGV[4] == '0' and redis.call('EXISTS', QUEUE) == 0 and redis.pcall('GET', LOCK) == ARGV[1] then
  redis.call('DEL', LOCK)
  return '1 0 '
end

-- Compare and delete, leave the queue, and hand the lock to the next.
--
-- ARGV[1] token    ARGV[2] fencing token of the grant, 0 for none. Where the
--         node's own is smaller it is raised, which brings a node that missed
--         the grant back in step at no cost.
-- ARGV[3] life of the fence companion, ms; 0 for ever
-- ARGV[4] how long an acquire of this token may still be on its way, ms; 0: none is
--
-- Answers "1 deleted | 0 was missing | -1 somebody else's, ms left, value found".
--
-- own.lua has done this already where nobody waits and nothing is to be raised.
if ARGV[2] ~= '0' then
  raise_fence(tonumber(ARGV[2]), ARGV[3])
end
if ARGV[4] ~= '0' then
  remember_gone(ARGV[1], tonumber(ARGV[4]))
end
local holder = holder_of()
if holder == ARGV[1] then
  -- Whoever holds it is not queued for it: the grant saw to that.
  redis.call('DEL', LOCK)
  serve(math.huge)
  return '1 0 '
end
leave_queue(ARGV[1])
if not holder then
  serve(math.huge)
  return '0 0 '
end
return '-1 ' .. redis.call('PTTL', LOCK) .. ' ' .. holder

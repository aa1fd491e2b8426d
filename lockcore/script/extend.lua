-- Give a lock that is still ours a new time to live.
--
-- ARGV[1] token    ARGV[2] time to live, ms    ARGV[3] fencing token of the grant
-- ARGV[4] life of the fence companion, ms; 0 for ever
-- ARGV[5] 1: put the entry back where it is missing. Only for a caller that
--         has just been confirmed by a quorum, so that the lock was never
--         lost; never where a larger fencing token shows that somebody was
--         granted the lock after us; and never for a token that is remembered
--         as released, whose put-back was overtaken by its release.
--
-- Answers "1 extended | 2 put back | 0 missing | -1 somebody else's, fence,
-- value found"; the fence only where the entry is not ours.
--
-- still.lua has done this already where the lock is ours.
local fence = counter() or LARGEST
local holder = holder_of()
if holder then
  return '-1 ' .. int(fence) .. ' ' .. holder
end
if ARGV[5] == '1' and fence <= tonumber(ARGV[3]) and quarantine() == 0
  and string.sub(redis.call('HGET', WAIT, ARGV[1]) or '', 1, 4) ~= 'gone' then
  raise_fence(tonumber(ARGV[3]), ARGV[4])
  redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2])
  leave_queue(ARGV[1]) -- where it may stand since before it won elsewhere
  return '2 ' .. ARGV[3] .. ' '
end
return '0 ' .. int(fence) .. ' '

-- Take the lock away from a holder that was seen, by the release that the
-- holder itself would have used: it compares, deletes and serves the next.
-- release.lua stands in front of this as the function release.
--
-- ARGV[1] token    ARGV[2] the largest fencing token that was seen, plus one; 0 if none was
--
-- Answers 1 deleted, 0 nothing there, -1 somebody else's, -2 no string.

local found = holder_of()
if found == '' and redis.call('TYPE', LOCK).ok ~= 'string' then
  return -2
end
-- Whoever evicts knows the node only from outside. Without a marker a node of
-- a quorum either keeps its data for good, or has lost it and with it the
-- queue, so that nobody can be served wrongly.
if MARKER and redis.call('EXISTS', MARKER) == 0 then
  MARKER = nil
end
-- The companion keeps the life that its clients gave it. One that is not there
-- is not made: it would need a life, and has nothing to keep anybody from.
local life = redis.call('PTTL', FENCE)
if life == -2 then
  ARGV[2] = '0'
end
ARGV[3] = life > 0 and int(life) or '0'
ARGV[4] = '0'
release()
if found == ARGV[1] then
  return 1
end
return found and -1 or 0

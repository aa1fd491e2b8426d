-- Takes one field or member out of a collection, which ends with its last.
-- ARGV[1] reads it, ARGV[2] removes it, ARGV[3] is its name, ARGV[4] the value
-- that was seen, if that matters.
local no = compare(ARGV[4], ARGV[1], ARGV[3])
if no then
  return no
end
redis.call(ARGV[2], KEYS[1], ARGV[3])
return 1

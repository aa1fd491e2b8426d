-- What the releases of locks of several shapes share; it is put in front of
-- each of them. It asks for what is stored under KEYS[1] with a command.
--
-- Answers nothing if that is what was seen (want; nil: anything), otherwise
-- what the script has to answer: 0 there is no such key, -1 this holder is not
-- in it or has changed, -2 the key is of another type.
local function compare(want, command, ...)
  local found = redis.pcall(command, KEYS[1], ...)
  if type(found) == 'table' then -- an error, which is how another type shows
    return string.find(found.err, 'WRONGTYPE', 1, true) and -2 or found
  end
  if not found or found == 0 then
    return redis.call('EXISTS', KEYS[1]) == 1 and -1 or 0
  end
  if want and found ~= want then
    return -1
  end
end

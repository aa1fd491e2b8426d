-- Wakes who waits for a message, be it on a plain or a sharded channel. A
-- server that knows no sharded ones, or does not permit it, says so in vain.
local function wake(channel, message)
  redis.pcall('PUBLISH', channel, message)
  redis.pcall('SPUBLISH', channel, message)
end

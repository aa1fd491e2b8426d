-- Mark a node that has no marker, or one whose server was restarted.
--
-- A node that lost its data has lost grants with it: if it voted again at
-- once it could help elect a second holder. So a node without a marker grants
-- nothing until the longest lock it may have forgotten is over.
--
-- KEYS[1] the marker: "<birth> <longest> <run>"; birth is the node's clock in
--         ms, 0 for a node that is known to have had nothing to forget
-- ARGV[1] 1: nothing can have been forgotten, vote at once
-- ARGV[2] longest TTL known to be in use, ms
-- ARGV[3] the server's run id, '' if not known
-- ARGV[4] 1: only look whether the run id has changed; make no new marker
--
-- Answers 1 if the marker was written, 0 if it was right already.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local birth, longest, run = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+) (.*)$')
if not birth then
  if redis.call('EXISTS', KEYS[1]) == 1 then
    return redis.error_reply('ERR what is stored under the marker of this node is no marker; nothing was written')
  end
  if ARGV[4] == '1' then
    return '0'
  end
  birth = ARGV[1] == '1' and '0' or string.format('%.0f', now)
  redis.call('SET', KEYS[1], birth .. ' ' .. ARGV[2] .. ' ' .. ARGV[3])
  return '1'
end
if ARGV[3] == '' or run == ARGV[3] then
  return '0'
end
if run ~= '' then
  -- Restarted with its data, but perhaps without the last second of it.
  birth = string.format('%.0f', now)
end
redis.call('SET', KEYS[1], birth .. ' ' .. longest .. ' ' .. ARGV[3])
return '1'

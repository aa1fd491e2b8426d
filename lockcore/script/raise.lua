-- Store a fencing token on a node that granted a smaller one, but only while
-- that node still carries our entry: a majority of nodes that each stored the
-- number *under our entry* is what makes fencing tokens grow from grant to
-- grant without any clock.
--
-- ARGV[1] token    ARGV[2] fencing token    ARGV[3] life of the companion, ms; 0 for ever
--
-- Answers 1 if the entry is ours and the number is stored, else 0.
if holder_of() == ARGV[1] and raise_fence(tonumber(ARGV[2]), ARGV[3]) then
  return '1'
end
return '0'

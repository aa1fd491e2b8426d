# Outlives the program that runs the lab, for as long as it takes to clean up
# behind it. Standard input is a pipe whose other end only that program holds,
# so it ends with the program, however the program ends. Its lines are "+ pid"
# and "- pid": process groups to kill, and groups not to kill any more.
trap '' HUP INT QUIT TERM PIPE

# Made here and not by the program: then there is no moment at which the
# program could die and leave it.
dir=$(mktemp -d "$1/dlock-lab.XXXXXXXX") || exit 1
printf '%s\n' "$dir"

pids=' '
while read -r what pid; do
	case $what in
	+) pids="$pids$pid " ;;
	-) case $pids in
		*" $pid "*) pids="${pids%%" $pid "*} ${pids#*" $pid "}" ;;
		esac ;;
	esac
done

for pid in $pids; do
	kill -s KILL -- "-$pid"
done 2>/dev/null

# A server that is being killed may still create a file in a folder that is
# being removed.
tries=0
while [ -d "$dir" ] && [ "$tries" -lt 100 ]; do
	rm -rf -- "$dir" 2>/dev/null
	if [ -d "$dir" ]; then
		sleep 0.05 2>/dev/null || sleep 1
	fi
	tries=$((tries + 1))
done

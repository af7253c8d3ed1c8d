# The `package` declarations without a doc comment, room by room: a finding for each in a room where more than `limit` percent
# have none. Initializers explain themselves by their parameters and are not counted.
#
# usage: awk -f tools/undocumented.awk -v limit=5 FILE.swift…

FNR == 1 {
    previous = ""
    split(FILENAME, folders, "/")
    room = folders[2]
}

{
    text = $0
    sub(/^ */, "", text)
    if (text ~ /^(@[A-Za-z]+(\([^)]*\))? +)*(package|public) / && text !~ /^(@[A-Za-z]+ +)*(package|public) (import|extension)/ &&
        text !~ /(package|public)( [a-z]+)* init[?(<]/) {
        total[room]++
        if (previous !~ /^\/\/\//) {
            missing[room]++
            places[room] = places[room] FILENAME ":" FNR ": has no doc comment\n"
        }
    }
    # An attribute may stand between the comment and the declaration.
    if (text !~ /^@/) previous = text
}

END { for (room in missing) if (100 * missing[room] > limit * total[room]) printf "%s", places[room] }

# Declarations without a doc comment, and doc comments that do not begin with what they describe.
#
# usage: awk -f tools/undocumented.awk -v limit=5 FILE.swift…
# Prints `finding PLACE: what` for each `package` declaration without one in a room where more than `limit` percent have none;
# `internal ROOM COUNT` for the declarations without one that the rest of the room sees, of types and their members; and
# `opening ROOM PLACE` for a doc comment whose first word stands for something said elsewhere. Initializers explain themselves
# by their parameters and are not counted, nor are the cases of enumerations.

function indentation(line) { match(line, /^ */); return RLENGTH }

FNR == 1 {
    previous = ""
    depth = 0
    split(FILENAME, folders, "/")
    room = folders[2]
    rooms[room]
}

{
    indent = indentation($0)
    text = substr($0, indent + 1)
}

# A blank line or code before it: the comment's first line.
text ~ /^\/\/\/ (Of|By|Those|It|The same)[ ,]/ && previous !~ /^\/\/\// { print "opening", room, FILENAME ":" FNR }

text ~ /^(@[A-Za-z]+(\([^)]*\))? +)*(package|public) / && text !~ /^(@[A-Za-z]+ +)*(package|public) (import|extension)/ &&
    text !~ /(package|public)( [a-z]+)* init[?(<]/ {
    total[room]++
    if (previous !~ /^\/\/\//) {
        missing[room]++
        places[room] = places[room] "finding " FILENAME ":" FNR ": has no doc comment\n"
    }
}

depth > 0 && indent == column[depth] && text ~ /^}/ { depth-- }

# Only what stands in the file itself or right in a type that is not private: the rest is a function's own.
(depth == 0 ? indent == 0 : indent == column[depth] + 4 && !hidden[depth]) && previous !~ /^\/\/\// &&
    text ~ /^(@[A-Za-z]+(\([^)]*\))? +)*((static|mutating|nonmutating|final|indirect|lazy|weak|unowned|nonisolated|internal|private\(set\)) +)*(func|var|let|struct|class|enum|actor|protocol|typealias|subscript)[ (<[]/ { internals[room]++ }

text ~ /^(@[A-Za-z()]+ +)*((package|public|private|fileprivate|internal|final|indirect|nonisolated) +)*(class|struct|enum|actor|extension|protocol) +[A-Z]/ && text !~ /}$/ {
    isHidden = text ~ /^(@[A-Za-z()]+ +)*((final|indirect|nonisolated) +)*(private|fileprivate) / || depth > 0 && hidden[depth]
    depth++
    column[depth] = indent
    hidden[depth] = isHidden
}

# An attribute may stand between the comment and the declaration.
text !~ /^@/ || text ~ /[{}]/ { previous = text }

END {
    for (room in missing) if (100 * missing[room] > limit * total[room]) printf "%s", places[room]
    for (room in rooms) print "internal", room, internals[room] + 0
}

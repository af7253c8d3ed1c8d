# The types with the most code: LINES PROPERTIES FILES TYPE, the longest first. A line belongs to the innermost type around
# it, an extension to what it extends, and only properties that are stored count. The formatter's layout is relied upon: a
# type ends with a brace as far to the right as the word that began it.
#
# usage: awk -f tools/types.awk FILE.swift…

function indentation(line) { match(line, /^ */); return RLENGTH }

FNR == 1 {
    depth = 0
    split(FILENAME, folders, "/")
    room = folders[2]
}

{ indent = indentation($0) }

depth > 0 && indent == column[depth] && /^ *}/ {
    lines[name[depth]]++
    depth--
    next
}

/^ *(@[A-Za-z()]+ +)*((package|public|private|fileprivate|internal|final|indirect|nonisolated) +)*(class|struct|enum|actor|extension) +[A-Z]/ && !/}$/ {
    line = $0
    sub(/^ *(@[A-Za-z()]+ +)*((package|public|private|fileprivate|internal|final|indirect|nonisolated) +)*(class|struct|enum|actor|extension) +/, "", line)
    match(line, /^[A-Za-z0-9_.]+/)
    word = substr(line, 1, RLENGTH)
    depth++
    column[depth] = indent
    name[depth] = depth > 1 ? name[depth - 1] "." word : room "/" word
    inFile[name[depth], FILENAME] || files[name[depth]]++
    inFile[name[depth], FILENAME] = 1
}

depth > 0 {
    lines[name[depth]]++
    if (indent == column[depth] + 4 && /^ *((package|public|private|fileprivate|internal|private\(set\)|package private\(set\)|weak|unowned|lazy|nonisolated|final) +)*(let|var) / && !/[^=] \{( .* \})?$/)
        stored[name[depth]]++
}

END {
    for (type in lines) printf "%d %d %d %s\n", lines[type], stored[type], files[type], type | "sort -rn"
}

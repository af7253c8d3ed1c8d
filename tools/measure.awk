# Lengths of files and functions, told apart by indentation as `swift format` leaves it.
#
# usage: awk -f tools/measure.awk -v fileLimit=700 -v functionLimit=100 FILE…
# Prints `file ROOM LINES`, `function ROOM LINES`, and `long PLACE: what` for whatever is over a limit.

function room(path,    parts) { split(path, parts, "/"); return parts[2] }

function indentation(line) { match(line, /^ */); return RLENGTH }

function closeFile() {
    if (path == "") return
    print "file", room(path), lines
    if (lines > fileLimit) print "long " path ":1: " lines " lines, the limit is " fileLimit
}

function finish(last,    length_) {
    length_ = last - start + 1
    if (!isProperty) print "function", room(path), length_
    if (length_ > functionLimit)
        print "long " path ":" start ": a function of " length_ " lines, the limit is " functionLimit
    isInside = 0
}

FNR == 1 { closeFile(); path = FILENAME; lines = 0; isInside = 0; isSignature = 0 }
{ lines = FNR }

# A signature over several lines ends at its own indentation; without a brace it was a requirement.
isSignature {
    if (indentation($0) == indent && $0 !~ /^ *$/) {
        isSignature = 0
        if ($0 ~ /\{$/) { isInside = 1; next }
        if ($0 ~ /\}$/) { finish(FNR); next }
    } else next
}
isInside {
    if (indentation($0) == indent && $0 ~ /^ *\}/) finish(FNR)
    next
}
/^ *(@[A-Za-z()]+ +|[a-z]+(\([a-z]+\))? +)*(func [^ ]|init[?(<]|deinit |subscript[(<])/ && !/^ *\/\// && !/^ *(return|let|case|self\.|super\.) / {
    start = FNR; indent = indentation($0); isProperty = 0
    if ($0 ~ /\{$/) isInside = 1
    else if ($0 ~ /\}$/) finish(FNR)
    else if ($0 ~ /[(,<]$/ || $0 ~ /->$/ || $0 !~ /\)$/) isSignature = 1
    next
}
/^ *(@[A-Za-z()]+ +|[a-z]+(\([a-z]+\))? +)*var .*\{$/ { start = FNR; indent = indentation($0); isProperty = 1; isInside = 1; next }

END { closeFile() }

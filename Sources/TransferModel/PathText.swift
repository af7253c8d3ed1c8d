/// Absolute paths by their text alone: what two of them are compared by before anything is looked up.
package enum PathText {
    /// Without empty segments, `.` and `..`; a slash at the end stays. By bytes: a slash that a combining mark follows is
    /// still one.
    package static func withoutDots(_ path: String) -> String {
        let slash = UInt8(ascii: "/")
        var kept: [Substring] = []
        for segment in path.utf8.split(separator: slash).map({ Substring($0) }) where segment != "." {
            if segment == ".." { _ = kept.popLast() } else { kept.append(segment) }
        }
        return "/" + kept.joined(separator: "/") + (path.utf8.last == slash && !kept.isEmpty ? "/" : "")
    }
}

/// Compares absolute paths by their text alone, before anything is looked up in the filesystem.
package enum PathText {
    /// Returns the path without empty segments, `.` and `..`; a slash at its end stays. It works on bytes: a slash
    /// before a combining mark is still a slash.
    package static func withoutDots(_ path: String) -> String {
        let slash = UInt8(ascii: "/")
        var kept: [Substring] = []
        for segment in path.utf8.split(separator: slash).map({ Substring($0) }) where segment != "." {
            if segment == ".." { _ = kept.popLast() } else { kept.append(segment) }
        }
        return "/" + kept.joined(separator: "/") + (path.utf8.last == slash && !kept.isEmpty ? "/" : "")
    }
}

extension Job {
    /// Returns what default names are made from, such as the job's own and those of its report and lock: the file's name
    /// without its ending, be it `.transfer.yaml` or another. `nightly` of `jobs/nightly.transfer.yaml` and of
    /// `nightly.yaml`; `stdin` of `-`.
    package static func stem(of path: String) -> String {
        if path == "-" { return "stdin" }
        let slash = UInt8(ascii: "/")
        let name = path.utf8.lastIndex(of: slash).map { path[path.utf8.index(after: $0)...] } ?? path[...]
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return String(name) }
        let stem = name[..<dot]
        let isLong = stem.utf8.count > kind.utf8.count && stem.utf8.reversed().starts(with: kind.utf8.reversed())
        return String(isLong ? stem.dropLast(kind.count) : stem)
    }

    /// The part of a job file's ending by which editors and people know it.
    private static let kind = ".transfer"
}

/// Names of files that say themselves that the file is packed.
enum PackedName {
    private static let endings: Set<String> = [
        "br", "bz2", "deflate", "gz", "gzip", "lz4", "lzma", "svgz", "tbr", "tbz2", "tgz", "txz", "tzst", "vgz", "xz",
        "z", "zip", "zst", "zstd",
    ]

    /// Decides whether the name of a file at a path says that it is packed.
    static func saysSo(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return false }
        return endings.contains(name[name.index(after: dot)...].lowercased())
    }
}

/// Media types by a file's extension, for bodies read from files.
enum FileTypes {
    private static let known: [String: String] = [
        "bin": "application/octet-stream", "bz2": "application/x-bzip2", "css": "text/css", "csv": "text/csv",
        "gif": "image/gif", "gz": "application/gzip", "htm": "text/html", "html": "text/html",
        "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json",
        "md": "text/markdown", "mp3": "audio/mpeg", "mp4": "video/mp4", "pdf": "application/pdf",
        "png": "image/png", "svg": "image/svg+xml", "tar": "application/x-tar", "txt": "text/plain",
        "wasm": "application/wasm", "webp": "image/webp", "xml": "application/xml", "xz": "application/x-xz",
        "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",
    ]

    static func type(ofPath path: String) -> String {
        let bytes = path.utf8
        guard let mark = bytes.lastIndex(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") }),
            bytes[mark] == UInt8(ascii: ".")
        else { return "application/octet-stream" }
        return known[path[bytes.index(after: mark)...].lowercased()] ?? "application/octet-stream"
    }
}

import TextFormats
import TransferModel

extension LockFile {
    /// The file as YAML: entries in the order of their ids, unknown values left out, so that two versions can be
    /// compared line by line.
    package var yaml: [UInt8] {
        var lines = [
            kind == .lock
                ? "# Written by `transfer-run lock`. `transfer-run JOB --locked` holds a run to it."
                : "# Written by `transfer-run plan --online --save`. `transfer-run JOB --plan FILE` holds the servers to it.",
            "format: \(kind.format)", "version: 1", "job: \(Self.quoted(job))",
            entries.isEmpty ? "files: {}" : "files:",
        ]
        for entry in entries {
            lines.append("  \(Self.quoted(entry.id)):")
            for (name, value) in Self.members(entry) { lines.append("    \(name): \(value)") }
        }
        return Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    private static func members(_ entry: Entry) -> [(String, String)] {
        let answer = entry.answer
        let members: [(String, String?)] = [
            ("path", entry.path.map { quoted($0) }), ("url", quoted(answer.url)), ("size", answer.size.map { "\($0)" }),
            ("etag", answer.etag.map { quoted($0) }), ("lastModified", answer.lastModified.map { quoted($0) }),
            ("sha256", answer.sha256.map { quoted(hex($0)) }), ("type", answer.mimeType.map { quoted($0) }),
            ("certificate", answer.certificate.map { quoted($0) }),
        ]
        return members.compactMap { name, value in value.map { (name, $0) } }
    }

    static func hex(_ checksum: Checksum) -> String {
        String(checksum.description.dropFirst(checksum.algorithm.rawValue.utf8.count + 1))
    }

    /// A double-quoted scalar: a string of JSON is one of YAML, too.
    private static func quoted(_ text: String) -> String {
        var json = JSONWriter()
        json.string(text)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

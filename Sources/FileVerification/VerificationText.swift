import SystemIO
package import TextFormats
import TransferModel

/// A difference for people and for programs.
extension Difference {
    /// One line without its end: `short    a.iso: 10 of 12 bytes`. Control characters of the name are shown by `visible`.
    package func line(_ visible: (String) -> String) -> String {
        let word = kind.rawValue + String(repeating: " ", count: max(0, 10 - kind.rawValue.utf8.count))
        let owner = file.task.map { "  (task \(visible($0)))" } ?? ""
        return "  \(word) \(visible(file.name.description)): \(visible(told))\(owner)"
    }

    private var told: String {
        switch kind {
        case .missing: "expected \(expected)"
        case .short, .long: "\(bytes ?? 0) bytes, expected \(expected)"
        case .wrong: "\(checksum.map { "\($0)" } ?? "another content"), expected \(expected)"
        case .unreadable: "\(reason ?? "it cannot be read"), expected \(expected)"
        }
    }

    private var expected: String {
        let parts = [kind == .wrong ? nil : file.bytes.map { "\($0) bytes" }, file.checksum.map { "\($0)" }]
        let told = parts.compactMap(\.self)
        return told.isEmpty ? "a file" : told.joined(separator: ", ")
    }

    /// Writes the difference as a JSON object.
    package func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("state", kind.rawValue)
        json.member("path", file.name.description)
        json.member("task", file.task)
        json.member("bytes", bytes)
        json.member("checksum", checksum.map { "\($0)" })
        json.member("expectedBytes", file.bytes)
        json.member("expectedChecksum", file.checksum.map { "\($0)" })
        json.member("reason", reason)
        json.endObject()
    }
}

extension VerificationCounts {
    /// The counts in one line, with `grouped` for numbers: `1,204 files: 1,200 right, 3 missing, 1 wrong`.
    package func line(_ grouped: (Int) -> String) -> String {
        let differing = Difference.Kind.allCases.compactMap { kind in
            differences[kind].map { "\(grouped($0)) \(kind.rawValue)" }
        }
        let counts = ["\(grouped(right)) right"] + differing
        return "\(grouped(files)) \(files == 1 ? "file" : "files"): " + counts.joined(separator: ", ")
    }

    /// Writes the counts as members of a JSON object that has begun.
    package func write(to json: inout JSONWriter) {
        json.member("files", files)
        json.member("right", right)
        json.member("sizeOnly", sizeOnly)
        json.member("remembered", remembered)
        for kind in Difference.Kind.allCases {
            json.key(Self.key(kind))
            json.integer(Int64(differences[kind] ?? 0))
        }
        json.member("bytesRead", bytesRead)
    }

    private static func key(_ kind: Difference.Kind) -> StaticString {
        switch kind {
        case .missing: "missing"
        case .short: "short"
        case .long: "long"
        case .wrong: "wrong"
        case .unreadable: "unreadable"
        }
    }
}

internal import Glibc

/// Compares text with a file beside the tests.
///
/// With `TRANSFER_RUN_RECORD=1` the files are rewritten, and the test fails all the same: a recording proves nothing.
package enum Snapshot {
    /// The error of a text that differs from its file.
    package struct Mismatch: Error, CustomStringConvertible {
        /// The lines that differ.
        package let description: String
    }

    /// Throws when the text differs from the file. `name` is relative to the folder of the test's own file, such as
    /// `Golden/summary.txt`.
    package static func check(_ text: String, _ name: String, testFile: String = #filePath) throws {
        let folder = testFile.lastIndex(of: "/").map { String(testFile[..<$0]) } ?? "."
        let path = "\(folder)/\(name)"
        if Environment["TRANSFER_RUN_RECORD"] == "1" {
            try record(text, path)
            throw Mismatch(description: "recorded \(name); run again without TRANSFER_RUN_RECORD")
        }
        guard let expected = try? TemporaryTree.bytes(at: path) else {
            throw Mismatch(
                description: "there is no \(name); record it with TRANSFER_RUN_RECORD=1. It would be:\n\(text)")
        }
        if expected.elementsEqual(text.utf8) { return }
        throw Mismatch(
            description: "differs from \(name):\n" + difference(String(decoding: expected, as: UTF8.self), text))
    }

    private static func record(_ text: String, _ path: String) throws {
        var made = ""
        for part in path.split(separator: "/").dropLast() {
            made += "/\(part)"
            mkdir(made, 0o755)
        }
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw SystemFailure("open \(path)") }
        defer { close(file) }
        let bytes = Array(text.utf8)
        guard write(file, bytes, bytes.count) == bytes.count else { throw SystemFailure("write \(path)") }
    }

    /// The range of lines that differ, with `-` for the file and `+` for the text.
    static func difference(_ expected: String, _ found: String) -> String {
        var old = expected.split(separator: "\n", omittingEmptySubsequences: false)[...]
        var new = found.split(separator: "\n", omittingEmptySubsequences: false)[...]
        var line = 1
        while let left = old.first, let right = new.first, left == right {
            old = old.dropFirst()
            new = new.dropFirst()
            line += 1
        }
        while let left = old.last, let right = new.last, left == right {
            old = old.dropLast()
            new = new.dropLast()
        }
        let lines = ["line \(line):"] + old.prefix(30).map { "-\($0)" } + new.prefix(30).map { "+\($0)" }
        return lines.joined(separator: "\n")
    }
}

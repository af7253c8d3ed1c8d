import Diagnostics
import Glibc
import JobLoader
import TransferModel

/// Loads a job written in a test, in a world made of a few files and variables.
func load(
    _ text: String, file: String = "/job/jobs.yaml", environment: [String: String] = [:], files: [String: String] = [:],
    options: LoadOptions = LoadOptions()
) -> LoadResult {
    let source = SourceText(name: file, bytes: Array(text.utf8))
    return JobLoader.load(source, options: options, resources: world(environment: environment, files: files))
}

func world(environment: [String: String] = [:], files: [String: String] = [:]) -> Resources {
    Resources(
        environment: { environment[$0] },
        readFile: { path, limit in
            guard let text = files[path] else { return .failure(.notFound) }
            return text.utf8.count > limit ? .failure(.tooLarge(limit: limit)) : .success(Array(text.utf8))
        },
        listFiles: { root, _ in
            let prefix = root.hasSuffix("/") ? root : root + "/"
            let found = files.keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
            return found.isEmpty ? .failure(.notFound) : .success(found.map { Array($0.utf8) })
        },
        workingDirectory: "/here")
}

extension LoadResult {
    /// `12:5 code` of everything found, in the order of the file.
    var summary: [String] {
        diagnostics.sorted().map { item in
            let place = item.span.map { "\($0.line):\($0.column) " } ?? ""
            return "\(place)\(item.severity == .warning ? "warning " : "")\(item.code)"
        }
    }
    var laterPlaces: [String] {
        notBuilt.map { item in
            item.span.map { "\($0.line):\($0.column) " } ?? ""
        }
    }
    var messages: String {
        diagnostics.sorted().map { $0.message + ($0.hint.map { " (\($0))" } ?? "") }.joined(separator: "\n")
    }
}

/// One download with these lines more, each indented as a task's keys are.
func task(_ lines: String..., head: String = "") -> String {
    let body = ["id: a", "url: https://example.org/a", "to: a"] + lines
    return head + "tasks:\n  - " + body.joined(separator: "\n    ") + "\n"
}

func dataTask(_ lines: String..., head: String = "") -> String {
    let body = ["id: a", "url: https://example.org/a"] + lines
    return head + "tasks:\n  - " + body.joined(separator: "\n    ") + "\n"
}

enum Files {
    /// The package's folder, found from this file's own place.
    static let root: String = {
        var parts = #filePath.split(separator: "/")
        parts.removeLast(3)
        return "/" + parts.joined(separator: "/")
    }()

    static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += chunk[..<count]
        }
    }

    static func write(_ bytes: [UInt8], to path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + offset }, bytes.count - offset)
            }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }

    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names.sorted()
    }

    /// Re-records what tests compare with; such a run fails, so that nobody takes it for a passing one.
    static var isRecording: Bool { getenv("TRANSFER_RUN_RECORD").map { String(cString: $0) } == "1" }
}

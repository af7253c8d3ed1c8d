import Diagnostics
import JobLoader
import SystemIO

/// Reads the file of `--policy`. If it cannot be read, or has an unknown key, the command ends before a job is read: its
/// rules must hold.
enum PolicyFile {
    private static let maximumBytes = 1 << 20

    /// `origin` says where the path comes from, if it was not typed.
    static func read(_ path: String, origin: String) throws(UsageError) -> LoadedPolicy {
        try WorkingFolder.check(path)
        let bytes: [UInt8]
        do throws(WholeFile.Problem) { bytes = try WholeFile.read(path, limit: maximumBytes) } catch {
            let reason =
                switch error {
                case .notFound: "no such file"
                case .notRegular: "not a regular file"
                case .tooLarge: "larger than \(maximumBytes >> 20) MiB"
                case .system(let error): error.reason
                }
            throw UsageError("cannot read the policy `\(path)`: \(reason)\(origin)")
        }
        let (policy, found) = PolicyLoader.load(SourceText(name: path, bytes: bytes))
        guard let policy else {
            throw UsageError(
                "the policy `\(path)` cannot be used\(origin)",
                diagnostics: DiagnosticRenderer.text(found.sorted(), color: false))
        }
        return policy
    }
}

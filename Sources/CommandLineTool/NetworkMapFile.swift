import Diagnostics
import JobLoader
import SystemIO
package import TransferModel

/// Loads the operator's statements about this machine's networks: `networks.yaml` in the user's configuration folder.
package enum NetworkMapFile {
    /// Path of the file; `nil` where the user's folder is unknown.
    static func path(_ environment: [String: String]) -> String? {
        // As the XDG standard requires, a path that is not absolute is ignored.
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") {
            return "\(base)/transfer-run/networks.yaml"
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return "\(home)/.config/transfer-run/networks.yaml"
    }

    /// Returns the file's map, an empty one without the file. A faulty file is an error, not ignored: it may be what
    /// keeps bytes off a network that costs.
    package static func load(_ environment: [String: String], color: Bool) -> Result<NetworkMap, Problem> {
        guard let path = path(environment) else { return .success(NetworkMap()) }
        let bytes: [UInt8]
        do throws(WholeFile.Problem) {
            bytes = try WholeFile.read(path, limit: 1 << 20)
        } catch {
            if error == .notFound { return .success(NetworkMap()) }
            let text = "cannot read \(path): \(words(error))"
            guard case .system = error else { return .failure(Problem(text: UsageError(text).text)) }
            return .failure(Problem(text: UsageError(text).text, warning: "warning: \(text)\n"))
        }
        let (map, diagnostics) = NetworkMapLoader.load(SourceText(name: path, bytes: bytes))
        if let map { return .success(map) }
        return .failure(Problem(text: DiagnosticRenderer.text(diagnostics.sorted(), color: color)))
    }

    /// Why the file cannot be used; the process ends with 2.
    package struct Problem: Error, Hashable, Sendable {
        /// The message to print.
        package let text: String
        /// The message where the map may be left out; `nil` for a file whose content is at fault.
        package var warning: String?
    }

    private static func words(_ problem: WholeFile.Problem) -> String {
        switch problem {
        case .notFound: "no such file"
        case .notRegular: "not a regular file"
        case .tooLarge: "larger than 1 MiB"
        case .system(let error): error.reason
        }
    }
}

import Diagnostics
import Exports
import Reporting
import SystemIO

/// Names the file that a mistyped path most likely means.
enum NearbyFile {
    /// Returns the path with the name of another file of its folder; `nil` where the file is there, or none has a name
    /// like it.
    static func path(_ path: String) -> String? {
        guard path != "-", Folders.resolved(path) == nil else { return nil }
        let (folder, name) = Folders.split(path)
        let names = Folders.names(in: folder).filter { !$0.hasPrefix(".") }.sorted()
        return Spelling.closest(to: name, among: names, lettersOnly: true).map { path.dropLast(name.count) + $0 }
    }

    /// Returns `` did you mean `a.json`? ``; `nil` without such a file.
    static func question(_ path: String) -> String? {
        self.path(path).map { "did you mean `\(SafeText.line($0))`?" }
    }
}

extension ReportFile {
    /// Opens the report that a command line names.
    static func given(_ path: String) throws(ReportProblem) -> ReportFile {
        do throws(ReportProblem) {
            return try ReportFile(path)
        } catch {
            throw NearbyFile.question(path).map { error.adding($0) } ?? error
        }
    }
}

import Diagnostics
import Glibc
import SystemIO
import TransferModel

/// Finds destinations that no file can have as the disk is now: a folder has the name, or a file stands where one of its
/// folders should be. In a run such a task fails before its request.
enum UnfitPlaces {
    /// Warnings at most: many tasks may have one folder in their way.
    private static let most = 20

    /// Returns one warning for each place in the job's file.
    static func warnings(_ job: Job, _ text: SourceText) -> [Diagnostic] {
        var found: [Diagnostic] = []
        var places: TaskPlaces?
        var lines: Set<UInt32> = []
        for task in job.tasks where task.group == nil {
            guard let path = task.destination, let (message, hint) = problem(path), lines.insert(task.line).inserted
            else { continue }
            let known = places ?? TaskPlaces(text)
            places = known
            found.append(
                Diagnostic(
                    severity: .warning, code: "place-taken", message: message, hint: hint, source: text,
                    span: known.span(ofTask: Int32(task.line), "to") ?? SourceSpan(line: Int(task.line), column: 1)))
            if found.count == most { break }
        }
        return found
    }

    private static func problem(_ path: String) -> (message: String, hint: String)? {
        do throws(SystemError) {
            guard try FileFacts.ofName(path).isFolder, path.utf8.last != UInt8(ascii: "/") else { return nil }
            return ("\(path) is a folder: the task would fail", "end `to` in `/` to put the file into that folder")
        } catch {
            guard error.errno == ENOTDIR else { return nil }
            return (
                "a file stands where \(path) needs a folder: the task would fail",
                "move the file away, or choose another `to`"
            )
        }
    }
}

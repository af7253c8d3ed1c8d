import CurlCore
import Diagnostics
import JobLoader
import Stores
import TextFormats
import TransferModel
import YAMLTree

// The commands that look at a job and transfer nothing.

extension CommandLineTool {
    /// Prints every diagnostic of the jobs, without the network; returns 2 if any is an error. Keys that are not built
    /// yet are no errors of the file.
    static func check(
        _ options: CheckOptions, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        if let confine = options.arguments.confine {
            try ConfinedProcess(confine: confine, environment: environment, console: console)
                .enter(options.arguments, state: nil)
        }
        let source = JobSource(
            arguments: options.arguments, environment: environment, isForRun: false, isForCheck: true)
        var found: [Diagnostic] = []
        var accesses: [AccessText] = []
        var hasErrors = false
        for path in options.arguments.jobs {
            switch source.load(path) {
            case .failure(let problem):
                // An unreadable file is reported beside the errors of the others.
                found.append(
                    Diagnostic(
                        severity: .error, code: "unreadable-file", message: problem.message, hint: problem.hint,
                        source: SourceText(withheld: path)))
                hasErrors = true
            case .success(let loaded):
                var diagnostics = loaded.result.diagnostics
                // A job with errors gives enough to correct.
                if !diagnostics.hasErrors, let job = loaded.result.job,
                    let conflict = OutputPlaces.conflict(of: job) ?? LinkedPlaces.sharedFile(job)
                {
                    diagnostics.append(Self.diagnostic(conflict, job, loaded.text))
                } else if !diagnostics.hasErrors, let job = loaded.result.job {
                    for warning in UnfitPlaces.warnings(job, loaded.text) { diagnostics.append(warning) }
                }
                found += diagnostics.sorted()
                // A job with errors gives enough to correct, unless they are of what it may not do.
                let isRead = diagnostics.items.allSatisfy {
                    $0.severity != .error || [JobRoom.code, Policy.code].contains($0.code)
                }
                if isRead, let access = loaded.result.access {
                    accesses.append(AccessText(file: path, access: access))
                }
                hasErrors = hasErrors || diagnostics.hasErrors
            }
        }
        switch options.format {
        case .text:
            let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
            if !found.isEmpty { console.errors(DiagnosticRenderer.text(found, color: color)) }
            if !options.explainsAccess { for access in accesses { console.errors(access.folded()) } }
        case .json:
            let json = DiagnosticRenderer.json(found) { json in
                json.objects("access", accesses) { $1.write(to: &$0) }
            }
            console.output(String(decoding: json, as: UTF8.self) + "\n")
        case .github: console.output(DiagnosticRenderer.github(found))
        }
        if options.explainsAccess, options.format != .json {
            for access in accesses { console.output(access.whole()) }
        }
        return hasErrors ? 2 : 0
    }

    private static func diagnostic(_ conflict: OutputPlaces.Conflict, _ job: Job, _ text: SourceText) -> Diagnostic {
        let task = conflict.task.map { job.tasks[Int($0.raw)] }
        return Diagnostic(
            severity: .error, code: "place-taken", message: conflict.message, source: text,
            span: task.map { SourceSpan(line: Int($0.line), column: 1) })
    }

    static func schema(_ console: Console) -> Int32 {
        console.output(String(decoding: JobSchema.json(), as: UTF8.self))
        return 0
    }

    static func versionText() -> String {
        let problem = CurlLibrary.problem ?? CurlLibrary.lack(for: .handshake)
        let features =
            problem.map { "its features are unknown: \($0)" } ?? CurlLibrary.features.joined(separator: " ")
        return """
            transfer-run \(version)
            libcurl \(CurlLibrary.version) (\(features))
            TLS \(CurlLibrary.tlsVersion ?? CurlLibrary.lack(for: .handshake) ?? "none")
            libyaml \(YAMLTree.libraryVersion)
            SQLite \(Store.libraryVersion)

            """
    }
}

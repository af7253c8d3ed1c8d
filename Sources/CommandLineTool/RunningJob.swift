import CurlCore
import Diagnostics
import Glibc
import JobLoader
import JobRunner
import Reporting
import Synchronization
import SystemIO
import TransferModel

/// `transfer-run JOB`: from the file to the exit status.
struct RunningJob {
    let options: RunOptions
    let environment: [String: String]
    let console: Console

    func perform() -> Int32 {
        guard options.arguments.jobs.count == 1, let path = options.arguments.jobs.first else {
            console.errors(UsageError.notBuilt("running several job files as one").text)
            return 2
        }
        let job: Job
        do throws(UsageError) {
            guard let loaded = try load(path) else { return 2 }
            job = loaded
        } catch {
            console.errors(error.text)
            return 2
        }
        warnOfProxy(job)
        return start(job)
    }

    // MARK: The job

    /// `nil` when its diagnostics said why not.
    private func load(_ path: String) throws(UsageError) -> Job? {
        let source = JobSource(arguments: options.arguments, environment: environment, isForRun: true)
        let result = try source.load(path).get()
        // What is not built yet refuses the run, beside the mistakes of the file: never a silent ignore.
        let found = (result.diagnostics.sorted() + result.notBuilt)
        if !found.isEmpty {
            let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
            console.errors(
                options.isGitHub ? DiagnosticRenderer.github(found) : DiagnosticRenderer.text(found, color: color))
        }
        guard var job = result.job, result.notBuilt.isEmpty, !result.diagnostics.hasErrors else { return nil }
        job = try TaskSelection(only: options.only, except: options.except).apply(to: job)
        if let maximum = options.maximumConcurrentTasks { job.limits.maximumConcurrentTasks = maximum }
        if let bandwidth = options.bandwidth { job.limits.bandwidth = bandwidth }
        return job
    }

    /// Proxies are not built yet; a machine that says it needs one should hear why nothing goes through it.
    private func warnOfProxy(_ job: Job) {
        let usesEnvironment = job.sessions.contains { session in
            if case .environment = session.proxy { return true }
            return false
        }
        guard usesEnvironment else { return }
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        for name in names where !(environment[name] ?? "").isEmpty {
            console.errors("warning: proxies are not built yet: the environment's `\(name)` is not used\n")
            return
        }
    }

    // MARK: The run

    private func start(_ job: Job) -> Int32 {
        do throws(OutputProblem) {
            let outputs = try RunOutputs(job, options, environment)
            return run(job, outputs)
        } catch {
            console.errors("error: \(error)\n")
            return ExitStatus.runnerFailed.code
        }
    }

    private func run(_ job: Job, _ outputs: RunOutputs) -> Int32 {
        var settings = RunSettings(
            userAgent: "transfer-run/\(CommandLineTool.version)", seed: UInt64.random(in: 1...UInt64.max))
        settings.failFast = options.failFast
        settings.tellsLimitWaits = outputs.tellEverything
        settings.reportsUnchanged = options.exitUnchanged
        let status: ExitStatus
        do {
            try CurlLibrary.prepare()
            let log = try EventLog(consumers: outputs.consumers, redactor: Redactor(job.secrets), now: Clocks.now())
            let run: JobRun
            do throws(TransferError) {
                run = try JobRun(job: job, settings: settings, log: log, makeInbox: inbox)
            } catch {
                _ = log.finish()
                throw error
            }
            status = run.run()
            if let failure = log.finish() { throw failure }
        } catch {
            console.errors("error: the run could not be carried out: \(Self.words(error))\n")
            return ExitStatus.runnerFailed.code
        }
        return finish(status, outputs)
    }

    private static func words(_ error: any Error) -> String {
        (error as? TransferError)?.message ?? "\(error)"
    }

    /// Signals become commands; a second one ends the process at once.
    private func inbox(_ wake: @escaping @Sendable () -> Void) -> Mailbox<RunCommand> {
        let inbox = Mailbox<RunCommand>(wake: wake)
        let first = SignalCount()
        try? Signals.watch { number in
            if first.next() > 1 { Terminal.endAtOnce(number) }
            inbox.post(.stop(signal: number))
        }
        return inbox
    }

    private func finish(_ status: ExitStatus, _ outputs: RunOutputs) -> Int32 {
        do throws(OutputProblem) {
            try outputs.write()
        } catch {
            console.errors("error: \(error)\n")
            // A signal or a failed task does not outrank a report that could not be written.
            return ExitStatus.runnerFailed.code
        }
        return status.code
    }
}

private final class SignalCount: Sendable {
    private let count = Atomic<Int>(0)
    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

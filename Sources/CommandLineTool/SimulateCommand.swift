import Diagnostics
import Exports
import Reporting
package import SimulatedJobs
import SystemIO
import TransferModel

/// The options of `simulate`.
package struct SimulateOptions: Sendable {
    /// The job, its inputs and limits, as a run would take them.
    package var run: RunOptions
    /// The network's model; `nil` where it is measured or made up.
    package var model: String?
    /// The report that the network is measured from.
    package var from: String?
    /// Seed of all chances.
    package var seed: UInt64
    /// Settings to vary.
    package var sweeps: [Sweep]
    /// Whether to print the report.
    package var asJSON: Bool
    /// Where a page with the sweep's plot is written; `nil` for nowhere.
    package var html: String?

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        run = try RunOptions(typed, environment: environment)
        let meant = try MeantArguments(typed, environment: environment)
        model = meant.value(.model)
        from = meant.value(.from)
        asJSON = meant.isSet(.json)
        html = meant.value(.html)
        let text = meant.value(.seed) ?? "1"
        guard let seed = UInt64(text) else {
            throw UsageError("`--seed` must be a whole number from 0 on, not `\(text)`")
        }
        self.seed = seed
        sweeps = []
        for text in meant.list(.sweep) {
            do throws(Sweep.Problem) { sweeps.append(try Sweep(text)) } catch {
                throw UsageError(error.message, hint: error.hint)
            }
        }
        try check()
    }

    private func check() throws(UsageError) {
        if model != nil, from != nil {
            throw UsageError("`--model` and `--from` both say what the network is like", hint: "give one of them")
        }
        if model == nil, from == nil {
            throw UsageError(
                "`simulate` needs to know what the network is like",
                hint: "`--model FILE` describes it, `--from REPORT` measures it in an earlier run's report")
        }
        if asJSON, !sweeps.isEmpty {
            throw UsageError(
                "one report cannot hold a sweep", hint: "leave `--json` out, or run each value by itself")
        }
        if html != nil, sweeps.isEmpty {
            throw UsageError("`--html` plots a sweep", hint: "add `--sweep KEY=VALUES`")
        }
    }
}

extension CommandLineTool {
    /// Runs the job's scheduler on a virtual clock against a modelled network.
    static func simulate(
        _ options: SimulateOptions, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        let running = RunningJob(options: options.run, environment: environment, console: console)
        guard let job = try running.loadOnly() else { return ExitStatus.invalidInput.code }
        guard let network = try network(options, environment, console) else { return ExitStatus.invalidInput.code }
        guard options.sweeps.isEmpty else { return try sweep(options, job, network, console) }
        let simulation = JobSimulation(job, in: network, seed: options.seed, failFast: options.run.failFast)
        if options.asJSON {
            let report = JSONReport(job: job, runner: RunnerFacts.here)
            report.isSimulated = true
            _ = simulation.run(telling: report)
            do throws(OutputProblem) {
                try report.write(to: DescriptorSink.standardOutput)
                return ExitStatus.succeeded.code
            } catch {
                return console.failed(error)
            }
        }
        console.output(simulation.run().lines(seed: options.seed).map { $0 + "\n" }.joined())
        return ExitStatus.succeeded.code
    }

    private static func sweep(
        _ options: SimulateOptions, _ job: Job, _ network: NetworkModel, _ console: Console
    ) throws(UsageError) -> Int32 {
        let table: SweepTable
        do throws(Sweep.Problem) {
            table = try SweepTable(
                options.sweeps, job, in: network, seed: options.seed, failFast: options.run.failFast)
        } catch {
            throw UsageError(error.message, hint: error.hint)
        }
        if let path = options.html {
            let name = job.redactor.redacted(name: job.name)
            do throws(OutputProblem) {
                let page = table.html(job: name, source: network.source, seed: options.seed)
                try AtomicFile.put(Array(page.utf8), at: path)
            } catch {
                return console.failed(error)
            }
        }
        console.output(table.lines(seed: options.seed).map { $0 + "\n" }.joined())
        return ExitStatus.succeeded.code
    }

    /// The network to simulate; `nil` after its diagnostics were printed.
    private static func network(
        _ options: SimulateOptions, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> NetworkModel? {
        if let path = options.from {
            try WorkingFolder.check(path == "-" ? nil : path)
            do throws(ReportProblem) {
                let reader = try ReportReader(ReportFile.given(path), reading: MeasuredNetwork.parts)
                var measured = MeasuredNetwork()
                while let task = try reader.next() { measured.add(task) }
                return measured.model(source: "what \(SafeText.line(path)) measured")
            } catch {
                throw UsageError("\(error)")
            }
        }
        let path = options.model ?? ""
        try WorkingFolder.check(path)
        let bytes: [UInt8]
        do throws(WholeFile.Problem) { bytes = try WholeFile.read(path, limit: 16 << 20) } catch {
            throw UsageError(
                "cannot read the model \(path)\(error == .notFound ? ": no such file" : "")",
                hint: "docs/before-a-run.md shows one")
        }
        let (model, diagnostics) = NetworkModelReader.read(SourceText(name: path, bytes: bytes))
        guard let model else {
            let color = options.run.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
            console.errors(DiagnosticRenderer.text(diagnostics.sorted(), color: color))
            return nil
        }
        return model
    }
}

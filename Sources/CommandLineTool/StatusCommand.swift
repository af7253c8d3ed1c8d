import JobRunner
import NetworkConditions
import RunControl
import Stores
import SystemIO
import TransferModel

/// `status` as it is meant.
package struct StatusOptions: Sendable {
    /// Only this run.
    package var process: Int32?
    package var asJSON: Bool
    package var isWatching: Bool
    package var network: DictatedNetwork?
    /// Where runs listen; `nil` without a place for state.
    package var folder: String?

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        if let word = typed.operands.first {
            guard ControlOptions.isNumber(word) else {
                throw UsageError(
                    "there is no background session `\(word)`",
                    hint: "background sessions are not built yet; a run under way is known by its process's number")
            }
            process = try ControlOptions.process(word)
        }
        asJSON = meant.isSet(.json)
        isWatching = meant.isSet(.watch)
        network = try meant.network()
        folder = try? StateFolder(meant.value(.stateDir), environment).runtime
    }
}

/// All that `status` shows, at one moment.
struct StatusView: Hashable {
    struct Run: Hashable {
        let process: Int32
        /// `nil` for one that does not answer.
        let status: RunStatus?
    }
    var runs: [Run]
    var conditions: Conditions
}

extension CommandLineTool {
    static func status(
        _ options: StatusOptions, _ environment: [String: String], _ console: Console
    ) -> Int32 {
        let color = ColorChoice.auto.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
        switch NetworkMapFile.load(environment, color: color) {
        case .failure(let problem):
            console.errors(problem.text)
            return ExitStatus.invalidInput.code
        case .success(let map):
            do {
                return try StatusShow(options, map, console).perform()
            } catch {
                console.errors("error: \(error)\n")
                return ExitStatus.runnerFailed.code
            }
        }
    }
}

/// Shows it once, or again and again.
private struct StatusShow {
    let options: StatusOptions
    let console: Console
    let watch: NetworkWatch

    init(_ options: StatusOptions, _ map: NetworkMap, _ console: Console) throws(NetworkProblem) {
        self.options = options
        self.console = console
        watch = try NetworkWatch(map: map)
    }

    func perform() throws(NetworkProblem) -> Int32 {
        if let process = options.process, let why = absence(of: process) {
            console.errors("error: \(why)\n")
            return ExitStatus.runnerFailed.code
        }
        guard options.isWatching else {
            show(view(watch.first))
            return ExitStatus.succeeded.code
        }
        return try goOn()
    }

    /// Ends by a signal, or when nobody reads it any more. Networks and power are told when they change; runs are asked once a second.
    private func goOn() throws(NetworkProblem) -> Int32 {
        let changed = WakeSignal()
        let newest = Mailbox<Conditions> { changed.signal() }
        try watch.start(onChange: { newest.post($0) })
        var (conditions, shown) = (watch.first, StatusView?.none)
        defer { watch.stop() }
        while isHeard {
            let found = view(conditions)
            if found != shown {
                if shown != nil, !options.asJSON { console.output("\n") }
                show(found)
                shown = found
            }
            _ = changed.wait(nanoseconds: 1_000_000_000)
            conditions = newest.takeAll().last ?? conditions
        }
        return ExitStatus.succeeded.code
    }

    /// Whether anybody still reads standard output.
    private var isHeard: Bool {
        var entries = [PollEntry(1, .leaving)]
        Polling.wait(&entries, milliseconds: 0)
        return !entries[0].isReady
    }

    private func view(_ conditions: Conditions) -> StatusView {
        StatusView(
            runs: runs(), conditions: options.network.map { $0.conditions(power: conditions.power) } ?? conditions)
    }

    private func show(_ view: StatusView) {
        console.output(options.asJSON ? view.json : view.text)
    }

    // MARK: Runs

    private func runs() -> [StatusView.Run] {
        guard let client else { return [] }
        let processes = options.process.map { [$0] } ?? client.runs()
        return processes.compactMap { process in
            do throws(ControlFailure) {
                guard case .status(let status) = try client.ask(ControlMessage(.status), of: process) else {
                    // One of a version that does not know the question.
                    return StatusView.Run(process: process, status: nil)
                }
                return StatusView.Run(process: process, status: status)
            } catch {
                if case .silent = error { return StatusView.Run(process: process, status: nil) }
                return nil
            }
        }
    }

    /// Why the run that was named cannot be shown.
    private func absence(of process: Int32) -> String? {
        guard let client else { return "there is no place for state: set HOME or --state-dir" }
        do throws(ControlFailure) {
            _ = try client.ask(ControlMessage(.status), of: process)
            return nil
        } catch {
            return CommandLineTool.words(error, process)
        }
    }

    private var client: ControlClient? {
        guard let folder = options.folder else { return nil }
        var client = ControlClient(folder: folder)
        client.patience = .seconds(2)
        return client
    }
}

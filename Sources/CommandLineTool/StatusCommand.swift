package import BackgroundService
package import JobRunner
import NetworkConditions
import Reporting
import RunControl
package import Stores
import SystemIO
package import TransferModel

/// The options of `status`.
package struct StatusOptions: Sendable {
    /// The only run or background session to show; `nil` for all.
    package var target: ControlOptions.Target?
    /// Whether to print JSON.
    package var asJSON: Bool
    /// Whether to print again whenever something changes.
    package var isWatching: Bool
    /// Whether to show networks and power, and of one run or session every task that is left.
    package var isVerbose: Bool
    /// Whether standard output is a terminal on which a page can replace the one before.
    package var redraws: Bool
    /// Whether the terminal shows more than ASCII.
    package var isUnicode: Bool
    /// The network of `--network`, if any.
    package var network: DictatedNetwork?
    /// Folder of the runs' state.
    package var folder: StateFolder

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        if let word = typed.operands.first { target = try ControlOptions.Target(word) }
        asJSON = meant.isSet(.json)
        isWatching = meant.isSet(.watch)
        isVerbose = meant.isSet(.verbose)
        isUnicode = LiveTerminal.isUnicode(environment)
        redraws = !asJSON && Terminal.isTerminal(1) && environment["TERM"] != "dumb"
        network = try meant.network()
        folder = try StateFolder.needed(meant.value(.stateDir), environment)
    }

    var process: Int32? { if case .process(let process) = target { process } else { nil } }
    var identifier: String? { if case .session(let identifier) = target { identifier } else { nil } }
}

/// Everything that `status` shows, at one moment.
package struct StatusView: Hashable {
    /// A run of a foreground command.
    package struct Run: Hashable {
        let process: Int32
        /// The run's answer; `nil` for one that does not answer.
        let status: RunStatus?

        package init(process: Int32, status: RunStatus?) {
            self.process = process
            self.status = status
        }
    }
    /// Background sessions whose end is not confirmed yet.
    var sessions: [BackgroundSession] = []
    var runs: [Run]
    var conditions: Conditions

    package init(sessions: [BackgroundSession] = [], runs: [Run], conditions: Conditions) {
        self.sessions = sessions
        self.runs = runs
        self.conditions = conditions
    }
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
                return try StatusShow(options, map, environment, console).perform()
            } catch {
                console.errors("error: \(error)\n")
                if case .newerVersion? = (error as? StoreError)?.kind {
                    console.errors(
                        "  hint: use the version that wrote it, or another state folder (`--state-dir DIR`)\n")
                }
                return ExitStatus.runnerFailed.code
            }
        }
    }
}

/// Shows the status once, or again and again.
private struct StatusShow {
    let options: StatusOptions
    let console: Console
    let watch: NetworkWatch
    let source: SessionSource

    init(
        _ options: StatusOptions, _ map: NetworkMap, _ environment: [String: String], _ console: Console
    ) throws(NetworkProblem) {
        self.options = options
        self.console = console
        watch = try NetworkWatch(map: map)
        source = SessionSource(
            options.folder, ServiceStarter.here(options.folder, environment), options.identifier,
            isFollowing: options.isWatching)
    }

    func perform() throws -> Int32 {
        CommandLineTool.tellOfDamage(options.folder, console)
        let isForPeople = !options.asJSON && !options.isWatching && options.process == nil
        console.errors(StateLoss.warnings(options.folder, isForPeople: isForPeople))
        if options.process != nil { source.goOn() }
        if let process = options.process, let why = absence(of: process) {
            return console.failed(why)
        }
        if let identifier = options.identifier, let absence = absence(of: identifier) {
            console.errors(absence.text)
            return absence.status.code
        }
        guard options.isWatching else {
            console.output(text(of: try view(watch.first)))
            if let quarantined = source.quarantined { console.errors(quarantined.warning) }
            if let trouble = source.trouble { console.errors("warning: \(trouble)\n") }
            return ExitStatus.succeeded.code
        }
        return try goOn()
    }

    /// Shows the status until a signal comes, or standard output is closed. Changes of networks, power and sessions are
    /// shown at once; runs are queried once a second.
    private func goOn() throws -> Int32 {
        let changed = try PollWake()
        let newest = Mailbox<Conditions> { changed.signal() }
        try watch.start(onChange: { newest.post($0) })
        var (conditions, shown) = (watch.first, String?.none)
        var (rates, page) = (WatchedRates(), RedrawnPage())
        var told: Quarantine?
        defer { watch.stop() }
        while isHeard {
            let found = try view(conditions)
            if let quarantined = source.quarantined, quarantined != told {
                console.errors(quarantined.warning)
                told = quarantined
                page = RedrawnPage()
            }
            // Where each page stays on the screen, a page a second for a changed rate alone would be too many.
            let measured = options.redraws ? rates.update(found.progress, at: Clocks.instant()) : [:]
            let text = text(of: found, measured)
            if text != shown {
                show(text, isFirst: shown == nil, &page)
                shown = text
            }
            rest(changed)
            conditions = newest.takeAll().last ?? conditions
        }
        return ExitStatus.succeeded.code
    }

    /// Least time between pages in milliseconds: sessions may change far more often than a person can read.
    private static let shortest: Int64 = 200

    private func rest(_ changed: PollWake) {
        var entries = [changed.entry] + [source.entry].compactMap(\.self)
        Polling.wait(&entries, milliseconds: 1000)
        if entries[0].isReady { return changed.clear() }
        guard entries.contains(where: { $0.isReady }) else { return }
        var wake = [changed.entry]
        Polling.wait(&wake, milliseconds: Self.shortest)
        if wake[0].isReady { changed.clear() }
        source.drain()
    }

    /// Whether standard output still has a reader.
    private var isHeard: Bool {
        var entries = [PollEntry(1, .leaving)]
        Polling.wait(&entries, milliseconds: 0)
        return !entries[0].isReady
    }

    private func view(_ conditions: Conditions) throws -> StatusView {
        StatusView(
            sessions: options.process == nil ? try source.sessions() : [],
            runs: options.identifier == nil ? runs() : [],
            conditions: options.network.map { $0.conditions(power: conditions.power) } ?? conditions)
    }

    private func text(of view: StatusView, _ rates: [WatchedRates.Key: Int64] = [:]) -> String {
        options.asJSON
            ? view.json
            : view.text(
                showsNetworks: options.isVerbose, namesAll: options.isVerbose && options.target != nil,
                folder: options.folder, rates: rates, bars: bars,
                // Below one another, pages tell of what happened, and time that passes is nothing of that.
                now: options.isWatching && !options.redraws ? nil : Clocks.wall())
    }

    /// The style of progress bars; `nil` where pages do not replace one another.
    private var bars: LiveFrame.Style? {
        guard options.redraws, let size = Terminal.size(1) else { return nil }
        return LiveFrame.Style(
            columns: size.columns, height: size.rows, color: false, isUnicode: options.isUnicode)
    }

    private func show(_ text: String, isFirst: Bool, _ page: inout RedrawnPage) {
        if options.redraws, let screen = Terminal.size(1) {
            return console.output(page.replacing(with: text, columns: screen.columns, rows: screen.rows))
        }
        console.output(isFirst || options.asJSON ? text : "\n" + text)
    }

    // MARK: Runs

    private func runs() -> [StatusView.Run] {
        let processes = options.process.map { [$0] } ?? client.runs()
        return processes.compactMap { process in
            do throws(ControlFailure) {
                guard case .status(let status) = try client.ask(ControlMessage(.status), of: process) else {
                    // A run of a version that does not know the request.
                    return StatusView.Run(process: process, status: nil)
                }
                return StatusView.Run(process: process, status: status)
            } catch {
                if case .silent = error { return StatusView.Run(process: process, status: nil) }
                return nil
            }
        }
    }

    /// Why the named run cannot be shown, or `nil`.
    private func absence(of process: Int32) -> String? {
        do throws(ControlFailure) {
            _ = try client.ask(ControlMessage(.status), of: process)
            return nil
        } catch {
            return CommandLineTool.words(error, process)
        }
    }

    /// Why the named session cannot be shown, or `nil`.
    private func absence(of identifier: String) -> (text: String, status: ExitStatus)? {
        do throws(CommandTrouble) {
            _ = try SessionAbsence.find(identifier, options.folder)
            return nil
        } catch {
            return (error.text, error.status)
        }
    }

    private var client: ControlClient {
        var client = ControlClient(folder: options.folder.runtime)
        client.patience = .seconds(2)
        return client
    }
}

import HTTPRules
import Synchronization
import SystemIO
import TransferModel

/// What somebody knew of a question, and who asked.
struct CredentialAnswer {
    let tasks: [TaskIndex]
    /// `nil` is nobody.
    let secret: ShownSecret?
}

/// The loop's end of the questions to `.netrc` and helpers: what several tasks ask is asked once.
final class CredentialLookup {
    private let worker: CredentialWorker
    private let findings: Mailbox<CredentialWorker.Finding>
    private var waiting: [CredentialQuery: [TaskIndex]] = [:]

    init(folder: String, wake: @escaping @Sendable () -> Void) {
        findings = Mailbox(wake: wake)
        worker = CredentialWorker(folder: folder, findings: findings)
    }

    func ask(_ query: CredentialQuery, for task: TaskIndex) {
        let isNew = waiting[query] == nil
        waiting[query, default: []].append(task)
        if isNew { worker.submit(.ask(query)) }
    }

    /// What a file said is read again when it is asked for next.
    func forget() { worker.forget() }

    func tell(_ report: HelperReport) { worker.submit(.tell(report)) }

    func takeAll() -> [CredentialAnswer] {
        findings.takeAll().map { finding in
            CredentialAnswer(tasks: waiting.removeValue(forKey: finding.query) ?? [], secret: finding.secret)
        }
    }

    /// Ends what is still asked, waits until helpers were told what they are to know, and says what went wrong.
    func finish() -> [String] { worker.finish() }
}

/// Asks, on threads of its own: a file may lie on a slow disk, and a helper may wait for a person.
final class CredentialWorker: Sendable {
    enum Order: Sendable {
        case ask(CredentialQuery)
        case tell(HelperReport)

        var query: CredentialQuery {
            switch self {
            case .ask(let query): query
            case .tell(let report): report.query
            }
        }
    }
    struct Finding: Sendable {
        let query: CredentialQuery
        let secret: ShownSecret?
    }
    private struct State {
        var orders: [Order] = []
        /// What is asked or told now: one question after the other goes to one helper about one place.
        var busy: [CredentialQuery] = []
        var threads: [Thread] = []
        var isEnding = false
        var netrc: Netrc??
        var problems: [String] = []
    }
    private let state = Mutex(State())
    private let wake = WakeSignal()
    private let findings: Mailbox<Finding>
    private let folder: String
    private let environment = CurrentProcess.environment()
    /// Ends questions at the run's end; what helpers are told is not cut short.
    private let cancellation = try? Command.Cancellation()

    private static let mostThreads = 4
    /// A person may have to type.
    static let patience = TimeSpan.seconds(60)
    static let patienceAtEnd = TimeSpan.seconds(10)

    init(folder: String, findings: Mailbox<Finding>) {
        self.folder = folder
        self.findings = findings
    }

    // MARK: From the loop

    func submit(_ order: Order) {
        let isServed = state.withLock { state in
            state.orders.append(order)
            if state.threads.count > state.busy.count || state.threads.count >= Self.mostThreads { return true }
            guard let thread = try? Thread(named: "credentials", { [self] in work() }) else {
                return !state.threads.isEmpty
            }
            state.threads.append(thread)
            return true
        }
        // Without a thread nobody knows anything.
        if isServed { wake.signal() } else { drop() }
    }

    private func drop() {
        let orders = state.withLock { state in
            defer { state.orders = [] }
            return state.orders
        }
        for case .ask(let query) in orders { findings.post(Finding(query: query, secret: nil)) }
    }

    func forget() { state.withLock { $0.netrc = nil } }

    func finish() -> [String] {
        cancellation?.cancel()
        let threads = state.withLock { state in
            state.isEnding = true
            state.orders.removeAll { if case .ask = $0 { true } else { false } }
            return state.threads
        }
        for _ in threads { wake.signal() }
        for thread in threads { thread.join() }
        return state.withLock { $0.problems }
    }

    // MARK: The threads

    private func work() {
        while true {
            guard let order = next() else {
                if state.withLock({ $0.isEnding && $0.orders.isEmpty }) { return wake.signal() }
                wake.wait()
                continue
            }
            switch order {
            case .ask(let query): findings.post(Finding(query: query, secret: find(query)))
            case .tell(let report): tell(report)
            }
            state.withLock { state in
                state.busy.removeAll { $0.isAtSamePlace(as: order.query) }
            }
            // What stood behind this one may go on.
            wake.signal()
        }
    }

    private func next() -> Order? {
        state.withLock { state in
            let place = state.orders.firstIndex { order in
                !state.busy.contains { $0.isAtSamePlace(as: order.query) }
            }
            guard let place else { return nil }
            let order = state.orders.remove(at: place)
            state.busy.append(order.query)
            return order
        }
    }

    private func find(_ query: CredentialQuery) -> ShownSecret? {
        switch query.source {
        case .netrc: netrc()?.secret(for: query.origin.host, user: query.user)
        case .helper(let words): find(query, words)
        // A server is asked by the loop.
        case .oauth2: nil
        }
    }

    private func recordProblem(_ problem: String) {
        state.withLock { state in
            if !state.problems.contains(problem) { state.problems.append(problem) }
        }
    }

    // MARK: .netrc

    /// Read once. `NETRC` says where it is, as for other programs, or it is in the home folder.
    private func netrc() -> Netrc? {
        if let known = state.withLock({ $0.netrc }) { return known }
        let read = readNetrc()
        state.withLock { $0.netrc = .some(read) }
        return read
    }

    private func readNetrc() -> Netrc? {
        guard let path = environment["NETRC"] ?? environment["HOME"].map({ "\($0)/.netrc" }) else { return nil }
        do throws(WholeFile.Problem) {
            if let netrc = Netrc(try WholeFile.read(path, limit: Netrc.longest)) { return netrc }
            recordProblem("\(path) is no `.netrc` file: nothing in it was used")
        } catch {
            switch error {
            case .notFound: break
            case .notRegular: recordProblem("\(path) is no file: no password was taken from it")
            case .tooLarge: recordProblem("\(path) is larger than a `.netrc` file can be: nothing in it was used")
            case .system(let error): recordProblem("\(path) could not be read: \(error.reason)")
            }
        }
        return nil
    }

    // MARK: Helpers

    private func find(_ query: CredentialQuery, _ words: [SecretText]) -> ShownSecret? {
        guard let output = run(words, .get, GitCredential.question(query), Self.patience, cancellation) else {
            return nil
        }
        switch GitCredential.answer(output, to: query, at: Clocks.wall()) {
        case .secret(let secret): return secret
        case .none, .quit: return nil
        case .broken:
            recordProblem("\(name(words)) did not answer as git-credential helpers do")
            return nil
        }
    }

    private func tell(_ report: HelperReport) {
        guard case .helper(let words) = report.query.source else { return }
        let question = GitCredential.question(report.query, secret: report.secret)
        _ = run(words, report.wasAccepted ? .store : .erase, question, Self.patienceAtEnd, nil)
    }

    /// What it says if all is well.
    private func run(
        _ words: [SecretText], _ action: GitCredential.Action, _ input: [UInt8]?, _ patience: TimeSpan,
        _ cancellation: Command.Cancellation?
    ) -> [UInt8]? {
        guard let input else { return nil }
        var command = Command(words.map(\.revealed) + [action.rawValue])
        (command.folder, command.timeout) = (folder, patience)
        do throws(SystemError) {
            let (result, output) = try command.run(
                input: input, limit: GitCredential.longest + 1, cancellation: cancellation)
            switch result.ending {
            case .exited(0): return output
            case .exited(let status): recordProblem("\(name(words)) ended with status \(status) (`\(action.rawValue)`)")
            case .killed(let number): recordProblem("\(name(words)) was ended by signal \(number)")
            case .timedOut: recordProblem("\(name(words)) took longer than \(patience.seconds) s and was ended")
            // By the run's end, or because it said too much.
            case .cancelled where output.count > GitCredential.longest / 2:
                recordProblem("\(name(words)) said more than an answer can be")
            case .cancelled: break
            }
        } catch {
            recordProblem("\(name(words)) could not be started: \(error.reason)")
        }
        return nil
    }

    private func name(_ words: [SecretText]) -> String {
        "the credential helper `\(words.map(\.redacted).joined(separator: " "))`"
    }
}

extension CredentialQuery {
    fileprivate func isAtSamePlace(as other: CredentialQuery) -> Bool {
        source == other.source && (origin == other.origin || source == .netrc)
    }
}

import Glibc
import SystemIO
package import TransferModel

/// Finds the background process, or starts it: this very program once more, apart from whoever started it.
package struct ServiceStarter: Sendable {
    package var place: ServicePlace
    /// Of the program.
    package var version: String
    /// What was said with `--state-dir`, absolute; `nil` leaves it to the environment, as here.
    package var stateDirectory: String?
    package var environment: [String: String]
    /// For the process to be found or to begin, all told.
    package var patience = TimeSpan.seconds(10)
    /// Another program than this one, and the words before its options; tests have theirs.
    package var program: String?
    package var command = ["daemon"]

    package init(_ place: ServicePlace, version: String, stateDirectory: String?, environment: [String: String]) {
        self.place = place
        self.version = version
        self.stateDirectory = stateDirectory
        self.environment = environment
    }

    /// So often a process may end while it begins.
    private static let deaths = 3

    // MARK: Finding

    /// Who is there already; `nil` when nobody is.
    package func find() throws(ServiceTrouble) -> ServiceLink? {
        do throws(ServiceFailure) {
            return try ServiceLink.connect(place, version: version, patience: patience)
        } catch {
            if case .absent = error { return nil }
            throw trouble(error)
        }
    }

    /// Who is there, or who is there then. Of commands that start one at the same time all find the same.
    package func connect() throws(ServiceTrouble) -> ServiceLink {
        let deadline = Clocks.instant() + patience
        var attempt = Attempt()
        defer { attempt.process?.release() }
        while true {
            do throws(ServiceFailure) {
                let left = max(.milliseconds(1), deadline - Clocks.instant())
                return try ServiceLink.connect(place, version: version, patience: left)
            } catch {
                guard case .absent = error else { throw trouble(error) }
            }
            guard Clocks.instant() < deadline else { throw notThere(nil) }
            try begin(&attempt)
            attempt.rest()
        }
    }

    /// Sees to it that somebody carries what the journal may have, and waits for nobody: who is there is told to look,
    /// else a process is started. What goes wrong with it shows when somebody has a use for it.
    package func goOn() {
        guard UnfinishedMark(place).isThere else { return }
        do throws(ServiceFailure) {
            let link = try ServiceLink.connect(place, version: version, patience: Self.glance)
            _ = try link.ask(.ring(nil), patience: Self.glance)
        } catch {
            // Whoever has the lock and does not listen is about to begin, or to end: others will come by.
            guard case .absent = error, ServiceLock.holder(place) == nil else { return }
            (try? start())?.release()
        }
    }

    private static let glance = TimeSpan.milliseconds(100)

    // MARK: Starting

    private struct Attempt {
        var process: DetachedProcess?
        var deaths = 0
        var logSize: Int64 = 0
        /// Until the next look, at the least: a process takes some ten milliseconds to begin.
        var pause: Int64 = 1
        var began = Clocks.instant()

        /// An eighth of what was waited already, so that nobody waits much longer than the process takes.
        mutating func rest() {
            let waited = (Clocks.instant() - began).nanoseconds / 1_000_000
            let pause = min(50, max(pause, waited / 8))
            guard let process else { return Polling.sleep(milliseconds: pause) }
            var entries = [process.end]
            Polling.wait(&entries, milliseconds: pause)
        }
    }

    /// Starts it unless one is about to begin.
    private func begin(_ attempt: inout Attempt) throws(ServiceTrouble) {
        if let process = attempt.process {
            guard process.hasEnded else { return }
            attempt.process = nil
            switch process.reap() {
            // It found another there.
            case .exited(0): attempt.pause = 20
            case let ending:
                attempt.deaths += 1
                if attempt.deaths >= Self.deaths { throw ended(ending, attempt.logSize) }
                attempt.pause = 50
            }
            return
        }
        attempt.logSize = ServiceLog.size(place)
        attempt.process = try start()
        (attempt.pause, attempt.began) = (1, Clocks.instant())
    }

    private func start() throws(ServiceTrouble) -> DetachedProcess {
        let log = try ServiceLog.open(place)
        let options = stateDirectory.map { ["--state-dir", $0] } ?? []
        do throws(SystemError) {
            return try DetachedProcess(
                program ?? DetachedProcess.ownProgram(), words: ["transfer-run"] + command + options,
                environment: Self.kept(environment).map { RawName($0) } + Self.stray(), errors: log)
        } catch {
            throw ServiceTrouble("the background process cannot be started: \(error)")
        }
    }

    /// What a process needs to find its places, programs and words. What a run was started with is kept with the run:
    /// the proxies, options and secrets of whoever came first are nothing to the runs of others.
    package static func kept(_ environment: [String: String]) -> [String] {
        environment.filter { name, _ in isKept(name) }.map { "\($0)=\($1)" }.sorted()
    }

    /// What is kept and is no text goes on as it is: a `PATH` may name such a folder.
    private static func stray() -> [RawName] {
        Surroundings.variables().filter { line in
            let name = line.bytes.prefix { $0 != UInt8(ascii: "=") }
            return line.text == nil && isKept(String(decoding: name, as: UTF8.self))
        }
    }

    private static let keptNames: Set = [
        "HOME", "PATH", "LANG", "TZ", "TZDIR", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH",
        "DBUS_SESSION_BUS_ADDRESS",
    ]

    private static func isKept(_ name: String) -> Bool {
        keptNames.contains(name) || name.hasPrefix("XDG_") || name.hasPrefix("LC_")
    }

    // MARK: Words

    private func trouble(_ failure: ServiceFailure) -> ServiceTrouble {
        switch failure {
        case .absent(let why): ServiceTrouble("no background process is there: \(why)")
        case .gone: ServiceTrouble("the background process ended in the middle of a conversation")
        case .silent: notThere(ServiceLock.holder(place))
        case .incompatible(let why): ServiceTrouble(why)
        case .refused(let why): ServiceTrouble("the background process cannot be spoken to: \(why)")
        }
    }

    private func notThere(_ process: Int32?) -> ServiceTrouble {
        let seconds = Int(patience.seconds.rounded(.up))
        let who = process.map { " (pid \($0))" } ?? ""
        return ServiceTrouble("the background process\(who) has not answered for \(seconds) s: see \(place.log)")
    }

    private func ended(_ ending: Command.Ending, _ logSize: Int64) -> ServiceTrouble {
        let how =
            switch ending {
            case .exited(let status): "with status \(status)"
            case .killed(let signal): "by signal \(signal)"
            case .timedOut, .cancelled: "early"
            }
        let last = ServiceLog.lastLine(place, from: logSize).map { " (\($0))" } ?? ""
        return ServiceTrouble(
            "the background process ended \(how) when it began, \(Self.deaths) times in a row: see \(place.log)\(last)")
    }
}

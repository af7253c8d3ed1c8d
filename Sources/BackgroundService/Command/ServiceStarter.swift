import Glibc
import SystemIO
package import TransferModel

/// Finds the background process, or starts it: this same program once more, detached from the command that starts it.
package struct ServiceStarter: Sendable {
    /// The state folder's paths.
    package var place: ServicePlace
    /// The program's version.
    package var version: String
    /// The absolute path given with `--state-dir`; `nil` leaves the process to find the folder by its environment, as
    /// this command did.
    package var stateDirectory: String?
    /// This command's environment, of which the process gets what `kept(_:)` returns.
    package var environment: [String: String]
    /// The time within which the process must be found or have begun, all in all.
    package var patience = TimeSpan.seconds(10)
    /// Path of another program than this one, which tests set.
    package var program: String?
    /// The words before the process's options.
    package var command = ["daemon"]

    package init(_ place: ServicePlace, version: String, stateDirectory: String?, environment: [String: String]) {
        self.place = place
        self.version = version
        self.stateDirectory = stateDirectory
        self.environment = environment
    }

    /// The number of times that a process may end while it begins.
    private static let deaths = 3

    // MARK: Finding

    /// Connects to a process that is already there; `nil` when there is none.
    package func find() throws(ServiceTrouble) -> ServiceLink? {
        do throws(ServiceFailure) {
            return try ServiceLink.connect(place, version: version, patience: patience)
        } catch {
            if case .absent = error { return nil }
            throw trouble(error)
        }
    }

    /// Connects to the process, starting it if there is none. Commands that start one at the same time all find the
    /// same.
    package func connect() throws(ServiceTrouble) -> ServiceLink {
        let deadline = Clocks.instant() + patience
        var attempt = Attempt()
        defer { attempt.process?.release() }
        while true {
            do throws(ServiceFailure) {
                let left = max(.milliseconds(1), deadline - Clocks.instant())
                return try ServiceLink.connect(place, version: version, patience: left)
            } catch {
                guard case .absent(let why) = error else { throw trouble(error) }
                guard Clocks.instant() < deadline else { throw notFound(why) }
            }
            try startIfNeeded(&attempt)
            attempt.rest()
        }
    }

    /// Sees to it that a process carries what the journal may have, without waiting for it: a running process is told
    /// to look, else one is started. Its failures show when a command needs it.
    package func goOn() {
        guard UnfinishedMark(place).isThere else { return }
        do throws(ServiceFailure) {
            let link = try ServiceLink.connect(place, version: version, patience: Self.glance)
            _ = try link.ask(.ring(nil), patience: Self.glance)
        } catch {
            // A process that has the lock and does not listen is about to begin or to end: a later command sees to
            // the rest.
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
        /// Shortest time in milliseconds until the next look: a process takes some ten milliseconds to begin.
        var pause: Int64 = 1
        var began = Clocks.instant()

        /// Waits an eighth of the time waited so far, so that a command waits not much longer than the process takes.
        mutating func rest() {
            let waited = (Clocks.instant() - began).nanoseconds / 1_000_000
            let pause = min(50, max(pause, waited / 8))
            guard let process else { return Polling.sleep(milliseconds: pause) }
            var entries = [process.end]
            Polling.wait(&entries, milliseconds: pause)
        }
    }

    /// Starts a process unless one is about to begin.
    private func startIfNeeded(_ attempt: inout Attempt) throws(ServiceTrouble) {
        if let process = attempt.process {
            guard process.hasEnded else { return }
            attempt.process = nil
            switch process.reap() {
            // It found another process that serves this place.
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
            throw ServiceTrouble("the background process cannot be started: \(error)\(Self.limit(error))")
        }
    }

    /// Returns the variables that a process needs to find its folders, programs and locale. What a run was started with
    /// is stored with the run: the proxies, options and secrets of the first command must not reach the runs of others.
    package static func kept(_ environment: [String: String]) -> [String] {
        environment.filter { name, _ in isKept(name) }.map { "\($0)=\($1)" }.sorted()
    }

    /// Returns kept variables whose value is no valid text, as raw bytes: a `PATH` may name a folder with such a name.
    private static func stray() -> [RawName] {
        CurrentProcess.variables().filter { line in
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

    /// Names the limit that kept a process from being started, if one did.
    private static func limit(_ error: SystemError) -> String {
        switch error.errno {
        case EAGAIN: ": this user may have no more processes (`ulimit -u`)"
        case EMFILE: ": this command may open no more files (`ulimit -n`)"
        default: ""
        }
    }

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
        return ServiceTrouble(
            "the background process\(who) has not answered for \(seconds) s: its runs go on when it does; see \(place.log)"
        )
    }

    /// Returns the error of a command that got no answer at the socket in time.
    private func notFound(_ why: String) -> ServiceTrouble {
        guard ServiceLock.isHeld(place) else { return notThere(nil) }
        let who = ServiceLock.holder(place).map { "the background process (pid \($0))" }
        guard let who else {
            return ServiceTrouble(
                "\(place.lock) is held by a process of another container or machine, and \(why): its runs go on there")
        }
        return ServiceTrouble(
            "\(who) cannot be reached: \(why); its runs go on; once it is ended with `kill`, the next command starts one "
                + "that can be")
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

import Glibc
import Synchronization
import SystemIO
package import TransferModel

/// The life of the background process: takes the lock, opens the socket, begins the host, serves, and ends.
package struct ServiceProcess: Sendable {
    /// The state folder's paths.
    package var place: ServicePlace
    /// The program's version, which `hello` announces.
    package var version: String
    /// The environment in which service managers leave their variables.
    package var environment: [String: String]
    /// Bounds for connections, frames and waiting times.
    package var limits = ServiceLimits()
    /// Whether SIGINT and SIGTERM end the process; then the caller blocks both (`Signals.hold`) before it starts the
    /// first thread. Tests that serve within their own process set it to `false`.
    package var takesSignals = true
    /// Receives a line for each thing that the log should tell.
    package var log: @Sendable (String) -> Void = ServiceLog.write
    /// How long `run` waits for another process that is about to end to release the lock.
    package var lockPatience = TimeSpan.seconds(8)

    package init(_ place: ServicePlace, version: String, environment: [String: String]) {
        self.place = place
        self.version = version
        self.environment = environment
    }

    /// How `run` came back.
    package enum Outcome: Hashable, Sendable {
        /// The process served, and ended for this reason.
        case ended(ServiceEnd)
        /// Another process holds the lock and answers; its process number, if known.
        case alreadyThere(Int32?)
    }

    /// The wanted limit of file descriptors, for connections, runs and files together.
    private static let descriptors = 65_536
    /// Descriptors kept free for runs when the maximum of connections is computed.
    private static let descriptorsOfRuns = 2048
    /// Descriptors that transfers leave free: for commands that ask, journals and reports.
    private static let keptDescriptors = 32

    /// Runs the process from its begin to its end; blocks. Returns early when another process already serves this
    /// place.
    package func run(_ host: any ServiceHost) throws(ServiceTrouble) -> Outcome {
        Signals.ignoreHangUp()
        let manager = ServiceManager(environment)
        let passed = try Self.passedDoor(manager)
        let lock: ServiceLock
        switch try takeLock(passed) {
        case .taken(let taken): lock = taken
        case .held(let holder): return .alreadyThere(holder)
        }
        ServiceLog.cut(place)
        // Runs that are handed over bring their secrets with them.
        CurrentProcess.hideMemory()
        let listening: ServiceSocket
        if let passed { listening = passed } else { listening = try ServiceSocket.open(place) }
        let end = try serve(host, listening, lock, manager)
        _ = consume lock
        return .ended(end)
    }

    private static func passedDoor(_ manager: ServiceManager) throws(ServiceTrouble) -> ServiceSocket? {
        do throws(SystemError) {
            guard let socket = try manager.listener() else { return nil }
            return ServiceSocket(passed: socket)
        } catch {
            throw ServiceTrouble("LISTEN_FDS: exactly one listening Unix stream socket is wanted")
        }
    }

    // MARK: Alone

    /// Takes the lock, or finds out that its holder answers. A holder that does not answer is about to begin or to end,
    /// so `takeLock` tries again until `lockPatience` has passed.
    private func takeLock(_ passed: ServiceSocket?) throws(ServiceTrouble) -> ServiceLock.Attempt {
        let socket = passed.map(\.path) ?? place.socket
        let deadline = Clocks.instant() + lockPatience
        while true {
            let attempt = try ServiceLock.attempt(place, socket: socket)
            guard case .held(let holder) = attempt else { return attempt }
            if passed == nil, isThere(until: deadline) { return .held(holder) }
            guard Clocks.instant() < deadline else {
                let who = holder.map { " by process \($0)" } ?? ""
                throw ServiceTrouble("\(place.lock) is held\(who), which does not listen at \(place.ofHolder.socket)")
            }
            Polling.sleep(milliseconds: 10)
        }
    }

    /// Whether a process answers with `hello`. One that only accepts connections may still fail to begin, so that a
    /// connection alone proves nothing.
    private func isThere(until deadline: Instant) -> Bool {
        do throws(ServiceFailure) {
            let left = max(.milliseconds(1), deadline - Clocks.instant())
            _ = try ServiceLink.connect(place, version: version, patience: left)
        } catch {
            if case .absent = error { return false }
        }
        return true
    }

    // MARK: Serving

    private func serve(
        _ host: any ServiceHost, _ listening: ServiceSocket, _ lock: ServiceLock, _ manager: ServiceManager
    ) throws(ServiceTrouble) -> ServiceEnd {
        let ending = Ending()
        let requests = try makeRequests(host, lock, manager, ending)
        do throws(ServiceTrouble) {
            try host.resumeRuns(reportingTo: requests.board)
        } catch {
            listening.hide()
            throw error
        }
        let listener: ServiceListener
        do throws(SystemError) {
            if takesSignals { try Signals.watch { ending.signal($0) } }
            listener = try ServiceListener(requests, listening)
        } catch {
            listening.hide()
            host.leave()
            throw ServiceTrouble(error.description)
        }
        manager.tell("READY=1")
        log("listens at \(place.socket)")
        let why = ending.wait()
        manager.tell("STOPPING=1", "STATUS=\(why)")
        listener.leave(why)
        host.leave()
        listener.close()
        log("ended: \(why)")
        return why
    }

    private func makeRequests(
        _ host: any ServiceHost, _ lock: ServiceLock, _ manager: ServiceManager, _ ending: Ending
    ) throws(ServiceTrouble) -> ServiceRequests {
        var limits = limits
        let most = DescriptorLimit.raise(to: Self.descriptors)
        DescriptorLimit.keep(Self.keptDescriptors)
        limits.connections = max(64, min(limits.connections, most - min(Self.descriptorsOfRuns, most / 2)))
        let hello = ServiceHello(version: version, started: Clocks.wall(), state: place.state)
        do throws(SystemError) {
            return try ServiceRequests(
                host, hello, limits, manager, place, lock, log: log, end: { ending.set($0) })
        } catch {
            throw ServiceTrouble(error.description)
        }
    }
}

/// The reason for which the process ends; the first one set counts.
private final class Ending: Sendable {
    private let reason = Mutex<ServiceEnd?>(nil)
    private let wake = WakeSignal()

    func set(_ why: ServiceEnd) {
        let isFirst = reason.withLock { reason in
            if reason != nil { return false }
            reason = why
            return true
        }
        if isFirst { wake.signal() }
    }

    /// Ends the process for a signal. A second signal ends it at once without leaving the runs in order: runs survive
    /// that.
    func signal(_ number: Int32) {
        if case .signal = reason.withLock({ $0 }) { _exit(128 + number) }
        set(.signal(number))
    }

    func wait() -> ServiceEnd {
        while true {
            if let why = reason.withLock({ $0 }) { return why }
            wake.wait()
        }
    }
}

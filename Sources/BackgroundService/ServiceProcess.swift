import Glibc
import Synchronization
import SystemIO
package import TransferModel

/// The background process: its lock, its socket, whoever carries the runs, and its end.
package struct ServiceProcess: Sendable {
    package var place: ServicePlace
    /// Of the program.
    package var version: String
    package var environment: [String: String]
    package var limits = ServiceLimits()
    /// SIGINT and SIGTERM end it; the caller holds them back (`Signals.hold`) before the first thread is made. Tests
    /// within a process have none.
    package var takesSignals = true
    package var log: @Sendable (String) -> Void = ServiceLog.write
    /// For a process that is about to end to let go of the lock.
    package var lockPatience = TimeSpan.seconds(8)

    package init(_ place: ServicePlace, version: String, environment: [String: String]) {
        self.place = place
        self.version = version
        self.environment = environment
    }

    package enum Outcome: Hashable, Sendable {
        case ended(ServiceEnd)
        /// Another is there and listens.
        case alreadyThere(Int32?)
    }

    /// Descriptors for connections, runs and files together.
    private static let descriptors = 65_536
    /// Kept for runs when connections are counted.
    private static let descriptorsOfRuns = 2048

    /// The process's whole life; blocks.
    package func run(_ host: any ServiceHost) throws(ServiceTrouble) -> Outcome {
        Signals.ignoreHangUp()
        let manager = ServiceManager(environment)
        let passed = try Self.passedDoor(manager)
        let lock: ServiceLock
        switch try takeLock(isPassed: passed != nil) {
        case .taken(let taken): lock = taken
        case .held(let holder): return .alreadyThere(holder)
        }
        ServiceLog.cut(place)
        let door: ServiceDoor
        if let passed { door = passed } else { door = try ServiceDoor.open(place) }
        let end = try serve(host, door, lock, manager)
        _ = consume lock
        return .ended(end)
    }

    private static func passedDoor(_ manager: ServiceManager) throws(ServiceTrouble) -> ServiceDoor? {
        do throws(SystemError) {
            guard let socket = try manager.listener() else { return nil }
            return ServiceDoor(passed: socket)
        } catch {
            throw ServiceTrouble("LISTEN_FDS: exactly one listening Unix stream socket is wanted")
        }
    }

    // MARK: Alone

    /// Who has the lock and answers is there; who has it and does not is about to begin or to end.
    private func takeLock(isPassed: Bool) throws(ServiceTrouble) -> ServiceLock.Attempt {
        let deadline = Clocks.instant() + lockPatience
        while true {
            let attempt = try ServiceLock.attempt(place)
            guard case .held(let holder) = attempt else { return attempt }
            if !isPassed, isThere(until: deadline) { return .held(holder) }
            guard Clocks.instant() < deadline else {
                let who = holder.map { " by process \($0)" } ?? ""
                throw ServiceTrouble("\(place.lock) is held\(who), which does not listen at \(place.socket)")
            }
            Polling.sleep(milliseconds: 10)
        }
    }

    /// One that can be called may yet find that it cannot begin: then there is none. It says who it is once it has.
    private func isThere(until deadline: Instant) -> Bool {
        guard ServiceDoor.isAnswered(place) else { return false }
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
        _ host: any ServiceHost, _ door: ServiceDoor, _ lock: ServiceLock, _ manager: ServiceManager
    ) throws(ServiceTrouble) -> ServiceEnd {
        let ending = Ending()
        let desk = try makeDesk(host, lock, manager, ending)
        do throws(ServiceTrouble) {
            try host.begin(desk.board)
        } catch {
            door.hide()
            throw error
        }
        let listener: ServiceListener
        do throws(SystemError) {
            if takesSignals { try Signals.watch { ending.signal($0) } }
            listener = try ServiceListener(desk, door)
        } catch {
            door.hide()
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

    private func makeDesk(
        _ host: any ServiceHost, _ lock: ServiceLock, _ manager: ServiceManager, _ ending: Ending
    ) throws(ServiceTrouble) -> ServiceDesk {
        var limits = limits
        let most = DescriptorLimit.raise(to: Self.descriptors)
        limits.connections = max(64, min(limits.connections, most - min(Self.descriptorsOfRuns, most / 2)))
        let hello = ServiceHello(version: version, started: Clocks.wall(), state: place.state)
        do throws(SystemError) {
            return try ServiceDesk(
                host, hello, limits, manager, place, isInPlace: { lock.isInPlace }, log: log, end: { ending.set($0) })
        } catch {
            throw ServiceTrouble(error.description)
        }
    }
}

/// Why the process ends: the first reason counts.
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

    /// Whoever asks twice does not want to wait until runs were left in order: they bear being cut off.
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

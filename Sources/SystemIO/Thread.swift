internal import CLinuxShims
import Glibc
import Synchronization

/// A joined pthread. Swift's own threads are few and must never block; a loop that polls needs one of its own.
package final class Thread: Sendable {
    private let handle: Mutex<pthread_t?>

    /// Runs `body` to its end; the name is what `ps -T` shows, as far as the kernel keeps it.
    ///
    /// One that `standsBack` leaves the processors to the others where there are too few. Where Linux shares them out by
    /// sessions or groups, what a group gets on one processor shrinks with the weight of its threads on the others, and a
    /// new one weighs for a tenth of a second what it would if it never slept: helpers would take from the loop what they
    /// have no use for.
    package init(
        named name: String, standsBack: Bool = false, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let start = Start(name: name, standsBack: standsBack, body: body)
        if standsBack, let spare = Self.spares.withLock({ $0.popLast() }) {
            spare.desk.give(start)
            handle = Mutex(spare.handle)
            return
        }
        handle = Mutex(try Self.begin(start))
    }

    private static func begin(_ start: Start) throws(SystemError) -> pthread_t {
        let box = unsafe Unmanaged.passRetained(start)
        var thread = pthread_t()
        let code = unsafe pthread_create(&thread, nil, runThread, box.toOpaque())
        guard code == 0 else {
            unsafe box.release()
            throw SystemError(call: "pthread_create", errno: code)
        }
        return thread
    }

    package func join() {
        let joined = handle.withLock { handle in
            let joined = handle
            handle = nil
            return joined
        }
        if let joined { pthread_join(joined, nil) }
    }

    /// Lets it run to the end of the process without being joined.
    package func detach() {
        let left = handle.withLock { handle in
            let left = handle
            handle = nil
            return left
        }
        if let left { pthread_detach(left) }
    }

    deinit {
        precondition(handle.withLock { $0 } == nil, "a thread was dropped without being joined")
    }

    // MARK: Made ahead

    /// Makes threads that wait for a body, and are what the next ones are that are to stand back: with the signals held
    /// back that the caller holds back. glibc makes no thread while it loads a library, however long that takes.
    package static func makeSpare(_ count: Int) {
        for _ in 0..<count {
            let desk = Desk()
            let waiting = Start(name: "spare", standsBack: true) {
                guard let start = desk.wait() else { return }
                setName(start.name)
                start.body()
            }
            // Who needs one that cannot be made finds out.
            guard let thread = try? begin(waiting) else { return }
            spares.withLock { $0.append(Spare(handle: thread, desk: desk)) }
        }
    }

    private static let spares = Mutex<[Spare]>([])

    private struct Spare: Sendable {
        let handle: pthread_t
        let desk: Desk
    }

    private final class Desk: Sendable {
        private let start = Mutex<Start?>(nil)
        private let isThere = WakeSignal()

        func give(_ start: Start) {
            self.start.withLock { $0 = start }
            isThere.signal()
        }

        func wait() -> Start? {
            isThere.wait()
            return start.withLock { $0.take() }
        }
    }

    fileprivate final class Start: Sendable {
        let name: String
        let standsBack: Bool
        let body: @Sendable () -> Void
        init(name: String, standsBack: Bool, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.standsBack = standsBack
            self.body = body
        }
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    let start = unsafe Unmanaged<Thread.Start>.fromOpaque(argument).takeRetainedValue()
    setName(start.name)
    if start.standsBack { standBack() }
    start.body()
    return nil
}

private func setName(_ name: String) { unsafe tr_thread_name(String(name.prefix(15))) }

/// Of the calling thread alone: that is what Linux means by a process here.
private func standBack() {
    let this = __priority_which_t(PRIO_PROCESS.rawValue)
    // The highest is 19. One that cannot be had leaves it as it is.
    setpriority(this, 0, min(getpriority(this, 0) + 10, 19))
}

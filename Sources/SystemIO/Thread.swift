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
        let box = unsafe Unmanaged.passRetained(Start(name: name, standsBack: standsBack, body: body))
        var thread = pthread_t()
        let code = unsafe pthread_create(&thread, nil, runThread, box.toOpaque())
        guard code == 0 else {
            unsafe box.release()
            throw SystemError(call: "pthread_create", errno: code)
        }
        handle = Mutex(thread)
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

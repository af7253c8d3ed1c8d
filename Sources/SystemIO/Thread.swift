internal import CLinuxShims
import Glibc
import Synchronization

/// A pthread that must be joined or detached. Swift's own threads are few and must never block; a loop that polls needs
/// one of its own.
package final class Thread: Sendable {
    private let handle: Mutex<pthread_t?>

    /// Starts a thread that runs `body` to its end; `name` is what `ps -T` shows, cut to the kernel's length.
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let box = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let code = unsafe pthread_create(&thread, nil, runThread, box.toOpaque())
        guard code == 0 else {
            unsafe box.release()
            throw SystemError(call: "pthread_create", errno: code)
        }
        handle = Mutex(thread)
    }

    /// Waits for the thread's end; further calls do nothing.
    package func join() {
        let joined = handle.withLock { handle in
            let joined = handle
            handle = nil
            return joined
        }
        if let joined { pthread_join(joined, nil) }
    }

    /// Gives up joining the thread, which may then run to the end of the process.
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
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    let start = unsafe Unmanaged<Thread.Start>.fromOpaque(argument).takeRetainedValue()
    setName(start.name)
    start.body()
    return nil
}

private func setName(_ name: String) { unsafe tr_thread_name(String(name.prefix(15))) }

internal import Glibc

/// A thread that must be joined: a thread that outlives its test makes another test fail.
final class TestThread: Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    private let thread: pthread_t

    init(_ run: @escaping @Sendable () -> Void) throws {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(run))
        let code = pthread_create(&thread, nil, Self.enter, body.toOpaque())
        guard code == 0 else {
            body.release()
            throw SystemFailure("pthread_create", code)
        }
        self.thread = thread
    }

    /// Formed outside of every isolation: a C library calls it on a thread that no executor knows.
    private static let enter: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { pointer in
        guard let pointer else { return nil }
        Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run()
        return nil
    }

    func join() { pthread_join(thread, nil) }
}

/// A system call of the test itself that failed; never part of what is tested.
package struct SystemFailure: Error, CustomStringConvertible {
    /// Name of the call, with its operand.
    package let call: String
    /// The call's `errno`.
    package let code: Int32

    package init(_ call: String, _ code: Int32 = Glibc.errno) {
        self.call = call
        self.code = code
    }

    package var description: String { "\(call): \(String(cString: strerror(code)))" }
}

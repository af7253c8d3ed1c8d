import Synchronization

/// A text that is worked out on first use, from any thread, and then kept. Guarded by `state`.
package final class LateText: Sendable {
    private enum State {
        case known(String)
        case owed(@Sendable () -> String)
    }
    private let state: Mutex<State>

    package init(_ text: String) { state = Mutex(.known(text)) }
    package init(_ make: @escaping @Sendable () -> String) { state = Mutex(.owed(make)) }

    /// The text; the first use works it out and blocks other threads meanwhile.
    package var text: String {
        state.withLock { state in
            switch state {
            case .known(let text): return text
            case .owed(let make):
                let text = make()
                state = .known(text)
                return text
            }
        }
    }
}

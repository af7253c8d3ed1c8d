import Synchronization

/// A text that is worked out when somebody first asks for it, from any thread, and then kept.
package final class LateText: Sendable {
    private enum State {
        case known(String)
        case owed(@Sendable () -> String)
    }
    private let state: Mutex<State>

    package init(_ text: String) { state = Mutex(.known(text)) }
    package init(_ make: @escaping @Sendable () -> String) { state = Mutex(.owed(make)) }

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

import CurlCore
package import SystemIO
import TransferModel

/// What takes as long as reading a job and does not hang on it: libcurl is loaded, with all its libraries. Nobody need wait for
/// that before the first attempt.
package enum LoadingAhead {
    /// Begins at once where these words look like a run, before they are understood: whoever guessed wrong has lost a few
    /// milliseconds of a processor that had nothing to do.
    package static func begin(_ words: [RawName]) {
        guard looksLikeARun(words.lazy.map(\.text)) else { return }
        let thread = try? Signals.holding { () throws(SystemError) in
            // Of events and of the store, which are wanted before the library is there.
            Thread.makeSpare(2)
            return try Thread(named: "ahead") { _ = CurlLibrary.problem }
        }
        thread?.detach()
    }

    /// The first word that is no flag is `run` or, most likely, a job file. A value of a flag counts as one: that is only a
    /// guess.
    static func looksLikeARun(_ words: some Sequence<String?>) -> Bool {
        guard let first = words.first(where: { $0?.hasPrefix("-") != true || $0 == "-" }) else { return false }
        guard let command = first.flatMap({ CommandName(rawValue: $0) }) else { return true }
        return command == .run
    }
}

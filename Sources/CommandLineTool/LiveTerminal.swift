import Glibc
import Reporting
import Synchronization

/// Owns the terminal while a run draws on it. Any thread may print without garbling the live part.
final class LiveTerminal: LiveOutput, Sendable {
    private struct State {
        var screen = LiveScreen()
        var lines: [String] = []
        /// Whether the process is about to be stopped, so that its shell has the terminal.
        var isPaused = false
    }

    /// The terminal of this process's standard error.
    static let standardError = LiveTerminal()

    private let state = Mutex(State())
    private let descriptor: Int32

    init(descriptor: Int32 = 2) { self.descriptor = descriptor }

    /// Whether the terminal can redraw lines.
    static func isUsable(_ descriptor: Int32, _ environment: [String: String]) -> Bool {
        Terminal.isTerminal(descriptor) && environment["TERM"].map { $0 != "dumb" && !$0.isEmpty } ?? false
    }

    /// Whether the locale's encoding is UTF-8.
    static func isUnicode(_ environment: [String: String]) -> Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        let name = locale.lowercased()
        return name.contains("utf-8") || name.contains("utf8")
    }

    var size: (columns: Int, rows: Int)? {
        // In a background process group it would overwrite another job's output.
        guard tcgetpgrp(descriptor) == getpgrp(), !state.withLock({ $0.isPaused }),
            let size = Terminal.size(descriptor), size.rows >= 5
        else { return nil }
        return size
    }

    func show(_ lines: [String], above printed: [UInt8]) {
        state.withLock { state in
            guard !state.isPaused else { return write(printed) }
            state.lines = lines
            write(state.screen.draw(lines, above: printed, columns: columns))
        }
    }

    /// Prints above the live part, which stays.
    func print(_ text: String) {
        state.withLock { state in
            if state.isPaused || state.lines.isEmpty { return write(Array(text.utf8)) }
            write(state.screen.draw(state.lines, above: Array(text.utf8), columns: columns))
        }
    }

    /// Erases the live part while the process is stopped: its shell's prompt then stands in its place.
    func standAside(while stopped: () -> Void) {
        state.withLock { state in
            write(state.screen.erase(columns: columns))
            state.isPaused = true
        }
        stopped()
        state.withLock { $0.isPaused = false }
    }

    /// Ends the live part: anything printed afterwards is the command's last output.
    func clear() {
        state.withLock { state in
            write(state.screen.erase(columns: columns))
            state.lines = []
        }
    }

    private var columns: Int { Terminal.size(descriptor)?.columns ?? 80 }

    /// Writes bytes; a terminal that has closed is no failure.
    private func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        try? DescriptorSink(descriptor: descriptor, name: "standard error").write(bytes)
    }
}

import Glibc

/// The terminal and host of this process.
enum Terminal {
    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The columns of the terminal; `nil` where it does not say.
    static func width(_ descriptor: Int32) -> Int? { size(descriptor)?.columns }

    /// The columns and rows of the terminal; `nil` where it does not say.
    static func size(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 else { return nil }
        return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
    }

    static func hostName() -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "unknown" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Ends the process at once, after a second signal.
    static func endAtOnce(_ signal: Int32) -> Never {
        LiveTerminal.standardError.clear()
        _exit(128 + signal)
    }
}

/// What to write so that the live part stands below all that was printed before. Pure; the only modes of the terminal that
/// it uses are colours, which each line ends, so that nothing has to be put back when the program dies.
package struct LiveScreen {
    /// The columns of the lines that stand there.
    private var widths: [Int] = []

    package init() {}

    /// The live part goes, and what is printed next stands in its place. `columns` are those of the terminal now: lines that
    /// were written when it was wider take several rows.
    package mutating func erase(columns: Int) -> [UInt8] {
        let rows = height(columns)
        widths = []
        return rows > 0 ? Array("\u{1B}[\(rows)A\r\u{1B}[J".utf8) : []
    }

    /// `printed` goes above the live part, whose lines are `lines`.
    package mutating func draw(_ lines: [String], above printed: [UInt8] = [], columns: Int) -> [UInt8] {
        let height = height(columns)
        var bytes: [UInt8] = height > 0 ? Array("\u{1B}[\(height)A\r".utf8) : []
        if !printed.isEmpty {
            // What is printed may be shorter than what it is written over.
            bytes += Array("\u{1B}[J".utf8) + printed
        }
        for line in lines { bytes += Array("\(line)\u{1B}[K\n".utf8) }
        bytes += Array("\u{1B}[J".utf8)
        widths = lines.map { LiveFrame.shownWidth($0) }
        return bytes
    }

    /// The rows that the lines take now.
    private func height(_ columns: Int) -> Int {
        widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
    }
}

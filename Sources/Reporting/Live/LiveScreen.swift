/// Computes the bytes that keep the live part below all printed lines. Pure. Colours are the only terminal mode used,
/// and each line ends its own, so that nothing has to be restored when the program dies.
package struct LiveScreen {
    /// Columns of the lines that are drawn now.
    private var widths: [Int] = []

    package init() {}

    /// Returns the bytes that remove the live part; the next printed line takes its place. `columns` is the terminal's
    /// current width: lines drawn when it was wider take several rows.
    package mutating func erase(columns: Int) -> [UInt8] {
        let rows = height(columns)
        widths = []
        return rows > 0 ? Array("\u{1B}[\(rows)A\r\u{1B}[J".utf8) : []
    }

    /// Returns the bytes that print `printed` and draw `lines` below as the live part.
    package mutating func draw(_ lines: [String], above printed: [UInt8] = [], columns: Int) -> [UInt8] {
        let height = height(columns)
        var bytes: [UInt8] = height > 0 ? Array("\u{1B}[\(height)A\r".utf8) : []
        if !printed.isEmpty {
            // Printed text may be shorter than the rows that it overwrites.
            bytes += Array("\u{1B}[J".utf8) + printed
        }
        for line in lines { bytes += Array("\(line)\u{1B}[K\n".utf8) }
        bytes += Array("\u{1B}[J".utf8)
        widths = lines.map { LiveFrame.shownWidth($0) }
        return bytes
    }

    /// Rows that the drawn lines take at the current width.
    private func height(_ columns: Int) -> Int {
        widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
    }
}

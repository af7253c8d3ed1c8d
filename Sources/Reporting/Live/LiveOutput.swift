internal import TransferModel

/// Where a live part is drawn: the only writer to the terminal while a run goes on.
package protocol LiveOutput: AnyObject {
    /// Columns and rows of the terminal; `nil` where nothing can be drawn, for example while another job has the
    /// terminal.
    var size: (columns: Int, rows: Int)? { get }
    /// Prints `printed`, which scrolls, and draws `lines` below it in the place of the previous ones.
    func show(_ lines: [String], above printed: [UInt8])
}

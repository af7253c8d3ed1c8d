internal import TransferModel

/// Where a live part is drawn: the one owner of a terminal while a run goes on.
package protocol LiveOutput: AnyObject {
    /// The columns and lines of the terminal; `nil` where nothing can be drawn, as while another job has the terminal.
    var size: (columns: Int, rows: Int)? { get }
    /// `printed` scrolls, and `lines` stand below it in the place of those before.
    func show(_ lines: [String], above printed: [UInt8])
}

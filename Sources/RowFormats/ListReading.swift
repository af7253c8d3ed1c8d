import Codecs
import TextFormats
package import TransferModel

/// Reads a list that a task brought: unpacks it if its first bytes say that it is packed (gzip, xz, zstd), and parses
/// it as it comes. Faults name the task.
package final class ListReading {
    private let list: RowList
    private let page: String
    private let decoder: Decoder
    private var reader: RowReader

    /// `page`: URL that the task's answer came from.
    package init(_ list: RowList, page: String) throws(TransferError) {
        (self.list, self.page) = (list, page)
        decoder = try Decoder([.file])
        reader = RowReader(list.format, fields: list.fields, page: try? ResourceURL.parse(page))
    }

    /// Takes the next bytes of the file or body.
    package func take(_ bytes: UnsafeRawBufferPointer) throws(TransferError) {
        try named { () throws(TransferError) in
            try decoder.decode(bytes) { piece throws(TransferError) in try pass(piece) }
        }
    }

    /// Returns the rows once all bytes came, as a list that a task of the name `RowList.key` has captured.
    package func finish() throws(TransferError) -> CapturedValue {
        try named { () throws(TransferError) in
            try decoder.finish { piece throws(TransferError) in try pass(piece) }
        }
        do throws(RowProblem) {
            var rows = CapturedValue(name: RowList.name, text: "", value: .list(try reader.finish().rows))
            if !page.isEmpty { rows.answers = [.init(url: page)] }
            return rows
        } catch {
            throw failure(error)
        }
    }

    /// Reads a list that is in memory.
    package static func rows(
        _ list: RowList, _ bytes: [UInt8], page: String
    ) throws(TransferError) -> CapturedValue {
        let reading = try ListReading(list, page: page)
        try bytes.withUnsafeBytes { all in
            Result { () throws(TransferError) in
                // A body is unpacked and parsed in pieces, like a file.
                var place = 0
                while place < all.count {
                    let end = min(place + (1 << 20), all.count)
                    try reading.take(UnsafeRawBufferPointer(rebasing: all[place..<end]))
                    place = end
                }
            }
        }.get()
        return try reading.finish()
    }

    private func pass(_ piece: UnsafeRawBufferPointer) throws(TransferError) {
        do throws(RowProblem) { try reader.take(Array(piece)) } catch { throw failure(error) }
    }

    private func failure(_ problem: RowProblem) -> TransferError {
        let place = problem.line > 0 ? ", line \(problem.line)" : ""
        return TransferError(.expansionFailed, "what `\(list.task)` brought\(place): \(problem.message)")
    }

    /// Gives faults of the unpacking the name of this one.
    private func named(_ work: () throws(TransferError) -> Void) throws(TransferError) {
        do throws(TransferError) {
            try work()
        } catch {
            if error.name == .expansionFailed { throw error }
            throw TransferError(.expansionFailed, "what `\(list.task)` brought: \(error.message)")
        }
    }
}

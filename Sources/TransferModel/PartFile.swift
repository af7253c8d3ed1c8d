/// The partial file of an unfinished download: enough to find it in a later run and to recognise it.
package struct PartFile: Hashable, Sendable {
    /// The file's name, in the folder of the download's destination.
    package var name: String
    /// How many of its bytes count, from the beginning; what lies behind them may be anything.
    package var size: Int64
    /// Checksum of these bytes, as `QuickSum` makes it.
    package var sum: [UInt8]

    package init(name: String, size: Int64, sum: [UInt8]) {
        self.name = name
        self.size = size
        self.sum = sum
    }

    /// Length in bytes from which a body that is still coming in gets a name, so that a later run finds it after a
    /// crash.
    package static let smallest: Int64 = 1 << 20
    /// Length in bytes from which an unfinished download is kept when its task ends.
    package static let leastLeft: Int64 = 64 << 10
}

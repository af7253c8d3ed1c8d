/// What is there of a download that did not come to its end: enough to find it and to know it again in a later run.
package struct PartFile: Hashable, Sendable {
    /// In the folder of the destination.
    package var name: String
    /// So many of its bytes count; what lies behind them may be anything.
    package var size: Int64
    /// Of these bytes, as `QuickSum` makes it.
    package var sum: [UInt8]

    package init(name: String, size: Int64, sum: [UInt8]) {
        self.name = name
        self.size = size
        self.sum = sum
    }

    /// A shorter one is not worth being kept.
    package static let smallest: Int64 = 1 << 20
}

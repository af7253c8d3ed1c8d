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

    /// While a body comes, a shorter beginning of it is not worth a name of its own.
    package static let smallest: Int64 = 1 << 20
    /// What a task leaves at its end is kept from here on.
    package static let leastLeft: Int64 = 64 << 10
}

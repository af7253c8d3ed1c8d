import Synchronization
import SystemIO
import TransferModel

/// `.transfer-run-<run>-<n>`: short whatever the final name is, and telling whose it is.
final class TemporaryNames: Sendable {
    static let prefix = ".transfer-run-"
    let run: String
    private let count = Atomic<Int>(0)
    init(run: String) { self.run = run }
    func next() -> String {
        "\(Self.prefix)\(run)-\(count.add(1, ordering: .relaxed).newValue)"
    }

    // MARK: Names that were found

    /// The run in a name of our very form, which is all that a sweep may take for ours; `owner` is what the name begins with
    /// before that, `mark` what it ends with.
    static func run(in name: RawName, of owner: String = "", mark: String? = nil) -> String? {
        let start = Array("\(owner)\(prefix)".utf8)
        let end = Array((mark.map { "-\($0)" } ?? "").utf8)
        let bytes = Array(name.bytes)
        guard bytes.starts(with: start), bytes.count > start.count + end.count, bytes.suffix(end.count) == end[...]
        else {
            return nil
        }
        let middle = bytes[start.count..<(bytes.count - end.count)]
        let parts = middle.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == RunLabel.length, parts[0].allSatisfy(RunLabel.isDigit),
            (1...19).contains(parts[1].count), parts[1].first != UInt8(ascii: "0"),
            parts[1].allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
        else { return nil }
        return String(decoding: parts[0], as: UTF8.self)
    }
}

/// What the names of a run's files under way call it: the run, and then the folder of whoever knows what of it is to stay.
/// Always of one length, so that no name of somebody else's looks like one.
package enum RunLabel {
    static let length = 13
    private static let stateLength = 5

    /// `state` is the folder of what is kept from run to run.
    package static func text(_ run: String, state: String?) -> String {
        fixed(run, length - stateLength) + (state.map { mark($0, stateLength) } ?? fixed("", stateLength))
    }

    /// Of a run that the same folder knows of.
    static func haveOneState(_ one: String, _ other: String) -> Bool {
        one.utf8.count == length && one.suffix(stateLength) == other.suffix(stateLength)
            && one.suffix(stateLength) != fixed("", stateLength)
    }

    /// A short text for a long one. Two that share it by chance are as unlikely as two runs of one number.
    static func mark(_ text: String, _ length: Int = length) -> String {
        // FNV-1a: the same in every process.
        var state: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
        // Its last bits alone would depend on the last bits of the text alone.
        return fixed(String(state ^ state >> 32, radix: 36), length)
    }

    private static func fixed(_ text: String, _ length: Int) -> String {
        String(repeating: "0", count: max(0, length - text.utf8.count)) + text.suffix(length)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
    }
}

import Synchronization
import SystemIO
import TransferModel

/// Names of files under way, `.transfer-run-<run>-<n>`: short whatever the final name is, and telling whose they are.
final class TemporaryNames: Sendable {
    static let prefix = ".transfer-run-"
    let run: String
    private let count = Atomic<Int>(0)
    init(run: String) { self.run = run }
    func next() -> String {
        "\(Self.prefix)\(run)-\(count.add(1, ordering: .relaxed).newValue)"
    }

    // MARK: Names that were found

    /// Returns the run in a name of exactly this form, the only one that a sweep may remove; `nil` for other names.
    /// `owner` is the text before it, `mark` the text after it.
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

/// The label of a run in the names of its files under way: the run, followed by a mark of the state folder, which knows
/// what is to stay. Its length is fixed, so that other names do not look like one.
package enum RunLabel {
    static let length = 13
    private static let stateLength = 5

    /// Returns the label; `state` is the state folder, if there is one.
    package static func text(_ run: String, state: String?) -> String {
        fixed(run, length - stateLength) + (state.map { mark($0, stateLength) } ?? fixed("", stateLength))
    }

    /// Returns whether both labels are of runs with the same state folder.
    static func haveOneState(_ one: String, _ other: String) -> Bool {
        one.utf8.count == length && one.suffix(stateLength) == other.suffix(stateLength)
            && one.suffix(stateLength) != fixed("", stateLength)
    }

    /// Returns a short text for a long one. Two texts with the same mark are as unlikely as two runs of one number.
    static func mark(_ text: String, _ length: Int = length) -> String {
        // FNV-1a: the same in every process.
        var state: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
        // Without the shift the last digits would depend on the last bits of the text alone.
        return fixed(String(state ^ state >> 32, radix: 36), length)
    }

    private static func fixed(_ text: String, _ length: Int) -> String {
        String(repeating: "0", count: max(0, length - text.utf8.count)) + text.suffix(length)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
    }
}

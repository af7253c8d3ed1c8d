internal import CTestShims
import SystemIO

/// Where the calling thread runs.
package enum Processors {
    /// Those that it may use.
    package static var allowed: Set<Int> {
        let bits = tr_test_processors()
        return Set((0..<64).filter { bits >> $0 & 1 == 1 })
    }

    package static func allow(only number: Int) { tr_test_use_processors(1 << UInt(number)) }

    /// The one that it is on: the 39th value of a line whose second may hold spaces.
    package static var current: Int? {
        guard let bytes = try? WholeFile.read("/proc/thread-self/stat", limit: 4096) else { return nil }
        let values = String(decoding: bytes, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
        return values.count > 36 ? Int(values[36]) : nil
    }
}

import SystemIO

extension Stages {
    /// The one copy that a body's bytes make, in pieces as libcurl hands them over: by the C library alone, and as it is
    /// done here.
    static func copies() {
        let piece = 16 << 10
        let repeats = 4000
        let source = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * piece, alignment: 4096)
        let target = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * piece, alignment: 4096)
        defer {
            source.deallocate()
            target.deallocate()
        }
        source.initializeMemory(as: UInt8.self, repeating: 1)
        target.initializeMemory(as: UInt8.self, repeating: 2)
        guard let from = source.baseAddress, let to = target.baseAddress else { return }
        print("\nprocessor time of a copy of 16 KiB, by how much further in its page the target stands\n")
        print(Table.pad("", 36) + Table.pad("at once, us", 14, left: true) + Table.pad("in steps, us", 14, left: true))
        for offset in [0, 1, 8, 15, 16, 64, 2048] {
            let atOnce = Measure.cost(per: repeats) { _ in
                for _ in 0..<repeats { (to + offset).copyMemory(from: from, byteCount: piece) }
            }
            let inSteps = Measure.cost(per: repeats) { _ in
                for _ in 0..<repeats {
                    Memory.copy(UnsafeRawBufferPointer(start: from, count: piece), to: to + offset)
                }
            }
            print(
                Table.pad("\(offset) bytes", 36) + Table.pad(Table.number(atOnce.microseconds, 2), 14, left: true)
                    + Table.pad(Table.number(inSteps.microseconds, 2), 14, left: true))
        }
    }
}

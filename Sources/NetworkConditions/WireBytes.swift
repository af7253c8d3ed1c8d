/// The bytes of a netlink message, read without trusting any length in it. Numbers are in the machine's byte order.
struct WireBytes {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var count: Int { bytes.count }

    func byte(_ offset: Int) -> UInt8? { offset < count ? bytes[bytes.startIndex + offset] : nil }

    func number<Number: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: Number.Type = Number.self)
        -> Number?
    {
        let width = MemoryLayout<Number>.size
        guard offset + width <= count else { return nil }
        let start = bytes.startIndex + offset
        return unsafe bytes[start..<start + width].withUnsafeBytes { unsafe $0.loadUnaligned(as: Number.self) }
    }

    /// Returns the bytes after the first `length` bytes.
    func dropping(_ length: Int) -> WireBytes { WireBytes(bytes.dropFirst(length)) }

    /// The text up to the first zero byte; `nil` if it is not UTF-8.
    var text: String? { String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) }

    /// Calls `body` for each attribute: 2 bytes of length that count the 4-byte head, 2 bytes of type, the value, and
    /// padding to a multiple of 4. An attribute with an invalid length ends the list.
    func forEachAttribute(_ body: (_ type: UInt16, _ value: WireBytes) -> Void) {
        var rest = self
        while let length: UInt16 = rest.number(0), let type: UInt16 = rest.number(2) {
            let length = Int(length)
            guard length >= 4, length <= rest.count else { return }
            // The upper two bits are flags for the value's encoding.
            body(type & 0x3FFF, WireBytes(rest.bytes.prefix(length).dropFirst(4)))
            rest = rest.dropping((length + 3) & ~3)
        }
    }
}

/// Builds a netlink message in the machine's byte order.
struct WireMessage {
    private(set) var bytes: [UInt8]

    /// Begins a request: 16 bytes of head, whose length `finished` fills in.
    init(type: UInt16, flags: UInt16, sequence: UInt32) {
        bytes = []
        append(UInt32(0))
        append(type)
        append(flags)
        append(sequence)
        append(UInt32(0))
    }

    mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
        unsafe withUnsafeBytes(of: number) { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func append(zeros count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

    /// Appends an attribute whose value is a multiple of 4 bytes long.
    mutating func attribute(_ type: UInt16, _ value: [UInt8]) {
        append(UInt16(4 + value.count))
        append(type)
        bytes += value
    }

    mutating func attribute(_ type: UInt16, _ value: UInt32) {
        append(UInt16(8))
        append(type)
        append(value)
    }

    var finished: [UInt8] {
        var whole = bytes
        unsafe withUnsafeBytes(of: UInt32(bytes.count)) { unsafe whole.replaceSubrange(0..<4, with: $0) }
        return whole
    }
}

internal import TransferModel

/// One column of a table in the page's data, as JSON: `[1,2,3]`, or a single value if all are equal.
struct PageColumn {
    private(set) var bytes: [UInt8] = []
    private(set) var count = 0
    /// The value of all numbers, while they are equal; else `nil`.
    private var uniform: Int64?

    mutating func add(_ number: Int64) {
        begin(number)
        Self.append(number, to: &bytes)
    }

    mutating func add(_ number: Int) { add(Int64(number)) }

    /// Adds tenths of milliseconds, written as milliseconds with at most one decimal.
    mutating func add(tenths: Int64) {
        begin(tenths)
        Self.append(tenths: tenths, to: &bytes)
    }

    mutating func add(text: String) {
        begin(nil)
        PageText.append(json: text, to: &bytes)
    }

    /// Adds the JSON value that `write` appends.
    mutating func add(_ write: (inout [UInt8]) -> Void) {
        begin(nil)
        write(&bytes)
    }

    private mutating func begin(_ number: Int64?) {
        if count > 0 { bytes.append(UInt8(ascii: ",")) }
        if count == 0 { uniform = number } else if uniform != number { uniform = nil }
        count += 1
    }

    func write(to output: inout [UInt8]) {
        if uniform != nil, count > 1, let end = bytes.firstIndex(of: UInt8(ascii: ",")) {
            output += bytes[..<end]
        } else {
            output.append(UInt8(ascii: "["))
            output += bytes
            output.append(UInt8(ascii: "]"))
        }
    }

    static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        var value = number.magnitude
        let start = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(value % 10))
            value /= 10
        } while value > 0
        bytes[start...].reverse()
    }

    static func append(tenths: Int64, to bytes: inout [UInt8]) {
        if tenths < 0 { bytes.append(UInt8(ascii: "-")) }
        append(Int64(tenths.magnitude / 10), to: &bytes)
        let rest = tenths.magnitude % 10
        guard rest > 0 else { return }
        bytes.append(UInt8(ascii: "."))
        bytes.append(UInt8(ascii: "0") + UInt8(rest))
    }
}

/// Texts that are written once and referred to by number in the columns. The empty text is number 0.
struct SharedTexts {
    private var numbers: [ExactText: Int] = [ExactText(""): 0]
    private(set) var column = PageColumn()

    init() { column.add(text: "") }

    mutating func number(of text: String?) -> Int {
        guard let text, !text.isEmpty else { return 0 }
        let next = numbers.count
        let number = numbers[ExactText(text), default: next]
        if number == next {
            numbers[ExactText(text)] = next
            column.add(text: text)
        }
        return number
    }
}

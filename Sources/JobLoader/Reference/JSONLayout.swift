/// Breaks compact JSON into indented lines.
enum JSONLayout {
    static func indented(_ compact: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(compact.count * 2)
        var depth = 0
        var isInString = false
        var isEscaped = false
        func newLine() {
            result.append(0x0A)
            for _ in 0..<depth { result += [0x20, 0x20] }
        }
        for (index, byte) in compact.enumerated() {
            if isInString {
                result.append(byte)
                if byte == UInt8(ascii: "\""), !isEscaped { isInString = false }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                continue
            }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                result.append(byte)
                let isEmpty = index + 1 < compact.count && compact[index + 1] == byte + 2
                depth += 1
                if !isEmpty { newLine() }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if compact[index - 1] != byte - 2 { newLine() }
                result.append(byte)
            case UInt8(ascii: ","):
                result.append(byte)
                newLine()
            case UInt8(ascii: ":"): result += [byte, 0x20]
            default:
                if byte == UInt8(ascii: "\"") { isInString = true }
                result.append(byte)
            }
        }
        result.append(0x0A)
        return result
    }
}

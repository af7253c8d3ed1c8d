/// Resolves an unquoted word by YAML 1.2.2, section 10.3.2.
enum CoreSchema {
    static let prefix = "tag:yaml.org,2002:"

    static func resolve(_ text: UnsafeBufferPointer<UInt8>) -> YAMLTree.Scalar {
        guard let first = unsafe text.first else { return .null }
        switch first {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            return unsafe number(text) ?? .string
        case UInt8(ascii: "~"): return text.count == 1 ? .null : .string
        case UInt8(ascii: "n"), UInt8(ascii: "N"): return unsafe isWord(text, "null", "Null", "NULL") ? .null : .string
        case UInt8(ascii: "t"), UInt8(ascii: "T"):
            return unsafe isWord(text, "true", "True", "TRUE") ? .boolean(true) : .string
        case UInt8(ascii: "f"), UInt8(ascii: "F"):
            return unsafe isWord(text, "false", "False", "FALSE") ? .boolean(false) : .string
        default: return .string
        }
    }

    static func isYAML11Boolean(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe isWord(text, "yes", "Yes", "YES") || isWord(text, "no", "No", "NO") || isWord(text, "on", "On", "ON")
            || isWord(text, "off", "Off", "OFF") || isWord(text, "y", "Y", "Y") || isWord(text, "n", "N", "N")
    }

    static func looksOctal(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count > 1, unsafe text[0] == UInt8(ascii: "0") else { return false }
        return unsafe text.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "7") }
    }

    private static func isWord(
        _ text: UnsafeBufferPointer<UInt8>, _ lower: StaticString, _ title: StaticString, _ upper: StaticString
    ) -> Bool {
        unsafe equals(text, lower) || equals(text, title) || equals(text, upper)
    }

    private static func equals(_ text: UnsafeBufferPointer<UInt8>, _ word: StaticString) -> Bool {
        guard text.count == word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { unsafe text.elementsEqual($0) }
    }

    // MARK: Numbers

    private static func number(_ text: UnsafeBufferPointer<UInt8>) -> YAMLTree.Scalar? {
        if text.count > 2, unsafe text[0] == UInt8(ascii: "0") {
            if unsafe text[1] == UInt8(ascii: "o") { return unsafe integer(text, from: 2, radix: 8, isNegative: false) }
            if unsafe text[1] == UInt8(ascii: "x") {
                return unsafe integer(text, from: 2, radix: 16, isNegative: false)
            }
        }
        let isNegative = unsafe text[0] == UInt8(ascii: "-")
        let start = unsafe isNegative || text[0] == UInt8(ascii: "+") ? 1 : 0
        if let integer = unsafe integer(text, from: start, radix: 10, isNegative: isNegative) { return integer }
        return unsafe float(text, from: start, isNegative: isNegative)
    }

    /// `nil` where a byte is no digit; a float where 64 bits are too few.
    private static func integer(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int, radix: UInt8, isNegative: Bool
    ) -> YAMLTree.Scalar? {
        guard start < text.count else { return nil }
        var value: Int64 = 0
        var approximate = 0.0
        var overflows = false
        for index in start..<text.count {
            guard let digit = unsafe digit(text[index]), digit < radix else { return nil }
            let (scaled, tooLarge) = value.multipliedReportingOverflow(by: Int64(radix))
            let (sum, stillTooLarge) =
                isNegative
                ? scaled.subtractingReportingOverflow(Int64(digit)) : scaled.addingReportingOverflow(Int64(digit))
            overflows = overflows || tooLarge || stillTooLarge
            value = sum
            approximate = approximate * Double(radix) + Double(digit)
        }
        guard overflows else { return .integer(value) }
        if radix == 10, let exact = unsafe Double(String(decoding: text, as: UTF8.self)) { return .float(exact) }
        return .float(isNegative ? -approximate : approximate)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`, infinities, and NaN without a sign.
    private static func float(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int, isNegative: Bool
    ) -> YAMLTree.Scalar? {
        let rest = unsafe UnsafeBufferPointer(rebasing: text[start...])
        if unsafe isWord(rest, ".inf", ".Inf", ".INF") { return .float(isNegative ? -.infinity : .infinity) }
        if start == 0, unsafe isWord(text, ".nan", ".NaN", ".NAN") { return .float(.nan) }
        var index = start
        let whole = unsafe skipDigits(text, &index)
        var fraction = 0
        if index < text.count, unsafe text[index] == UInt8(ascii: ".") {
            index += 1
            fraction = unsafe skipDigits(text, &index)
        }
        guard whole + fraction > 0 else { return nil }
        if index < text.count, unsafe text[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < text.count, unsafe text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-") {
                index += 1
            }
            guard unsafe skipDigits(text, &index) > 0 else { return nil }
        }
        guard index == text.count else { return nil }
        return unsafe Double(String(decoding: text, as: UTF8.self)).map { .float($0) }
    }

    private static func skipDigits(_ text: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> Int {
        let start = index
        while index < text.count, unsafe text[index] >= UInt8(ascii: "0"), unsafe text[index] <= UInt8(ascii: "9") {
            index += 1
        }
        return index - start
    }
}

extension CoreSchema {
    /// The tags that the core schema knows.
    enum Tag: String {
        case string = "str"
        case integer = "int"
        case float = "float"
        case boolean = "bool"
        case null = "null"
        case mapping = "map"
        case sequence = "seq"
        /// `!` alone: the scalar is a string, whatever it looks like.
        case nonSpecific = "!"

        init?(_ tag: String) {
            if tag == "!" {
                self = .nonSpecific
            } else if tag.hasPrefix(CoreSchema.prefix) {
                self.init(rawValue: String(tag.dropFirst(CoreSchema.prefix.count)))
            } else {
                return nil
            }
        }

        var shorthand: String { self == .nonSpecific ? "!" : "!!" + rawValue }

        func fits(_ form: NodeRecord.Form, text: [UInt8]) -> Bool {
            switch self {
            case .nonSpecific: return true
            case .mapping: return form == .mapping
            case .sequence: return form == .sequence
            case .string: return form == .scalar
            case .integer, .float, .boolean, .null: break
            }
            guard form == .scalar else { return false }
            switch (self, unsafe text.withUnsafeBufferPointer({ unsafe CoreSchema.resolve($0) })) {
            case (.integer, .integer), (.float, .float), (.float, .integer), (.boolean, .boolean), (.null, .null):
                return true
            default: return false
            }
        }
    }
}

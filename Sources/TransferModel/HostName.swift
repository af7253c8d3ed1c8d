internal import CLibIDN2
internal import Glibc

/// Host names in the form that is compared and sent: lower case and ASCII; a trailing dot is kept.
package enum HostName {
    /// Returns the ASCII form of a name (IDNA 2008, non-transitional), or `nil` when it is no host name.
    ///
    /// A name whose last label is a number must be a dotted-quad address. A C library would read `0x7f.1` as 127.0.0.1
    /// while a rule compares it as a name, so it is refused.
    package static func ascii(_ name: String) -> String? {
        let utf8 = name.utf8
        guard !utf8.isEmpty, utf8.count <= 1024 else { return nil }
        var result = ""
        if utf8.allSatisfy({ isPlain($0) }) {
            result = utf8.contains { $0 >= 0x41 && $0 <= 0x5A } ? name.lowercased() : name
            if holdsPunycode(utf8), punycoded(result) == nil { return nil }
        } else {
            // The mapping turns some characters into `/`, `:` or `@`, which would end the host or begin another.
            guard utf8.allSatisfy({ $0 >= 0x80 || isPlain($0) }), let encoded = punycoded(name),
                encoded.utf8.allSatisfy({ isPlain($0) })
            else { return nil }
            result = encoded
        }
        return isWellFormed(result) ? result : nil
    }

    /// Returns an IPv6 address in brackets in its shortest form, so that two spellings are one host; `nil` when it is
    /// none, or names an interface.
    package static func ipv6(_ bracketed: some StringProtocol) -> String? {
        guard bracketed.utf8.count <= 48, bracketed.hasPrefix("["), bracketed.hasSuffix("]") else { return nil }
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(bracketed.dropFirst().dropLast()), &address) == 1 else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil else { return nil }
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return "[\(String(decoding: bytes, as: UTF8.self))]"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Decides whether a label may be Punycode. Searched by hand: every URL comes through here, and `contains` of a
    /// string builds tables.
    private static func holdsPunycode(_ name: String.UTF8View) -> Bool {
        let prefix: StaticString = "xn--"
        var matched = 0
        for byte in name {
            let lower = byte | 0x20
            if lower == prefix.utf8Start[matched] {
                matched += 1
                if matched == 4 { return true }
            } else {
                matched = lower == prefix.utf8Start[0] ? 1 : 0
            }
        }
        return false
    }

    private static func punycoded(_ name: String) -> String? {
        var output: UnsafeMutablePointer<CChar>?
        guard transfer_run_idn2_to_ascii(name, &output) == 0, let output else { return nil }
        defer { transfer_run_idn2_free(output) }
        return String(cString: output).lowercased()
    }

    private static func isWellFormed(_ name: String) -> Bool {
        let dot = UInt8(ascii: ".")
        guard !name.isEmpty, name.utf8.count <= 254 else { return false }
        var length = 0
        for byte in name.utf8 {
            if byte == dot, length == 0 { return false }
            length = byte == dot ? 0 : length + 1
            if length > 63 { return false }
        }
        let bare = name.utf8.last == dot ? name.utf8.dropLast() : name.utf8[...]
        let last = bare.lastIndex(of: dot).map { bare[bare.index(after: $0)...] } ?? bare
        return isNumber(last) ? isDottedQuad(name) : true
    }

    private static func isNumber(_ label: Substring.UTF8View.SubSequence) -> Bool {
        if label.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) { return true }
        guard label.count >= 2, label.first == 0x30, let second = label.dropFirst().first, second | 0x20 == 0x78
        else { return false }
        return label.dropFirst(2).allSatisfy {
            ($0 >= 0x30 && $0 <= 0x39) || ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x66)
        }
    }

    private static func isDottedQuad(_ name: String) -> Bool {
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count == 4 else { return false }
        return labels.allSatisfy { label in
            guard label.count <= 3, label.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
                label.count == 1 || label.first != 0x30, let number = Int(Substring(label))
            else { return false }
            return number <= 255
        }
    }
}

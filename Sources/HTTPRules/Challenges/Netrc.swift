import TransferModel

/// A `.netrc` file as curl reads it: machines with a login and a password each, and one for all others.
///
/// Words are separated by blanks; a quoted word may contain blanks, and `\n`, `\r`, `\t` and any other character after
/// a backslash. A word that begins with `#` starts a comment up to the end of the line. A `macdef` goes to the next
/// empty line.
package struct Netrc: Sendable {
    /// The login of one machine.
    struct Entry: Hashable, Sendable {
        /// Host name in lower case; `nil` for `default`.
        let machine: String?
        var login: String?
        var password: String?
    }
    /// Length in bytes of the longest file that is read.
    package static let longest = 1 << 20
    private(set) var entries: [Entry] = []

    /// `nil` for a file that is no text or that curl would reject: then no entry counts.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.longest, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self)
        else {
            return nil
        }
        var words = NetrcWords(text)
        while let word = words.next() {
            switch word {
            case "machine":
                guard let name = words.next() else { return nil }
                entries.append(Entry(machine: name.lowercased()))
            case "default": entries.append(Entry(machine: nil))
            case "login": entries.setLast(\.login, words.next())
            case "password": entries.setLast(\.password, words.next())
            case "account": _ = words.next()
            case "macdef": words.skipMacro()
            default: break
            }
        }
        if words.isBroken { return nil }
    }

    /// Returns the first entry for that host, whatever port, path and scheme. `user` restricts it to entries for that
    /// user.
    package func secret(for host: String, user: String? = nil) -> ShownSecret? {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        let names = [host.lowercased(), bare.lowercased()]
        let named = entries.filter { $0.machine.map { names.contains($0) } ?? false }
        let chosen = (named + entries.filter { $0.machine == nil }).first { entry in
            entry.password != nil && (user == nil || entry.login == nil || entry.login.isExactly(user))
        }
        guard let chosen, let password = chosen.password else { return nil }
        return .found(user: chosen.login ?? user ?? "", password: password)
    }
}

extension [Netrc.Entry] {
    /// Sets a value of the last entry; values before any machine are ignored.
    fileprivate mutating func setLast(_ key: WritableKeyPath<Netrc.Entry, String?>, _ value: String?) {
        guard let last = indices.last else { return }
        self[last][keyPath: key] = value
    }
}

private struct NetrcWords {
    private let bytes: [UInt8]
    private var place = 0
    /// Whether a quoted word has no end.
    private(set) var isBroken = false

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func next() -> String? {
        while true {
            while place < bytes.count, Self.isBlank(bytes[place]) { place += 1 }
            guard place < bytes.count else { return nil }
            guard bytes[place] == UInt8(ascii: "#") else { break }
            while place < bytes.count, bytes[place] != 0x0A { place += 1 }
        }
        return bytes[place] == UInt8(ascii: "\"") ? quoted() : plain()
    }

    private mutating func plain() -> String {
        let start = place
        while place < bytes.count, !Self.isBlank(bytes[place]) { place += 1 }
        return String(decoding: bytes[start..<place], as: UTF8.self)
    }

    private mutating func quoted() -> String? {
        place += 1
        var word: [UInt8] = []
        while place < bytes.count, bytes[place] != 0x0A {
            let byte = bytes[place]
            place += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: word, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\"), place < bytes.count else {
                word.append(byte)
                continue
            }
            switch bytes[place] {
            case UInt8(ascii: "n"): word.append(0x0A)
            case UInt8(ascii: "r"): word.append(0x0D)
            case UInt8(ascii: "t"): word.append(0x09)
            case let other: word.append(other)
            }
            place += 1
        }
        isBroken = true
        place = bytes.count
        return nil
    }

    mutating func skipMacro() {
        var lineIsEmpty = false
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            if byte == 0x0A {
                if lineIsEmpty { return }
                lineIsEmpty = true
            } else if byte != 0x0D {
                lineIsEmpty = false
            }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

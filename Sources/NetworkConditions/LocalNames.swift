import Glibc
import SystemIO
package import TransferModel

/// Host names that lead to this machine without any network.
package struct LocalNames: Sendable {
    private let listed: Set<String>

    /// `hosts` is the text of `/etc/hosts`.
    package init(hosts: String) {
        var (local, elsewhere): (Set<String>, Set<String>) = ([], [])
        for line in hosts.split(whereSeparator: \.isNewline) {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
            guard let address = words.first.flatMap({ Self.address(String($0)) }) else { continue }
            for name in words.dropFirst() {
                if address.isLoopback { local.insert(Self.folded(name)) } else { elsewhere.insert(Self.folded(name)) }
            }
        }
        listed = local.subtracting(elsewhere)
    }

    /// Reads the names from `/etc/hosts` of this machine.
    package static func ofThisMachine(_ path: String = "/etc/hosts") -> LocalNames {
        let bytes = (try? WholeFile.read(path, limit: 16 << 20)) ?? []
        return LocalNames(hosts: String(decoding: bytes, as: UTF8.self))
    }

    /// Returns whether `host`, as it stands in a URL, with or without the brackets of an IPv6 address, leads to this
    /// machine.
    package func contains(_ host: String) -> Bool {
        if let address = Self.literal(host) { return address.isLoopback }
        let name = Self.folded(host)
        return name == "localhost" || name.hasSuffix(".localhost") || listed.contains(name)
    }

    /// Returns the address if a URL's host is an address; `nil` if it is a name.
    package static func literal(_ host: String) -> NetworkAddress? {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        return address(isBracketed ? String(host.dropFirst().dropLast()) : host)
    }

    private static func folded(_ name: some StringProtocol) -> String {
        let lower = name.lowercased()
        return lower.hasSuffix(".") && lower.utf8.count > 1 ? String(lower.dropLast()) : lower
    }

    private static func address(_ text: String) -> NetworkAddress? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, text, &bytes) == 1 { return NetworkAddress(bytes) }
        }
        return nil
    }
}

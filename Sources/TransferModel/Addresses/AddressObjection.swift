/// Why a connection to an address is refused.
package struct AddressObjection: Hashable, Sendable {
    /// The refused place.
    package enum Place: Hashable, Sendable {
        case address(NetworkAddress)
        /// Absolute path of a Unix socket.
        case socket(String)
    }
    /// What refuses it.
    package enum Cause: Hashable, Sendable {
        /// A rule denies it.
        case rule(AddressRules.Denial, AddressRules.Owner)
        /// A server of the public Internet led there, and `redirects.toPrivate` does not allow that.
        case ledFromPublic
    }
    /// The refused place.
    package let place: Place
    /// What refuses it.
    package let cause: Cause

    /// Part of the message about a place that a public server must not lead to.
    package static let ledWords = "a public server must not lead there (`redirects.toPrivate`)"

    /// Returns the error of a request that did not connect to the place. It is final: the same request would end the same.
    ///
    /// - Parameter host: the host that has the address as people know it, `the proxy p.test` or `a.test`.
    package func error(at host: String, beginning: String = "") -> TransferError {
        let refusal =
            switch cause {
            case .rule(let denial, let owner): Self.words(denial, owner)
            case .ledFromPublic: Self.ledWords
            }
        let name: ErrorName = cause == .ledFromPublic ? .redirectRefused : .addressRefused
        return TransferError(name, "\(beginning)\(placeWords(host)): \(refusal)")
    }

    private func placeWords(_ host: String) -> String {
        switch place {
        case .socket(let path): return "the Unix socket \(path) is a place of this machine"
        case .address(let address):
            let text = "\(address)"
            let inner = address.inner.map { ", which is for \($0)" } ?? ""
            let kind = AddressClass.of(address).map { ", \($0.words)" } ?? ""
            let isAddress = host == text || host == "[\(text)]"
            return isAddress
                ? "\(text)\(inner) is\(kind.isEmpty ? " there" : kind.dropFirst(1).description)"
                : "\(host) is at \(text)\(inner)\(kind)"
        }
    }

    private static func words(_ denial: AddressRules.Denial, _ owner: AddressRules.Owner) -> String {
        let place = denial.place.map { " in \($0)" } ?? ""
        return "\(owner.words) refuses `\(denial.entry)`\(place)"
    }
}

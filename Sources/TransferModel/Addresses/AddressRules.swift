/// One set of rules about the addresses that connections may be made to: the `addresses` of a session, or what an operator
/// imposes beside it. An address that `deny` names is refused unless `allow` names it, too.
package struct AddressRules: Hashable, Sendable {
    /// One entry of `deny` or `allow`.
    package enum Entry: Hashable, Sendable, CustomStringConvertible {
        /// All addresses of a class.
        case all(AddressClass)
        /// A range of addresses.
        case range(AddressRange)

        /// Whether the entry names the address.
        package func names(_ address: NetworkAddress) -> Bool {
            switch self {
            case .all(let kind): kind.contains(address)
            case .range(let range): range.contains(address)
            }
        }

        /// Whether the entry names the services of this machine, as Unix sockets are.
        var namesThisMachine: Bool { self == .all(.loopback) }

        /// The entry as the job file has it.
        package var description: String {
            switch self {
            case .all(let kind): kind.rawValue
            case .range(let range): range.description
            }
        }
    }

    /// An entry of `deny`, with its place.
    package struct Denial: Hashable, Sendable {
        /// What is refused.
        package let entry: Entry
        /// File and line of the entry, as messages name them; `nil` where it is not written in a file.
        package let place: String?
        package init(_ entry: Entry, place: String? = nil) {
            self.entry = entry
            self.place = place
        }
    }

    /// Who made the rules, which is what a message about them names.
    package enum Owner: Hashable, Sendable {
        /// The job, by `addresses` of its session.
        case session
        /// The command line, by `--confine`.
        case confinement
        /// The file of `--policy`.
        case policy

        /// The rules as messages name them.
        package var words: String {
            switch self {
            case .session: "`addresses.deny`"
            case .confinement: "`--confine`"
            case .policy: "the policy"
            }
        }
    }

    /// Who made the rules.
    package var owner = Owner.session
    /// The addresses that are refused.
    package var deny: [Denial] = []
    /// The addresses that are not refused after all.
    package var allow: [Entry] = []

    package init() {}

    /// Makes rules of an operator's.
    package init(owner: Owner, deny: [Denial], allow: [Entry]) {
        self.owner = owner
        self.deny = deny
        self.allow = allow
    }

    /// Returns why the rules refuse a connection to the address; `nil` where they do not.
    package func objection(to address: NetworkAddress) -> AddressObjection? {
        guard let denial = deny.first(where: { $0.entry.names(address) }), !allow.contains(where: { $0.names(address) })
        else { return nil }
        return AddressObjection(place: .address(address), cause: .rule(denial, owner))
    }

    /// Returns why the rules refuse a connection to a Unix socket; `nil` where they do not. A Unix socket is this
    /// machine's: it is refused where `loopback` is, and allowed where the whole class is.
    package func objection(toSocket path: String) -> AddressObjection? {
        guard let denial = deny.first(where: \.entry.namesThisMachine), !allow.contains(where: \.namesThisMachine)
        else { return nil }
        return AddressObjection(place: .socket(path), cause: .rule(denial, owner))
    }
}

/// What decides about the addresses of one request's connections: the rules of its session, and where it was led from.
package struct AddressLimits: Hashable, Sendable {
    /// The sets of rules, each of which must agree.
    package let rules: [AddressRules]
    /// Whether a server of the public Internet led to the request, and must not lead inside.
    package let isLedFromPublic: Bool

    /// `nil` where there is nothing to decide, so that a connection costs nothing.
    package init?(_ rules: [AddressRules], isLedFromPublic: Bool) {
        if rules.isEmpty, !isLedFromPublic { return nil }
        self.rules = rules
        self.isLedFromPublic = isLedFromPublic
    }

    /// Returns why a connection to the address is refused; `nil` where it is not.
    package func objection(to address: NetworkAddress) -> AddressObjection? {
        for rules in rules {
            if let objection = rules.objection(to: address) { return objection }
        }
        guard isLedFromPublic, AddressClass.of(address)?.isInside == true else { return nil }
        return AddressObjection(place: .address(address), cause: .ledFromPublic)
    }

    /// Returns why a connection to the Unix socket is refused; `nil` where it is not. A redirect leads to no socket: the
    /// session has all its requests go there.
    package func objection(toSocket path: String) -> AddressObjection? {
        rules.lazy.compactMap { $0.objection(toSocket: path) }.first
    }
}

extension AddressRules {
    /// The rules of a confined run: no address that is not of the public Internet, but those in `allowed`.
    package static func confinement(allowing allowed: [AddressRange]) -> AddressRules {
        AddressRules(
            owner: .confinement, deny: AddressClass.allCases.map { Denial(.all($0)) },
            allow: allowed.map { .range($0) })
    }
}

extension Job {
    /// Refuses, in every session, connections to all addresses that are not of the public Internet, but to those in
    /// `allowed`. What the job itself allows does not loosen that.
    package mutating func deny(everythingPrivateBut allowed: [AddressRange]) {
        let rules = AddressRules.confinement(allowing: allowed)
        for place in sessions.indices { sessions[place].imposedAddresses.append(rules) }
    }
}

extension SessionConfiguration {
    /// All sets of rules about addresses that hold for the session's connections.
    package var addressRules: [AddressRules] {
        ([addresses] + imposedAddresses + [policy?.addresses].compactMap(\.self)).filter { !$0.deny.isEmpty }
    }
}

package import TransferModel

/// The room of a job that somebody else wrote (`--confine`): what of the things that a job may do is refused, and by which
/// rule. The rules are about the text of the job; links that lead out of the folder are found where a path is opened.
package struct JobRoom: Hashable, Sendable {
    /// Why something is refused.
    package enum Rule: String, Sendable {
        /// A command does what it wants.
        case commands
        /// The path is not in the folder.
        case folder
        /// What belongs to the person who runs the job, wherever it is kept.
        case person
        case environment
        /// What listens at the address trusts who is inside.
        case addresses
        /// Services of this machine trust who may open their socket.
        case sockets
        /// Another process, which is not confined, would carry the session out.
        case background
    }

    /// The code of the diagnostics about what is refused.
    package static let code = "confined"

    /// Path of the folder, as it was named and made absolute.
    package let folder: String
    /// Path of the folder without links.
    private let resolved: String
    /// Variables of the environment that the job may read.
    private let variables: Set<String>
    /// Addresses that are not of the public Internet and that the job may connect to.
    private let addresses: [AddressRange]

    /// Takes both paths, which are absolute.
    package init(
        folder: String, resolved: String, variables: Set<String> = [], addresses: [AddressRange] = []
    ) {
        self.addresses = addresses
        self.folder = folder
        self.resolved = resolved
        self.variables = variables
    }

    /// Makes a path absolute that was given with the room.
    package static func absolute(_ path: String, in working: String) -> String { Paths.absolute(path, in: working) }

    /// Whether the absolute path is the folder or lies in it, as it is written.
    package func holds(_ path: String) -> Bool {
        let path = Paths.resolvingDots(path)
        return [folder, resolved].contains { folder in
            let start = folder.utf8.last == UInt8(ascii: "/") ? folder : folder + "/"
            return path.utf8.starts(with: start.utf8) || (path + "/").isExactly(start)
        }
    }

    /// Whether the job may read the variable.
    func allows(variable name: String) -> Bool { variables.contains(name) }

    /// Returns why a thing is refused; `nil` if it is not.
    func refusal(of kind: JobAccess.Kind, _ what: String) -> AccessRefusal? {
        let shown = "`\(Reader.short(what))`"
        switch kind {
        case .command:
            return AccessRefusal(
                rule: .commands, message: "\(shown) would run, and a confined job runs no command", hint: nil)
        case .read, .write, .remove:
            guard what.hasPrefix("/") else {
                return AccessRefusal(
                    rule: .person, message: "a confined job does not use \(what)",
                    hint: "what it logs in with comes from `--secrets-file`")
            }
            guard !holds(what) else { return nil }
            return AccessRefusal(
                rule: .folder, message: "\(shown) is not in `\(folder)`, to which this job is confined",
                hint: kind == .read ? nil : "a relative path begins in the job's folder, or in `--directory DIR`")
        case .environment: return allows(variable: what) ? nil : refusal(ofVariable: what)
        case .socket:
            return AccessRefusal(
                rule: .sockets, message: "a service listens at \(shown), and a confined job asks none of this machine",
                hint: nil)
        case .background:
            return AccessRefusal(
                rule: .background,
                message: "\(shown) would be carried out by another process, which is not confined",
                hint: "`configuration: default` lets this command do it")
        case .host:
            // Where a name leads is known when it is looked up, and judged then.
            guard let address = Self.address(in: what),
                AddressRules.confinement(allowing: addresses).objection(to: address) != nil
            else { return nil }
            return AccessRefusal(
                rule: .addresses,
                message: "\(shown) is not of the public Internet, and not for a confined job",
                hint: "`--allow-address \(address)` lets it connect there")
        case .secret, .key: return nil
        }
    }

    /// The address in `https://[::1]:8443` or `10.0.0.1:80, in place of a.test`, if it is written as one.
    private static func address(in host: String) -> NetworkAddress? {
        var rest = host[...]
        if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...] }
        if rest.first == "[" {
            return rest.firstIndex(of: "]").flatMap { NetworkAddress(literal: rest.dropFirst().prefix(upTo: $0)) }
        }
        return NetworkAddress(literal: rest.prefix { $0 != ":" && $0 != "," && $0 != " " })
    }

    /// Returns why a variable of the environment is not given to the job.
    func refusal(ofVariable name: String) -> AccessRefusal {
        AccessRefusal(
            rule: .environment, message: "the environment's `\(Reader.short(name))` is not for a confined job",
            hint: "`--allow-env \(Reader.short(name))` lets it read this variable")
    }
}

extension AccessRefusal {
    /// What a confined job may not do.
    fileprivate init(rule: JobRoom.Rule, message: String, hint: String?) {
        self.init(code: JobRoom.code, rule: rule.rawValue, place: nil, message: message, hint: hint)
    }
}

import TransferModel

/// The sections of networks.yaml, which is no job file: they are described in docs/networks.md.
extension Sections {
    static let networkMap = Section<NetworkMapDraft>(
        "networks", in: "the map of networks", title: "`networks.yaml`",
        """
        In `$XDG_CONFIG_HOME/transfer-run/networks.yaml` (`~/.config/transfer-run/networks.yaml`) the operator says what \
        this machine's networks are, over all that the system tells. A wrong file is an error with its line and column and \
        exit status 2: it may be what keeps bytes off a network that costs.
        """,
        keys: [
            Key(
                "interfaces", \.entries, .map(.object("interface")), default: "none",
                """
                pattern → what interfaces of such names are. `*` stands for anything, `?` for one character; of several \
                patterns that match a name the first one written counts, and it alone
                """
            ) {
                $1.networkEntries($0)
            }
        ])

    static let networkEntry = Section<NetworkMap.Entry>(
        "interface", in: "an interface", title: "`interfaces`",
        "What is left out is as the system says.",
        keys: [
            .optionalChoice(
                "class", \.networkClass, default: "as the system says",
                """
                what it leads to: `none` is nothing beyond this machine. `cellular` is metered, the others are not, \
                unless `metered` says otherwise
                """),
            Key("metered", \.isMetered, .boolean, default: "as the system says", "its bytes cost money") {
                $1.boolean($0).map { .some($0) }
            },
            Key("constrained", \.isConstrained, .boolean, default: "false", "it is to be spared") {
                $1.boolean($0).map { .some($0) }
            },
        ])

    struct NetworkMapDraft: Blank, Sendable {
        var entries: [NetworkMap.Entry] = []
        static var blank: NetworkMapDraft { NetworkMapDraft() }
    }
}

extension NetworkMap.Entry: Blank { static var blank: NetworkMap.Entry { NetworkMap.Entry(pattern: "") } }

extension Reader {
    func networkEntries(_ node: NodeID) -> [NetworkMap.Entry]? {
        named(node, .map(.object("interface"))).map { name, key, value in
            var entry = NetworkMap.Entry(pattern: name)
            if name.isEmpty || name.contains("/") {
                error(
                    "invalid-value", "`\(Self.short(name))` is no name of an interface, and no pattern of one",
                    hint: "write a name such as `wlp1s0`, or a pattern such as `ww*`", key)
            }
            Sections.networkEntry.decode(value, into: &entry, self)
            return entry
        }
    }
}

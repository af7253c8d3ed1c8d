import TransferModel
import YAMLTree

extension AddressRules: Blank { static var blank: AddressRules { AddressRules() } }

extension Sections {
    /// The keys of a session's `addresses`.
    static let addresses = Section<AddressRules>(
        "addresses", in: "`addresses`",
        """
        Which addresses connections are not made to, whatever led there: a URL, a redirect, a name, `connectTo`, a proxy, the \
        second connection of ftp. What decides is the address that is connected to, and an IPv4 address inside an IPv6 one is \
        the IPv4 address (docs/security.md).
        """,
        keys: [
            Key(
                "deny", \.deny, .list(addressesShape), default: "none",
                """
                classes of addresses, and ranges, that are refused: such a request fails with `addressRefused`, is not tried \
                again, and the next of `urls` is
                """
            ) { RoutingReader(reader: $1).denials($0) },
            Key(
                "allow", \.allow, .list(addressesShape), default: "none",
                "ranges and classes that are not refused although `deny` names them"
            ) { RoutingReader(reader: $1).addresses($0)?.map(\.entry) },
        ])

    /// A class of addresses, or a range.
    static let addressesShape = Shape.either([
        .choice(AddressClass.allCases.map(\.rawValue)),
        .pattern("^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$", words: "a range of addresses such as `10.1.0.0/16`"),
    ])

    /// Keys of a session that say where connections lead.
    static let sessionRouting: [Key<SessionDraft>] = [
        Key(
            "connectTo", over: \.configuration.routing, .map(hostAndPortShape), default: "none",
            """
            a map of `host:port` → `address:port`: where to connect in place of the host, whose name and certificate \
            stay; the address is an IP literal or another name. Without a port on the left it is for all ports of the host, \
            without one on the right the port stays
            """
        ) { RoutingReader(reader: $2).connectTo($1, into: &$0) }.resetting { $0.configuration.routing.detours = [] },
        .choice(
            "addressFamily", \.configuration.routing.addressFamily, default: "any",
            "`ipv4` and `ipv6` connect to such addresses alone, a proxy's too"),
        Key(
            "unixSocket", \.configuration.routing.unixSocket, .path, default: "none",
            """
            a Unix socket that all requests of the session go over, in HTTP/1.1, each on a connection of its own, and \
            past any proxy; its path is relative to the job's folder and has at most 107 bytes when it is absolute
            """
        ) { RoutingReader(reader: $1).socketPath($0).map { .some($0) } },
        Key(
            "addresses", \.configuration.addresses, section: addresses, default: "all are connected to",
            "which addresses connections are not made to"),
    ]

    /// One side of an entry of `connectTo`.
    static let hostAndPortPattern = "^(\\[[0-9A-Fa-f:.]+\\]|[^\\s:/*\\[\\]]+)(:[0-9]{1,5})?$"
    static let hostAndPortShape = Shape.pattern(
        hostAndPortPattern, words: "a host with or without a port, such as `127.0.0.1:8443`")
}

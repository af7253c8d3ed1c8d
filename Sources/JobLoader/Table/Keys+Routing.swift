import TransferModel
import YAMLTree

extension Sections {
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
    ]

    /// One side of an entry of `connectTo`.
    static let hostAndPortPattern = "^(\\[[0-9A-Fa-f:.]+\\]|[^\\s:/*\\[\\]]+)(:[0-9]{1,5})?$"
    static let hostAndPortShape = Shape.pattern(
        hostAndPortPattern, words: "a host with or without a port, such as `127.0.0.1:8443`")
}

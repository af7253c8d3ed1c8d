extension ErrorName {
    /// Whether the host, or the proxy before it, gave no sign of life.
    package var saysNobodyAnswered: Bool {
        switch self {
        case .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
            .cannotFindProxy, .cannotConnectToProxy, .proxyCouldNotConnect:
            true
        default: false
        }
    }

    /// Whether the host accepted the connection and closed it instead of answering. The request itself may be the
    /// cause.
    package var saysHungUp: Bool { self == .networkConnectionLost }

    /// Whether the error may be this machine's network's fault, and not the host's.
    package var mayBeTheNetworks: Bool { saysNobodyAnswered || self == .notConnectedToInternet }
}

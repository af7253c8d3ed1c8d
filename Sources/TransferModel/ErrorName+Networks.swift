extension ErrorName {
    /// The host gave no sign of life.
    package var saysNobodyAnswered: Bool {
        switch self {
        case .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
            .cannotFindProxy, .cannotConnectToProxy, .proxyCouldNotConnect:
            true
        default: false
        }
    }

    /// The host is there: it took the connection, and ended it instead of answering. That may be about what it was asked.
    package var saysHungUp: Bool { self == .networkConnectionLost }

    package var mayBeTheNetworks: Bool { saysNobodyAnswered || self == .notConnectedToInternet }
}

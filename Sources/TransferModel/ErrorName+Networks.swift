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

    package var mayBeTheNetworks: Bool { saysNobodyAnswered || self == .notConnectedToInternet }
}

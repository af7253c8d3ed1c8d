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

    /// Whether the error is one of the connection to a server or of what the server sent, so that its URL belongs to it.
    package var isOfServer: Bool {
        switch self {
        case .httpTooManyRedirects, .redirectRefused, .badServerResponse, .cannotParseResponse, .cannotDecodeRawData,
            .cannotDecodeContentData, .dataLengthExceedsMaximum, .secureConnectionFailed, .serverCertificateHasBadDate,
            .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
            .serverCertificateWrongHost, .serverKeyNotPinned, .clientCertificateRejected, .clientCertificateRequired,
            .unexpectedResponse, .unexpectedHTML, .magicMismatch, .lengthUnproven, .captureNotFound, .captureUnusable,
            .nextPageUnusable, .uploadNotResumed, .userAuthenticationRequired, .addressRefused:
            true
        default: saysNobodyAnswered
        }
    }

    /// Whether the error may be this machine's network's fault, and not the host's.
    package var mayBeTheNetworks: Bool { saysNobodyAnswered || self == .notConnectedToInternet }
}

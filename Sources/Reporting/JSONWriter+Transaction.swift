internal import TextFormats
internal import TransferModel

extension JSONWriter {
    /// One request, its fields spelled as `URLSessionTaskTransactionMetrics`' in Swift.
    mutating func transaction(_ metrics: TransactionMetrics) {
        beginObject()
        requestAndResponse(metrics)
        dates(metrics)
        member("networkProtocolName", metrics.networkProtocolName)
        member("isProxyConnection", metrics.isProxyConnection)
        member("isReusedConnection", metrics.isReusedConnection)
        member("resourceFetchType", metrics.fetchType.rawValue)
        counts(metrics)
        connection(metrics)
        network(metrics.network)
        endObject()
    }

    private mutating func requestAndResponse(_ metrics: TransactionMetrics) {
        object("request") { json in
            json.member("method", metrics.method)
            json.member("url", metrics.url)
        }
        object("response", metrics.status) { $0.member("status", $1) }
    }

    private mutating func dates(_ metrics: TransactionMetrics) {
        member("fetchStartDate", metrics.fetchStart)
        connectionDates(metrics)
        member("requestStartDate", metrics.requestStart)
        member("requestEndDate", metrics.requestEnd)
        member("responseStartDate", metrics.responseStart)
        member("responseEndDate", metrics.responseEnd)
    }

    /// A connection that was there already had none of these: nearly every request of a batch.
    private mutating func connectionDates(_ metrics: TransactionMetrics) {
        if metrics.domainLookupStart == nil, metrics.domainLookupEnd == nil, metrics.connectStart == nil,
            metrics.secureConnectionStart == nil, metrics.secureConnectionEnd == nil, metrics.connectEnd == nil
        {
            let others: StaticString = """
                null,"domainLookupEndDate":null,"connectStartDate":null,"secureConnectionStartDate":null,\
                "secureConnectionEndDate":null,"connectEndDate":null
                """
            return member("domainLookupStartDate", json: others)
        }
        member("domainLookupStartDate", metrics.domainLookupStart)
        member("domainLookupEndDate", metrics.domainLookupEnd)
        member("connectStartDate", metrics.connectStart)
        member("secureConnectionStartDate", metrics.secureConnectionStart)
        member("secureConnectionEndDate", metrics.secureConnectionEnd)
        member("connectEndDate", metrics.connectEnd)
    }

    private mutating func counts(_ metrics: TransactionMetrics) {
        member("countOfRequestHeaderBytesSent", metrics.requestHeaderBytesSent)
        member("countOfRequestBodyBytesSent", metrics.requestBodyBytesSent)
        member("countOfRequestBodyBytesBeforeEncoding", metrics.requestBodyBytesBeforeEncoding)
        member("countOfResponseHeaderBytesReceived", metrics.responseHeaderBytesReceived)
        member("countOfResponseBodyBytesReceived", metrics.responseBodyBytesReceived)
        member("countOfResponseBodyBytesAfterDecoding", metrics.responseBodyBytesAfterDecoding)
    }

    /// Writes the network's properties. How the name was resolved is known to the system's resolver only; the sockets
    /// are plain TCP.
    private mutating func network(_ kind: TransactionMetrics.NetworkKind?) {
        guard let kind else {
            let others: StaticString = """
                null,"isExpensive":null,"isConstrained":null,"isMultipath":false,"domainResolutionProtocol":"unknown"
                """
            return member("isCellular", json: others)
        }
        member("isCellular", kind.isCellular)
        member("isExpensive", kind.isExpensive)
        member("isConstrained", kind.isConstrained)
        let others: StaticString = #"false,"domainResolutionProtocol":"unknown""#
        member("isMultipath", json: others)
    }

    private mutating func connection(_ metrics: TransactionMetrics) {
        member("localAddress", metrics.localAddress)
        member("localPort", metrics.localPort.map { Int($0) })
        member("remoteAddress", metrics.remoteAddress)
        member("remotePort", metrics.remotePort.map { Int($0) })
        if metrics.tlsVersion == nil, metrics.tlsCipherSuite == nil, metrics.tlsFingerprint == nil {
            let others: StaticString =
                #"null,"negotiatedTLSCipherSuite":null,"negotiatedTLSCertificateFingerprint":null,"negotiatedTLSCertificateExpirationDate":null"#
            return member("negotiatedTLSProtocolVersion", json: others)
        }
        member("negotiatedTLSProtocolVersion", metrics.tlsVersion.map { Int($0) })
        member("negotiatedTLSCipherSuite", metrics.tlsCipherSuite.map { Int($0) })
        member("negotiatedTLSCertificateFingerprint", metrics.tlsFingerprint)
        member("negotiatedTLSCertificateExpirationDate", metrics.tlsExpiry)
    }
}

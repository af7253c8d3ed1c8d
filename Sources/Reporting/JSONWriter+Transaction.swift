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
        endObject()
    }

    private mutating func requestAndResponse(_ metrics: TransactionMetrics) {
        key("request")
        beginObject()
        member("method", metrics.method)
        member("url", metrics.url)
        endObject()
        key("response")
        if let status = metrics.status {
            beginObject()
            member("status", status)
            endObject()
        } else {
            null()
        }
    }

    private mutating func dates(_ metrics: TransactionMetrics) {
        member("fetchStartDate", metrics.fetchStart)
        member("domainLookupStartDate", metrics.domainLookupStart)
        member("domainLookupEndDate", metrics.domainLookupEnd)
        member("connectStartDate", metrics.connectStart)
        member("secureConnectionStartDate", metrics.secureConnectionStart)
        member("secureConnectionEndDate", metrics.secureConnectionEnd)
        member("connectEndDate", metrics.connectEnd)
        member("requestStartDate", metrics.requestStart)
        member("requestEndDate", metrics.requestEnd)
        member("responseStartDate", metrics.responseStart)
        member("responseEndDate", metrics.responseEnd)
    }

    private mutating func counts(_ metrics: TransactionMetrics) {
        member("countOfRequestHeaderBytesSent", metrics.requestHeaderBytesSent)
        member("countOfRequestBodyBytesSent", metrics.requestBodyBytesSent)
        member("countOfRequestBodyBytesBeforeEncoding", metrics.requestBodyBytesBeforeEncoding)
        member("countOfResponseHeaderBytesReceived", metrics.responseHeaderBytesReceived)
        member("countOfResponseBodyBytesReceived", metrics.responseBodyBytesReceived)
        member("countOfResponseBodyBytesAfterDecoding", metrics.responseBodyBytesAfterDecoding)
    }

    private mutating func connection(_ metrics: TransactionMetrics) {
        member("localAddress", metrics.localAddress)
        member("localPort", metrics.localPort.map { Int($0) })
        member("remoteAddress", metrics.remoteAddress)
        member("remotePort", metrics.remotePort.map { Int($0) })
        member("negotiatedTLSProtocolVersion", metrics.tlsVersion.map { Int($0) })
        member("negotiatedTLSCipherSuite", metrics.tlsCipherSuite.map { Int($0) })
        // Which interface took the bytes is not among the metrics: unknown, not false.
        member("isCellular", nil as Bool?)
        member("isExpensive", nil as Bool?)
        member("isConstrained", nil as Bool?)
        member("isMultipath", false)
    }
}

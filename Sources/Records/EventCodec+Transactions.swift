import TransferModel

// The metrics of one request. Most of its dates are milliseconds after its first: they are written as the distance.

extension RecordWriter {
    mutating func put(_ metrics: TransactionMetrics) {
        put(metrics.method)
        put(metrics.url)
        put(metrics.status) { $0.put($1) }
        put(metrics.fetchStart.nanoseconds)
        for date in Self.dates(of: metrics) { put(date.map { $0.nanoseconds &- metrics.fetchStart.nanoseconds }) }
        put(metrics.networkProtocolName)
        put(metrics.isProxyConnection)
        put(metrics.isReusedConnection)
        put(metrics.fetchType, Coded.fetchTypes)
        put(metrics.requestHeaderBytesSent)
        put(metrics.requestBodyBytesSent)
        put(metrics.requestBodyBytesBeforeEncoding)
        put(metrics.responseHeaderBytesReceived)
        put(metrics.responseBodyBytesReceived)
        put(metrics.responseBodyBytesAfterDecoding)
        put(metrics.localAddress)
        put(metrics.localPort) { $0.put(UInt64($1)) }
        put(metrics.remoteAddress)
        put(metrics.remotePort) { $0.put(UInt64($1)) }
        put(metrics.tlsVersion) { $0.put(UInt64($1)) }
        put(metrics.tlsCipherSuite) { $0.put(UInt64($1)) }
        put(metrics.tlsFingerprint)
        put(metrics.network) {
            $0.put($1.isCellular)
            $0.put($1.isExpensive)
            $0.put($1.isConstrained)
        }
    }

    private static func dates(of metrics: TransactionMetrics) -> [WallTime?] {
        [
            metrics.domainLookupStart, metrics.domainLookupEnd, metrics.connectStart, metrics.secureConnectionStart,
            metrics.secureConnectionEnd, metrics.connectEnd, metrics.requestStart, metrics.requestEnd,
            metrics.responseStart, metrics.responseEnd,
        ]
    }
}

extension RecordReader {
    mutating func transaction() throws(RecordProblem) -> TransactionMetrics {
        let (method, url) = (try text(), try text())
        let status = try optional { (reader) throws(RecordProblem) in try reader.int() }
        let start = WallTime(nanoseconds: try int64())
        var metrics = TransactionMetrics(method: method, url: url, fetchStart: start)
        metrics.status = status
        try readDates(&metrics)
        metrics.networkProtocolName = try optionalText()
        metrics.isProxyConnection = try flag()
        metrics.isReusedConnection = try flag()
        metrics.fetchType = try one(of: Coded.fetchTypes)
        metrics.requestHeaderBytesSent = try int64()
        metrics.requestBodyBytesSent = try int64()
        metrics.requestBodyBytesBeforeEncoding = try int64()
        metrics.responseHeaderBytesReceived = try int64()
        metrics.responseBodyBytesReceived = try int64()
        metrics.responseBodyBytesAfterDecoding = try int64()
        metrics.localAddress = try optionalText()
        metrics.localPort = try optionalShort()
        metrics.remoteAddress = try optionalText()
        metrics.remotePort = try optionalShort()
        metrics.tlsVersion = try optionalShort()
        metrics.tlsCipherSuite = try optionalShort()
        metrics.tlsFingerprint = try optionalText()
        metrics.network = try optional { (reader) throws(RecordProblem) in
            TransactionMetrics.NetworkKind(
                isCellular: try reader.flag(), isExpensive: try reader.flag(), isConstrained: try reader.flag())
        }
        return metrics
    }

    private mutating func readDates(_ metrics: inout TransactionMetrics) throws(RecordProblem) {
        let start = metrics.fetchStart
        metrics.domainLookupStart = try date(after: start)
        metrics.domainLookupEnd = try date(after: start)
        metrics.connectStart = try date(after: start)
        metrics.secureConnectionStart = try date(after: start)
        metrics.secureConnectionEnd = try date(after: start)
        metrics.connectEnd = try date(after: start)
        metrics.requestStart = try date(after: start)
        metrics.requestEnd = try date(after: start)
        metrics.responseStart = try date(after: start)
        metrics.responseEnd = try date(after: start)
    }

    private mutating func date(after start: WallTime) throws(RecordProblem) -> WallTime? {
        try optionalInt64().map { WallTime(nanoseconds: start.nanoseconds &+ $0) }
    }

    private mutating func optionalShort() throws(RecordProblem) -> UInt16? {
        try optional { (reader) throws(RecordProblem) in try reader.exactly(UInt16.self) }
    }
}

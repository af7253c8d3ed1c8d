internal import TransferModel

extension ReportedAttempt: ReportRecord {
    init(_ cursor: inout JSONCursor, transactions wantsTransactions: Bool) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "transactions" where wantsTransactions: try cursor.read(&transactions)
            default: try decode(name, &cursor)
            }
        }
    }

    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "number": try cursor.read(&number)
        case "url": try cursor.read(&url)
        case "outcome": try cursor.read(&outcome)
        case "resumedFrom": try cursor.read(&resumedFrom)
        case "startedOver": try cursor.read(&startedOver)
        case "startedAt": try cursor.read(&startedAt)
        case "duration": try cursor.read(&duration)
        case "error": try cursor.read(&error)
        case "backoff": try cursor.read(&backoff)
        case "retriesUntil": try cursor.read(&retriesUntil)
        default: try cursor.skip()
        }
    }
}

extension TransactionMetrics: ReportRecord {
    init() { self.init(method: "", url: "", fetchStart: WallTime(nanoseconds: 0)) }

    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "request":
            let request = try ReportedTask.Request(&cursor)
            (method, url) = (request.method, request.url)
        case "response": status = try ReportedTask.Response?(&cursor)?.status
        case "fetchStartDate": try cursor.read(&fetchStart)
        case "domainLookupStartDate": try cursor.read(&domainLookupStart)
        case "domainLookupEndDate": try cursor.read(&domainLookupEnd)
        case "connectStartDate": try cursor.read(&connectStart)
        case "secureConnectionStartDate": try cursor.read(&secureConnectionStart)
        case "secureConnectionEndDate": try cursor.read(&secureConnectionEnd)
        case "connectEndDate": try cursor.read(&connectEnd)
        case "requestStartDate": try cursor.read(&requestStart)
        case "requestEndDate": try cursor.read(&requestEnd)
        case "responseStartDate": try cursor.read(&responseStart)
        case "responseEndDate": try cursor.read(&responseEnd)
        case "networkProtocolName": try cursor.read(&networkProtocolName)
        case "isProxyConnection": try cursor.read(&isProxyConnection)
        case "isReusedConnection": try cursor.read(&isReusedConnection)
        case "resourceFetchType": fetchType = FetchType(rawValue: try cursor.string()) ?? .unknown
        case "countOfRequestHeaderBytesSent": try cursor.read(&requestHeaderBytesSent)
        case "countOfRequestBodyBytesSent": try cursor.read(&requestBodyBytesSent)
        case "countOfRequestBodyBytesBeforeEncoding": try cursor.read(&requestBodyBytesBeforeEncoding)
        case "countOfResponseHeaderBytesReceived": try cursor.read(&responseHeaderBytesReceived)
        case "countOfResponseBodyBytesReceived": try cursor.read(&responseBodyBytesReceived)
        case "countOfResponseBodyBytesAfterDecoding": try cursor.read(&responseBodyBytesAfterDecoding)
        case "localAddress": try cursor.read(&localAddress)
        case "localPort": try cursor.read(&localPort)
        case "remoteAddress": try cursor.read(&remoteAddress)
        case "remotePort": try cursor.read(&remotePort)
        case "negotiatedTLSProtocolVersion": try cursor.read(&tlsVersion)
        case "negotiatedTLSCipherSuite": try cursor.read(&tlsCipherSuite)
        case "negotiatedTLSCertificateFingerprint": try cursor.read(&tlsFingerprint)
        case "negotiatedTLSCertificateExpirationDate": try cursor.read(&tlsExpiry)
        default: try cursor.skip()
        }
    }
}

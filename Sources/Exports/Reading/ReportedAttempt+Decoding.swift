internal import TransferModel

extension ReportedAttempt {
    init(_ cursor: inout JSONCursor, transactions wantsTransactions: Bool) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "number": number = try cursor.count()
            case "url": url = try cursor.string()
            case "outcome": outcome = try cursor.choice(TaskOutcome.self)
            case "resumedFrom": resumedFrom = try cursor.integer()
            case "startedOver": startedOver = try cursor.optionalString()
            case "startedAt": startedAt = try cursor.date()
            case "duration": duration = try cursor.span()
            case "error": error = try ReportedError.optional(&cursor)
            case "backoff": backoff = try cursor.optional { (cursor) throws(CursorStop) in try cursor.span() }
            case "retriesUntil": retriesUntil = try cursor.optionalDate()
            case "transactions" where wantsTransactions:
                transactions = try cursor.list { (cursor) throws(CursorStop) in try ReportedTransaction(&cursor) }
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedTransaction {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "request": request = try ReportedTask.Request(&cursor)
            case "response": status = try Self.status(&cursor)
            case "fetchStartDate": fetchStart = try cursor.date()
            case "domainLookupStartDate": domainLookupStart = try cursor.optionalDate()
            case "domainLookupEndDate": domainLookupEnd = try cursor.optionalDate()
            case "connectStartDate": connectStart = try cursor.optionalDate()
            case "secureConnectionStartDate": secureConnectionStart = try cursor.optionalDate()
            case "secureConnectionEndDate": secureConnectionEnd = try cursor.optionalDate()
            case "connectEndDate": connectEnd = try cursor.optionalDate()
            case "requestStartDate": requestStart = try cursor.optionalDate()
            case "requestEndDate": requestEnd = try cursor.optionalDate()
            case "responseStartDate": responseStart = try cursor.optionalDate()
            case "responseEndDate": responseEnd = try cursor.optionalDate()
            default: try decodeConnection(name, &cursor)
            }
        }
    }

    private mutating func decodeConnection(
        _ name: JSONCursor.Name, _ cursor: inout JSONCursor
    ) throws(CursorStop) {
        switch name {
        case "networkProtocolName": networkProtocolName = try cursor.optionalString()
        case "isProxyConnection": isProxyConnection = try cursor.bool()
        case "isReusedConnection": isReusedConnection = try cursor.bool()
        case "resourceFetchType": fetchType = try cursor.string()
        case "countOfRequestHeaderBytesSent": requestHeaderBytes = try cursor.integer()
        case "countOfRequestBodyBytesSent": requestBodyBytes = try cursor.integer()
        case "countOfRequestBodyBytesBeforeEncoding": requestBodyBytesBeforeEncoding = try cursor.integer()
        case "countOfResponseHeaderBytesReceived": responseHeaderBytes = try cursor.integer()
        case "countOfResponseBodyBytesReceived": responseBodyBytes = try cursor.integer()
        case "countOfResponseBodyBytesAfterDecoding": responseBodyBytesAfterDecoding = try cursor.integer()
        case "localAddress": localAddress = try cursor.optionalString()
        case "localPort": localPort = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
        case "remoteAddress": remoteAddress = try cursor.optionalString()
        case "remotePort": remotePort = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
        case "negotiatedTLSProtocolVersion":
            tlsVersion = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
        case "negotiatedTLSCipherSuite":
            tlsCipherSuite = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
        case "negotiatedTLSCertificateFingerprint": tlsFingerprint = try cursor.optionalString()
        case "negotiatedTLSCertificateExpirationDate": tlsExpiry = try cursor.optionalDate()
        default: try cursor.skip()
        }
    }

    private static func status(_ cursor: inout JSONCursor) throws(CursorStop) -> Int? {
        if try cursor.takeNull() { return nil }
        var status: Int?
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "status": status = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            default: try cursor.skip()
            }
        }
        return status
    }
}

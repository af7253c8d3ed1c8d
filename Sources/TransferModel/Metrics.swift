/// What one request cost: spelled as `URLSessionTaskTransactionMetrics` in Swift, `nil` where it does not apply.
package struct TransactionMetrics: Hashable, Sendable {
    package enum FetchType: String, CaseIterable, Sendable { case unknown, networkLoad, serverPush, localCache }

    package var method: String
    package var url: String
    package var status: Int?
    package var fetchStart: WallTime
    package var domainLookupStart: WallTime?
    package var domainLookupEnd: WallTime?
    package var connectStart: WallTime?
    package var secureConnectionStart: WallTime?
    package var secureConnectionEnd: WallTime?
    package var connectEnd: WallTime?
    package var requestStart: WallTime?
    package var requestEnd: WallTime?
    package var responseStart: WallTime?
    package var responseEnd: WallTime?
    package var networkProtocolName: String?
    package var isProxyConnection = false
    package var isReusedConnection = false
    package var fetchType = FetchType.networkLoad
    package var requestHeaderBytesSent: Int64 = 0
    package var requestBodyBytesSent: Int64 = 0
    package var requestBodyBytesBeforeEncoding: Int64 = 0
    package var responseHeaderBytesReceived: Int64 = 0
    package var responseBodyBytesReceived: Int64 = 0
    package var responseBodyBytesAfterDecoding: Int64 = 0
    package var localAddress: String?
    package var localPort: UInt16?
    package var remoteAddress: String?
    package var remotePort: UInt16?
    /// 0x0303 is TLS 1.2, 0x0304 is TLS 1.3.
    package var tlsVersion: UInt16?
    package var tlsCipherSuite: UInt16?
    /// `sha256:…` over the server's certificate.
    package var tlsFingerprint: String?
    /// When that certificate ends.
    package var tlsExpiry: WallTime?
    /// What kind of network it went over; `nil` for what never left the machine.
    package var network: NetworkKind?

    package struct NetworkKind: Hashable, Sendable {
        package var isCellular: Bool
        package var isExpensive: Bool
        package var isConstrained: Bool
        package init(_ network: NetworkInterface) {
            self.init(
                isCellular: network.networkClass == .cellular, isExpensive: network.isMetered,
                isConstrained: network.isConstrained)
        }

        package init(isCellular: Bool, isExpensive: Bool, isConstrained: Bool) {
            self.isCellular = isCellular
            self.isExpensive = isExpensive
            self.isConstrained = isConstrained
        }
    }

    package init(method: String, url: String, fetchStart: WallTime) {
        self.method = method
        self.url = url
        self.fetchStart = fetchStart
    }
}

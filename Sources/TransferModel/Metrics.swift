/// What one request cost: named as in Swift's `URLSessionTaskTransactionMetrics`, `nil` where a value does not apply.
package struct TransactionMetrics: Hashable, Sendable {
    /// Where the answer came from; `unknown` is that of a command for a scheme of the job's own.
    package enum FetchType: String, CaseIterable, Sendable { case unknown, networkLoad, serverPush, localCache }

    /// Method of the request.
    package var method: String
    /// URL of the request.
    package var url: String
    /// HTTP status of the answer; `nil` without an answer, or for a scheme without statuses.
    package var status: Int?
    /// When the request was begun, before a connection was looked for.
    package var fetchStart: WallTime
    /// Start of the name lookup; `nil`, as are the next five, on a connection that was there already.
    package var domainLookupStart: WallTime?
    /// End of the name lookup; `nil` if it failed.
    package var domainLookupEnd: WallTime?
    /// Start of connecting, after the lookup.
    package var connectStart: WallTime?
    /// Start of the TLS handshake; `nil` without TLS.
    package var secureConnectionStart: WallTime?
    /// End of the TLS handshake; `nil` without TLS or if it failed.
    package var secureConnectionEnd: WallTime?
    /// When the connection was usable, TLS included; `nil` if it was not.
    package var connectEnd: WallTime?
    /// When the first byte of the request was sent.
    package var requestStart: WallTime?
    /// When the last byte of the request was sent; `nil` without an answer.
    package var requestEnd: WallTime?
    /// When the first byte of the answer came; `nil` without one.
    package var responseStart: WallTime?
    /// When the last byte of the answer came; `nil` without one.
    package var responseEnd: WallTime?
    /// `h2`, `http/1.1` or `ftp`; `nil` without an answer.
    package var networkProtocolName: String?
    /// Whether the request went through a proxy; then the remote address is the proxy's.
    package var isProxyConnection = false
    /// Whether the connection had been used for a request before.
    package var isReusedConnection = false
    /// Where the answer came from.
    package var fetchType = FetchType.networkLoad
    /// Bytes of the request's head that were sent.
    package var requestHeaderBytesSent: Int64 = 0
    /// Bytes of the request's body that were sent.
    package var requestBodyBytesSent: Int64 = 0
    /// Bytes of the request's body before chunked encoding.
    package var requestBodyBytesBeforeEncoding: Int64 = 0
    /// Bytes of the answer's head that came.
    package var responseHeaderBytesReceived: Int64 = 0
    /// Bytes of the answer's body as they came, packed if they were.
    package var responseBodyBytesReceived: Int64 = 0
    /// Bytes of the answer's body after it was unpacked.
    package var responseBodyBytesAfterDecoding: Int64 = 0
    /// This machine's address of the connection; `nil` if there was none.
    package var localAddress: String?
    /// This machine's port of the connection.
    package var localPort: UInt16?
    /// The server's or proxy's address.
    package var remoteAddress: String?
    /// The server's or proxy's port.
    package var remotePort: UInt16?
    /// The version of TLS by its number: 0x0303 is 1.2, 0x0304 is 1.3; `nil` without TLS.
    package var tlsVersion: UInt16?
    /// The TLS cipher suite by its IANA number; `nil` without TLS.
    package var tlsCipherSuite: UInt16?
    /// SHA-256 of the server's certificate, as `sha256:…`.
    package var tlsFingerprint: String?
    /// When the server's certificate expires.
    package var tlsExpiry: WallTime?
    /// The network that the request took; `nil` if it never left the machine.
    package var network: NetworkKind?

    /// What kind of network a request took.
    package struct NetworkKind: Hashable, Sendable {
        /// Whether it was a cellular network.
        package var isCellular: Bool
        /// Whether it was a metered network.
        package var isExpensive: Bool
        /// Whether it was in low data mode.
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

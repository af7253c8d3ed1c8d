internal import CLibcurl
import Glibc
import TransferModel

/// Sets libcurl's options for a request. Everything that libcurl could decide itself is switched off.
extension TransferSlot {
    func setUp(_ request: CurlRequest) {
        setBasics(request)
        if let ftp = request.ftp { set(ftp) }
        setSecurity(request)
        setBody(request)
    }

    /// The version to ask for. Inside a proxy's TLS this libcurl leaves HTTP/2 frames unread that arrived with others,
    /// and where each transfer has a connection of its own there is nothing to share.
    static func version(of request: CurlRequest) -> CurlRequest.Version {
        request.isProxySecure || request.pool.path.isForOneTransfer ? .http1 : request.version
    }

    private func setBasics(_ request: CurlRequest) {
        let (easy, me) = unsafe (easy, userPointer)
        easy.set(CURLOPT_URL, request.url)
        easy.set(CURLOPT_PATH_AS_IS, true)
        easy.set(CURLOPT_PROTOCOLS_STR, request.ftp == nil ? "http,https" : "ftp")
        easy.set(CURLOPT_NOSIGNAL, true)
        if let proxy = request.pool.proxy { setProxy(proxy, request) } else { easy.set(CURLOPT_PROXY, "") }
        set(request.pool.path)
        easy.set(CURLOPT_QUICK_EXIT, true)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, request.connectTimeout.nanoseconds / 1_000_000)))
        easy.set(bufferSize: request.receiveBuffer)
        unsafe easy.set(CURLOPT_PRIVATE, pointer: me)
        unsafe easy.set(CURLOPT_SHARE, pointer: request.pool.share)
        unsafe easy.set(CURLOPT_HEADERFUNCTION, callback: receiveHeader)
        unsafe easy.set(CURLOPT_HEADERDATA, pointer: me)
        unsafe easy.set(CURLOPT_WRITEFUNCTION, callback: receiveBody)
        unsafe easy.set(CURLOPT_WRITEDATA, pointer: me)
        unsafe easy.set(preRequest: checkConnection)
        unsafe easy.set(CURLOPT_PREREQDATA, pointer: me)
        unsafe easy.set(openSocket: openSocket)
        unsafe easy.set(CURLOPT_OPENSOCKETDATA, pointer: me)
        // The pointer is to the pool, which closes its connections after the loop is gone.
        unsafe easy.set(closeSocket: closeSocket)
        unsafe easy.set(CURLOPT_CLOSESOCKETDATA, pointer: request.pool.sockets.userPointer)
        switch Self.version(of: request) {
        case .http1: easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        case .http2OverTLS:
            easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            easy.set(CURLOPT_PIPEWAIT, true)
        }
        let isFresh = request.needsFreshConnection || request.pool.path.isForOneTransfer
        if isFresh { easy.set(CURLOPT_FRESH_CONNECT, true) }
        // No other request waits for a fresh connection either: kept open it would only count against the host's limit.
        if isFresh || !request.keepsConnection { easy.set(CURLOPT_FORBID_REUSE, true) }
        setHeaders(request)
        if let login = request.login { set(login) }
    }

    /// Sets the header lines. libcurl's versions differ in the bodies for which they add an `Expect` themselves, so
    /// that is switched off, and `isAsking` adds the line.
    func setHeaders(_ request: CurlRequest, isAsking: Bool = false) {
        var lines = request.headers
        if request.bodyLength != nil, request.ftp == nil { lines.append(isAsking ? "Expect: 100-continue" : "Expect:") }
        if !lines.isEmpty { easy.set(headers: lines) }
    }

    private func set(_ login: CurlLogin) {
        easy.set(CURLOPT_HTTPAUTH, login.method.bits)
        easy.set(CURLOPT_USERNAME, login.user)
        easy.set(CURLOPT_PASSWORD, login.password)
    }

    private func setBody(_ request: CurlRequest) {
        guard let length = request.bodyLength else {
            switch request.method {
            case "GET": break
            case "HEAD": easy.set(CURLOPT_NOBODY, true)
            default: easy.set(CURLOPT_CUSTOMREQUEST, request.method)
            }
            return
        }
        let me = unsafe userPointer
        easy.set(CURLOPT_UPLOAD, true)
        if request.method != "PUT" { easy.set(CURLOPT_CUSTOMREQUEST, request.method) }
        // An FTP server is not told the length, and libcurl asks for the end only of a body of unknown length.
        if request.ftp == nil { easy.set(CURLOPT_INFILESIZE_LARGE, offset: length) }
        unsafe easy.set(CURLOPT_READFUNCTION, callback: sendBody)
        unsafe easy.set(CURLOPT_READDATA, pointer: me)
        unsafe easy.set(seek: seekBody)
        unsafe easy.set(CURLOPT_SEEKDATA, pointer: me)
    }
}

extension CurlLogin.Method {
    /// The method as a bit of libcurl's options.
    var bits: Int { self == .ntlm ? tr_auth_ntlm : tr_auth_negotiate }
}

// MARK: - Called by libcurl

// C callbacks are file-scope functions: a closure formed in an isolated place would trap on the loop's thread.

/// The slot that a callback was given as its user pointer.
func slot(_ pointer: UnsafeMutableRawPointer?) -> TransferSlot? {
    guard let pointer = unsafe pointer else { return nil }
    return unsafe Unmanaged<TransferSlot>.fromOpaque(pointer).takeUnretainedValue()
}

private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let slot = unsafe slot(user), let bytes = unsafe bytes, count > 0 else { return 0 }
    return unsafe slot.receive(headerLine: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? count : -1
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard count > 0 else { return 0 }
    guard let slot = unsafe slot(user), let bytes = unsafe bytes else { return -1 }
    switch unsafe slot.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) {
    case .taken: return count
    case .pause: return Int(tr_write_pause)
    case .stop: return -1
    }
}

private func sendBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let slot = unsafe slot(user), let bytes = unsafe bytes else { return Int(tr_read_abort) }
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    switch unsafe slot.send(into: buffer) {
    case .bytes(let count): return count
    case .pause: return Int(tr_read_pause)
    case .stop: return Int(tr_read_abort)
    }
}

private func seekBody(_ user: UnsafeMutableRawPointer?, _ offset: Int, _ origin: Int32) -> Int32 {
    guard let slot = unsafe slot(user), origin == SEEK_SET else { return Int32(CURL_SEEKFUNC_CANTSEEK) }
    return slot.rewindBody(to: Int64(offset)) ? Int32(CURL_SEEKFUNC_OK) : Int32(CURL_SEEKFUNC_FAIL)
}

private func checkConnection(
    _ user: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?, _ local: UnsafeMutablePointer<CChar>?,
    _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    guard let slot = unsafe slot(user), let remote = unsafe remote else { return CURL_PREREQFUNC_OK }
    let connection = PoolSockets.Connection(
        remote: unsafe String(cString: remote), remotePort: remotePort, localPort: localPort)
    guard slot.mayUse(connection) else { return CURL_PREREQFUNC_ABORT }
    slot.serverReached(at: connection.remote)
    return CURL_PREREQFUNC_OK
}

private func openSocket(
    _ user: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let slot = unsafe slot(user), let address = unsafe address, !slot.stopsRepetition() else { return -1 }
    let (facts, place) = unsafe (address.pointee, MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
    let bytes = unsafe UnsafeRawBufferPointer(
        start: UnsafeRawPointer(address) + place, count: Int(facts.addrlen))
    let made = slot.makeSocket(facts.family, facts.socktype, facts.protocol, to: unsafe NetworkAddress(bytes))
    slot.connectionBegan()
    return made
}

private func closeSocket(_ user: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    if let user = unsafe user { unsafe Unmanaged<PoolSockets>.fromOpaque(user).takeUnretainedValue().closed(socket) }
    return close(socket)
}

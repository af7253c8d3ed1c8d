internal import CLibcurl
package import TransferModel

/// Sends one POST outside any run and any session: the spans that a finished run exports to a collector.
package enum BodyPost {
    /// Sends a body and waits for the answer, all within `time`. Returns why the server did not accept it, `nil` on
    /// success.
    ///
    /// `body` returns up to `count` bytes from an offset.
    package static func send(
        to url: String, headers: [String], size: Int64, within time: TimeSpan,
        body: @escaping (_ count: Int, _ offset: Int64) -> [UInt8]
    ) -> String? {
        if let problem = CurlLibrary.problem ?? CurlLibrary.lack(for: .handshake) { return problem }
        guard let easy = EasyHandle() else { return "there is no memory" }
        let source = Source(body)
        let me = unsafe Unmanaged.passUnretained(source).toOpaque()
        easy.set(CURLOPT_URL, url)
        easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        easy.set(CURLOPT_NOSIGNAL, true)
        if let file = CurlLibrary.authorities { easy.set(CURLOPT_CAINFO, file) }
        if let folder = CurlLibrary.authorityFolder { easy.set(CURLOPT_CAPATH, folder) }
        easy.set(CURLOPT_TIMEOUT_MS, Int(time.nanoseconds / 1_000_000))
        easy.set(CURLOPT_UPLOAD, true)
        easy.set(CURLOPT_CUSTOMREQUEST, "POST")
        easy.set(CURLOPT_INFILESIZE_LARGE, offset: size)
        // Waiting for `100 Continue` would only cost time: there is no second try.
        easy.set(headers: headers + ["Expect:"])
        unsafe easy.set(CURLOPT_READFUNCTION, callback: read)
        unsafe easy.set(CURLOPT_READDATA, pointer: me)
        unsafe easy.set(CURLOPT_WRITEFUNCTION, callback: drop)
        if easy.firstFailure != nil { return "libcurl cannot do it" }
        let code = withExtendedLifetime(source) { unsafe curl_easy_perform(easy.raw) }
        guard code == CURLE_OK else { return easy.message.isEmpty ? "libcurl's error \(code.rawValue)" : easy.message }
        let status = easy.long(CURLINFO_RESPONSE_CODE)
        return (200..<300).contains(status) ? nil : "it answered \(status)"
    }

    fileprivate final class Source {
        private let body: (Int, Int64) -> [UInt8]
        private var offset: Int64 = 0

        init(_ body: @escaping (Int, Int64) -> [UInt8]) { self.body = body }

        func next(_ count: Int) -> [UInt8] {
            let bytes = body(count, offset)
            offset += Int64(bytes.count)
            return bytes
        }
    }
}

private func read(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let user = unsafe user, let bytes = unsafe bytes else { return Int(tr_read_abort) }
    let source = unsafe Unmanaged<BodyPost.Source>.fromOpaque(user).takeUnretainedValue()
    let piece = source.next(size * count)
    unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count).copyBytes(from: piece)
    return piece.count
}

/// Drops the answer's body: the status alone decides.
private func drop(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int { size * count }

internal import CLibcurl
internal import Glibc

/// One curl easy handle with its error buffer and header lists, which live as long as the handle.
/// https://curl.se/libcurl/c/curl_easy_setopt.html
@safe final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var proxyHeaderList: UnsafeMutablePointer<curl_slist>?
    private var connectToList: UnsafeMutablePointer<curl_slist>?
    /// The first option that libcurl rejected, checked once before the start.
    private(set) var firstFailure: (option: UInt32, code: CURLcode)?

    init?() {
        guard let raw = unsafe curl_easy_init() else { return nil }
        unsafe self.raw = raw
        unsafe errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe check(CURLOPT_ERRORBUFFER, tr_easy_set_pointer(raw, CURLOPT_ERRORBUFFER, errorBuffer))
    }

    deinit {
        unsafe curl_easy_cleanup(raw)
        unsafe Self.free(headerList)
        unsafe Self.free(proxyHeaderList)
        unsafe Self.free(connectToList)
        unsafe errorBuffer.deallocate()
    }

    /// libcurl's message about the last failure; empty when it had none.
    var message: String { unsafe String(cString: errorBuffer) }

    /// Records a rejected option, the first alone.
    private func check(_ option: CURLoption, _ code: CURLcode) {
        if code != CURLE_OK, firstFailure == nil { firstFailure = (option.rawValue, code) }
    }

    func set(_ option: CURLoption, _ value: Int) { unsafe check(option, tr_easy_set_long(raw, option, value)) }
    func set(bufferSize: Int) { set(CURLOPT_BUFFERSIZE, bufferSize) }
    func set(_ option: CURLoption, _ value: Bool) { set(option, value ? 1 : 0) }
    func set(_ option: CURLoption, offset value: Int64) { unsafe check(option, tr_easy_set_offset(raw, option, value)) }
    func set(_ option: CURLoption, _ value: String?) {
        guard let value else { return unsafe check(option, tr_easy_set_string(raw, option, nil)) }
        unsafe value.withCString { unsafe check(option, tr_easy_set_string(raw, option, $0)) }
    }
    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        unsafe check(option, tr_easy_set_pointer(raw, option, value))
    }
    func set(_ option: CURLoption, callback: @escaping tr_data_callback) {
        unsafe check(option, tr_easy_set_data_callback(raw, option, callback))
    }
    func set(seek callback: @escaping tr_seek_callback) {
        unsafe check(CURLOPT_SEEKFUNCTION, tr_easy_set_seek_callback(raw, callback))
    }
    func set(secureContext callback: @escaping tr_ssl_context_callback) {
        unsafe check(CURLOPT_SSL_CTX_FUNCTION, tr_easy_set_ssl_context_callback(raw, callback))
    }

    func set(progress callback: @escaping tr_progress_callback) {
        unsafe check(CURLOPT_XFERINFOFUNCTION, tr_easy_set_progress_callback(raw, callback))
    }
    func set(debug callback: @escaping tr_debug_callback) {
        unsafe check(CURLOPT_DEBUGFUNCTION, tr_easy_set_debug_callback(raw, callback))
    }
    func set(preRequest callback: @escaping tr_prerequest_callback) {
        unsafe check(CURLOPT_PREREQFUNCTION, tr_easy_set_prerequest_callback(raw, callback))
    }
    func set(openSocket callback: @escaping tr_open_socket_callback) {
        unsafe check(CURLOPT_OPENSOCKETFUNCTION, tr_easy_set_open_socket_callback(raw, callback))
    }
    func set(closeSocket callback: @escaping tr_close_socket_callback) {
        unsafe check(CURLOPT_CLOSESOCKETFUNCTION, tr_easy_set_close_socket_callback(raw, callback))
    }

    /// Copies the lines into libcurl's own form, which is kept until the next call.
    func set(headers: [String]) {
        let former = unsafe headerList
        unsafe headerList = list(headers, CURLOPT_HTTPHEADER)
        unsafe check(CURLOPT_HTTPHEADER, tr_easy_set_list(raw, CURLOPT_HTTPHEADER, headerList))
        unsafe Self.free(former)
    }

    /// Sets lines for the proxy alone.
    func set(proxyHeaders: [String]) {
        unsafe proxyHeaderList = list(proxyHeaders, CURLOPT_PROXYHEADER)
        unsafe check(CURLOPT_PROXYHEADER, tr_easy_set_list(raw, CURLOPT_PROXYHEADER, proxyHeaderList))
    }

    /// Sets the address that is connected to in place of a host's, in libcurl's form `HOST:PORT:ADDRESS:PORT`.
    func set(connectTo entry: String) {
        let former = unsafe connectToList
        unsafe connectToList = list([entry], CURLOPT_CONNECT_TO)
        unsafe check(CURLOPT_CONNECT_TO, tr_easy_set_list(raw, CURLOPT_CONNECT_TO, connectToList))
        unsafe Self.free(former)
    }

    private func list(_ lines: [String], _ option: CURLoption) -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            unsafe line.withCString { text in
                if let longer = unsafe curl_slist_append(list, text) {
                    unsafe list = longer
                } else {
                    check(option, CURLE_OUT_OF_MEMORY)
                }
            }
        }
        return unsafe list
    }

    /// Frees a list, and overwrites its lines first: a header may be a secret.
    private static func free(_ list: UnsafeMutablePointer<curl_slist>?) {
        var next = unsafe list
        while let entry = unsafe next {
            if let text = unsafe entry.pointee.data { unsafe explicit_bzero(text, strlen(text)) }
            unsafe next = entry.pointee.next
        }
        unsafe curl_slist_free_all(list)
    }

    /// Releases a share that may be freed before the handle.
    func leaveShare() { unsafe check(CURLOPT_SHARE, tr_easy_set_pointer(raw, CURLOPT_SHARE, nil)) }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        unsafe tr_easy_get_long(raw, info, &value)
        return value
    }

    func offset(_ info: CURLINFO) -> Int64 {
        var value: Int64 = 0
        unsafe tr_easy_get_offset(raw, info, &value)
        return value
    }

    func string(_ info: CURLINFO) -> String? {
        var value: UnsafePointer<CChar>?
        unsafe tr_easy_get_string(raw, info, &value)
        guard let value = unsafe value, unsafe value[0] != 0 else { return nil }
        return unsafe String(cString: value)
    }
}

@available(*, unavailable)
extension EasyHandle: Sendable {}

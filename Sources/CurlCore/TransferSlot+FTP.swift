internal import CLibcurl
import SystemIO
import TransferModel

// Files on ftp servers: libcurl speaks the protocol, and what the server told of the file stands in for a head.

extension TransferSlot {
    func set(_ access: FTPAccess) {
        easy.set(CURLOPT_FILETIME, true)
        // How long a silence may be is for the idle clock to say, for all schemes alike.
        easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, 7 * 86_400)
        easy.set(CURLOPT_NOPROGRESS, false)
        unsafe easy.set(progress: endLongWait)
        unsafe easy.set(CURLOPT_XFERINFODATA, pointer: userPointer)
        if let user = access.user {
            easy.set(CURLOPT_USERNAME, user)
            easy.set(CURLOPT_PASSWORD, access.password ?? "")
        }
        if access.offset > 0 { easy.set(CURLOPT_RESUME_FROM_LARGE, offset: access.offset) }
    }

    func noteReply(_ bytes: UnsafeRawBufferPointer) {
        let text = unsafe bytes.prefix { $0 != 0x0D && $0 != 0x0A }
        lastReply = String(decoding: unsafe Array(text), as: UTF8.self)
    }

    /// Tells what is known of the file, once. `false` ends the transfer.
    func announceFile(refusesOffset: Bool = false) -> Bool {
        guard !isHeadComplete, let access = ftp, let receiver else { return true }
        isHeadComplete = true
        var facts = FTPFacts()
        let length = easy.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        facts.length = length < 0 ? nil : length
        let modified = easy.offset(CURLINFO_FILETIME_T)
        facts.modified = modified < 0 ? nil : WallTime(nanoseconds: modified &* 1_000_000_000)
        facts.offset = access.offset
        facts.refusesOffset = refusesOffset
        return receiver.received(file: facts)
    }

    /// What the end of a transfer means. That an ftp server cannot begin in the middle is an answer and no failure.
    func ended(_ result: CURLcode) -> CURLcode {
        if isLoginEndless { return CURLE_LOGIN_DENIED }
        if metStaleConnection { return CURLE_GOT_NOTHING }
        if endedLongWait, result == CURLE_ABORTED_BY_CALLBACK { return CURLE_PARTIAL_FILE }
        guard let access = ftp, !isHeadComplete else { return result }
        switch result {
        case CURLE_OK:
            _ = announceFile()
            return result
        case CURLE_FTP_COULDNT_USE_REST, CURLE_BAD_DOWNLOAD_RESUME:
            guard access.offset > 0 else { return result }
            _ = announceFile(refusesOffset: true)
            return CURLE_OK
        default: return result
        }
    }

    /// Once a file's connection has ended libcurl waits, for up to a minute and with everybody else, for the word that all
    /// was sent. Whoever says it says it at once.
    var waitsTooLong: Bool { Clocks.instant() - loop.now > .seconds(2) }

    /// libcurl says which command failed, the server why.
    var message: String {
        let own = easy.message
        if isLoginEndless { return "the login never came to its end: it was asked for again and again" }
        if metStaleConnection { return "the connection ended before an answer came" }
        if ftp != nil, endedLongWait { return "the server did not say that it had sent all of the file" }
        guard ftp != nil, lastReply.first?.isNumber == true, lastReply.first == "4" || lastReply.first == "5" else {
            return own
        }
        let said = "the server said \(ForeignText.quoted(lastReply))"
        return own.isEmpty ? said : "\(own): \(said)"
    }
}

private func endLongWait(
    _ user: UnsafeMutableRawPointer?, _: curl_off_t, _: curl_off_t, _: curl_off_t, _: curl_off_t
) -> Int32 {
    guard let user = unsafe user else { return 0 }
    let slot = unsafe Unmanaged<TransferSlot>.fromOpaque(user).takeUnretainedValue()
    guard slot.waitsTooLong else { return 0 }
    slot.endedLongWait = true
    return 1
}

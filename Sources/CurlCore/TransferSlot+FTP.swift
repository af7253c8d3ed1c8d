internal import CLibcurl
import Glibc
import TransferModel

// Files on ftp servers: libcurl speaks the protocol, and what the server told of the file stands in for a head.

extension TransferSlot {
    func set(_ access: FTPAccess) {
        easy.set(CURLOPT_FILETIME, true)
        // The idle clock limits silences, for all schemes alike.
        easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, 7 * 86_400)
        easy.set(CURLOPT_NOPROGRESS, false)
        unsafe easy.set(progress: noteStandstill)
        unsafe easy.set(CURLOPT_XFERINFODATA, pointer: userPointer)
        if let user = access.user {
            easy.set(CURLOPT_USERNAME, user)
            easy.set(CURLOPT_PASSWORD, access.password ?? "")
        }
        if access.offset > 0 { easy.set(CURLOPT_RESUME_FROM_LARGE, offset: access.offset) }
    }

    func noteReply(_ bytes: UnsafeRawBufferPointer) {
        state.fileEnd.lines += Int64(bytes.count)
        let text = unsafe bytes.prefix { $0 != 0x0D && $0 != 0x0A }
        state.fileEnd.lastReply = String(decoding: unsafe Array(text), as: UTF8.self)
    }

    /// Passes the known facts about the file to the receiver, once. Returns `false` to end the transfer.
    func announceFile(refusesOffset: Bool = false) -> Bool {
        guard !state.head.isComplete, let access = ftp, let receiver else { return true }
        state.head.completeWithoutHead()
        var facts = FTPFacts()
        let length = easy.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        facts.length = length < 0 ? nil : length
        state.fileEnd.announced = facts.length
        let modified = easy.offset(CURLINFO_FILETIME_T)
        facts.modified = modified < 0 ? nil : WallTime(nanoseconds: modified &* 1_000_000_000)
        facts.offset = access.offset
        facts.refusesOffset = refusesOffset
        return receiver.received(file: facts)
    }

    /// Returns the result to report for libcurl's own. A server that cannot begin at an offset has answered, which is
    /// no failure.
    func ended(_ result: CURLcode) -> CURLcode {
        if state.login.isEndless { return CURLE_LOGIN_DENIED }
        if state.problem != nil { return CURLE_WEIRD_SERVER_REPLY }
        if state.repetition.metStaleConnection { return CURLE_GOT_NOTHING }
        if state.fileEnd.endedLongWait, result == CURLE_ABORTED_BY_CALLBACK { return CURLE_PARTIAL_FILE }
        if ftp != nil, state.fileEnd.isLonger { return CURLE_PARTIAL_FILE }
        guard let access = ftp, !state.head.isComplete else { return result }
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

    private var saidNo: Bool {
        ftp != nil && (state.fileEnd.lastReply.hasPrefix("4") || state.fileEnd.lastReply.hasPrefix("5"))
    }
    /// Whether the server refused the command; a 421, with which it announces that it closes the connection, is none.
    var isRefused: Bool { saidNo && !state.fileEnd.lastReply.hasPrefix("421") }

    /// Whether the server refused the command for now: the file is busy, or it has too many clients.
    var isPutOff: Bool { ftp != nil && state.fileEnd.lastReply.hasPrefix("4") }

    /// Closes the connection unless the server refused a command: its next reply may belong to an earlier command, and
    /// libcurl would keep the connection and read it as the reply to the next one.
    func leaveOutOfStep() {
        if ftp != nil, !saidNo, let used = state.sockets.used { shutdown(used, Int32(SHUT_RDWR)) }
    }

    /// The transfer's message: libcurl says which command failed, the server why.
    var message: String {
        let own = easy.message
        if state.login.isEndless { return "the login never came to its end: it was asked for again and again" }
        if let problem = state.problem { return problem.message }
        if state.repetition.metStaleConnection { return "the connection ended before an answer came" }
        if ftp != nil, state.fileEnd.endedLongWait { return "the server did not say that all of the file was sent" }
        if let access = ftp, state.fileEnd.isLonger {
            let length = access.offset + (state.fileEnd.announced ?? 0)
            return "the server sends more than the \(length) bytes that it said the file has"
        }
        guard saidNo else { return own }
        let said = "the server said \(ForeignText.quoted(state.fileEnd.lastReply))"
        return own.isEmpty ? said : "\(own): \(said)"
    }
}

private func noteStandstill(
    _ user: UnsafeMutableRawPointer?, _: curl_off_t, _: curl_off_t, _: curl_off_t, _: curl_off_t
) -> Int32 {
    guard let slot = unsafe slot(user) else { return 0 }
    return slot.mayStandStill() ? 0 : 1
}

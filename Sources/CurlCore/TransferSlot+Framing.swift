internal import CLibcurl

/// Counts the bytes of a chunked body that are none of the body's own: chunk sizes, extensions and trailers.
struct FramingCount {
    /// Whether libcurl shows what it reads of the present body.
    var isWatched = false
    /// Whether the transfer is among those that the loop looks at after this turn.
    var isListed = false
    /// Whether reading pauses until the receiver has counted the framing that was read.
    var isPaused = false
    /// Bytes of body and framing that were read.
    private var read: Int64 = 0
    /// Bytes of framing that the receiver was told of.
    private var reported: Int64 = 0

    /// Bytes of framing that may come in one turn before reading pauses: libcurl reads up to a hundred buffers in a turn.
    private static let mostInTurn: Int64 = 64 << 10

    /// Counts bytes as they come, before libcurl takes the chunks apart; `body` bytes of the body itself came before them.
    /// Returns whether reading is to pause now.
    mutating func noteRead(_ count: Int, body: Int64) -> Bool {
        let isMuch = !isPaused && read - body - reported > Self.mostInTurn
        read += Int64(count)
        if isMuch { isPaused = true }
        return isMuch
    }

    /// Returns the bytes of framing that came since the last call, where `body` bytes of the body itself have come.
    mutating func takeUnreported(body: Int64) -> Int {
        let new = max(0, read - body - reported)
        reported += new
        return Int(new)
    }
}

extension TransferSlot {
    /// Begins to count the framing of a body, if that `isChunked`.
    ///
    /// libcurl keeps chunk sizes, extensions and trailers to itself, and shows what it reads only to its debug callback. That
    /// one is set for chunked bodies alone, so no other transfer pays for it.
    func watchFraming(isChunked: Bool) {
        ignoreFraming()
        guard isChunked else { return }
        state.framing.isWatched = true
        unsafe easy.set(debug: noteDebugData)
        unsafe easy.set(CURLOPT_DEBUGDATA, pointer: userPointer)
        easy.set(CURLOPT_VERBOSE, true)
    }

    /// Ends the calls of the debug callback: libcurl may make them until the handle is gone.
    func ignoreFraming() {
        guard state.framing.isWatched else { return }
        easy.set(CURLOPT_VERBOSE, false)
        state.framing = FramingCount()
    }

    fileprivate func readOfBody(_ count: Int) {
        guard state.framing.isWatched else { return }
        lastActivity = loop.clock()
        if state.framing.noteRead(count, body: easy.offset(CURLINFO_SIZE_DOWNLOAD_T)) {
            unsafe curl_easy_pause(easy.raw, CURLPAUSE_RECV)
        }
        guard !state.framing.isListed else { return }
        state.framing.isListed = true
        loop.reportFramingAfterTurn(of: self)
    }

    /// Reports the framing that came in this turn; called when libcurl has counted the body's own bytes.
    func reportFraming() -> BodyReply {
        state.framing.isListed = false
        guard state.framing.isWatched, let receiver else { return .taken }
        let count = state.framing.takeUnreported(body: easy.offset(CURLINFO_SIZE_DOWNLOAD_T))
        return count > 0 ? receiver.received(framing: count) : .taken
    }

    /// Returns whether reading was paused until the receiver was told, and ends that.
    func endFramingPause() -> Bool {
        defer { state.framing.isPaused = false }
        return state.framing.isPaused
    }
}

private func noteDebugData(
    _ easy: UnsafeMutableRawPointer?, _ kind: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int,
    _ user: UnsafeMutableRawPointer?
) -> Int32 {
    // Messages may come when the slot is already being freed.
    if kind == CURLINFO_DATA_IN, let slot = unsafe slot(user) { slot.readOfBody(count) }
    return 0
}

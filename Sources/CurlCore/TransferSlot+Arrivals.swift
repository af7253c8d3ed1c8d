import Glibc
import TransferModel

extension TransferSlot {
    /// When a byte last arrived on the transfer's own connection, though libcurl may not have reported it: libcurl
    /// reports whole lines and TLS records only, and neither handshakes nor the answers to them. `nil` where that is
    /// unknown, because there is no connection or streams share it, and where what arrives may be interim answers.
    func lastArrival(at now: Instant) -> Instant? {
        guard let sockets = pool?.sockets, !state.lastWasInterim else { return nil }
        guard let used = state.sockets.used else {
            return sockets.opened(for: self).compactMap { SocketPath.lastArrival(at: $0, now) }.max()
        }
        let ssl = unsafe secureStream()
        if let ssl = unsafe ssl, unsafe isHTTP2(ssl) { return nil }
        let arrival = SocketPath.lastArrival(at: used, now)
        guard ftp != nil, let taken = lastTaken(at: now) else { return arrival }
        return arrival.map { max($0, taken) } ?? taken
    }
}

extension SocketPath {
    fileprivate static func lastArrival(at socket: Int32, _ now: Instant) -> Instant? {
        var facts = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        guard unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &facts, &length) == 0,
            facts.tcpi_state == established
        else { return nil }
        return Instant(nanoseconds: now.nanoseconds - Int64(facts.tcpi_last_data_recv) * 1_000_000)
    }

    /// TCP_ESTABLISHED, which the C library declares in an enumeration without a name.
    private static let established: UInt8 = 1
}

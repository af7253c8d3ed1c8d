internal import CLibcurl
import Glibc

/// libcurl's calls of `recv` and `send`, which pass by here (Sources/CLibcurl/sockets.c) during the loop's turn: what is
/// received need not be copied from libcurl's memory, what is sent need not leave at once, and it shows when the last of it went.
struct SocketCalls {
    /// By socket: whose request goes over it, and nobody else's.
    private var users: [TransferSlot?] = []
    var sender = Sender()

    mutating func use(_ socket: Int32, _ slot: TransferSlot) {
        let index = Int(socket)
        if index >= users.count { users += Array(repeating: nil, count: index + 1 - users.count) }
        users[index] = slot
    }

    /// Another may use it already: a socket's number is given again.
    mutating func leave(_ socket: Int32, _ slot: TransferSlot) {
        guard user(of: socket) === slot else { return }
        users[Int(socket)] = nil
        sender.forget(socket)
    }

    func user(of socket: Int32) -> TransferSlot? {
        socket >= 0 && Int(socket) < users.count ? users[Int(socket)] : nil
    }
}

extension CurlLoop {
    /// Whatever libcurl does with sockets in `body` passes by here.
    func owningSockets(_ body: () -> Void) {
        unsafe tr_own_sockets(Unmanaged.passUnretained(self).toOpaque(), receive, send)
        body()
        tr_own_sockets(nil, nil, nil)
    }
}

/// Whose turn it is on this thread.
func loopOfTurn() -> CurlLoop? { unsafe loop(tr_socket_owner()) }

private func loop(_ owner: UnsafeMutableRawPointer?) -> CurlLoop? {
    guard let owner = unsafe owner else { return nil }
    return unsafe Unmanaged<CurlLoop>.fromOpaque(owner).takeUnretainedValue()
}

private func receive(
    _ owner: UnsafeMutableRawPointer?, _ socket: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> Int {
    let notTaken = Int(tr_not_taken)
    guard let slot = unsafe loop(owner)?.sockets.user(of: socket), let bytes = unsafe bytes else { return notTaken }
    return unsafe slot.receiveDirectly(over: socket, for: bytes, count) ?? notTaken
}

private func send(
    _ owner: UnsafeMutableRawPointer?, _ socket: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> Int {
    guard let loop = unsafe loop(owner), let slot = loop.sockets.user(of: socket), slot.sendsBody else {
        return Int(tr_not_taken)
    }
    let sent = unsafe loop.sockets.sender.send(UnsafeRawBufferPointer(start: bytes, count: count), over: socket)
    slot.hasRest = sent < count
    // After the answer it may be the connection's end.
    if sent > 0, !slot.isHeadComplete { slot.sentAt = loop.clock() }
    return sent
}

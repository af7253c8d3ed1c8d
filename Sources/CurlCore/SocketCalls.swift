internal import CLibcurl
import Glibc

/// libcurl's calls of `recv` and `send`, which pass by here (Sources/CLibcurl/sockets.c) during the loop's turn: what is
/// received need not be copied from libcurl's memory, and what is sent need not leave at once.
struct SocketCalls {
    /// By socket: whose answer comes over it in the clear, and nobody else's.
    private var readers: [TransferSlot?] = []
    /// For no longer than a turn.
    var headHold = HeadHold()

    mutating func read(_ socket: Int32, _ slot: TransferSlot) {
        let index = Int(socket)
        if index >= readers.count { readers += Array(repeating: nil, count: index + 1 - readers.count) }
        readers[index] = slot
    }

    /// Another may read from it already: a socket's number is used again.
    mutating func leave(_ socket: Int32, _ slot: TransferSlot) {
        if reader(of: socket) === slot { readers[Int(socket)] = nil }
    }

    func reader(of socket: Int32) -> TransferSlot? {
        socket >= 0 && Int(socket) < readers.count ? readers[Int(socket)] : nil
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

private func loop(_ owner: UnsafeMutableRawPointer?) -> CurlLoop? {
    guard let owner = unsafe owner else { return nil }
    return unsafe Unmanaged<CurlLoop>.fromOpaque(owner).takeUnretainedValue()
}

private func receive(
    _ owner: UnsafeMutableRawPointer?, _ socket: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> Int {
    let notTaken = Int(tr_not_taken)
    guard let slot = unsafe loop(owner)?.sockets.reader(of: socket), let bytes = unsafe bytes else { return notTaken }
    return unsafe slot.receiveDirectly(over: socket, for: bytes, count) ?? notTaken
}

private func send(
    _ owner: UnsafeMutableRawPointer?, _ socket: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> Int {
    guard unsafe loop(owner)?.sockets.headHold.holds(socket) == true else { return Int(tr_not_taken) }
    return unsafe sendto(socket, bytes, count, Int32(MSG_NOSIGNAL) | Int32(MSG_MORE), nil, 0)
}

import FileDelivery

/// Orders for the delivery threads, collected over one turn of the loop and handed over in one piece; earlier when a
/// fast transfer brings many bytes in one turn, so that they are written while still in the processor's cache.
final class Outbox {
    private var orders: [DeliveryOrder] = []
    private var bytes = 0
    private let delivery: any FileDeliverer
    private static let manyBytes = 256 << 10

    init(_ delivery: any FileDeliverer) { self.delivery = delivery }

    var isEmpty: Bool { orders.isEmpty }

    func add(_ order: consuming DeliveryOrder) {
        bytes += order.byteCount
        orders.append(order)
        if bytes >= Self.manyBytes { handOver() }
    }

    func handOver() {
        guard !orders.isEmpty else { return }
        delivery.submit(orders, bytes: bytes)
        orders = []
        orders.reserveCapacity(32)
        bytes = 0
    }
}

/// The attempts to which libcurl reported something in this turn, so that a turn costs what happened and not what is
/// under way.
final class News {
    private var attempts: [Attempt] = []
    func add(_ attempt: Attempt) { attempts.append(attempt) }
    func takeAll() -> [Attempt] {
        defer { attempts.removeAll(keepingCapacity: true) }
        return attempts
    }
}

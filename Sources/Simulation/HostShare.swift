import TransferModel

/// The bandwidth of one host, shared evenly by the transfers there at each moment, up to the most that one may have.
///
/// All transfers move at one speed, so a clock of bytes serves them all: one that began at byte 100 and has 50 to move
/// is done when the clock shows 150. A change in number only changes how fast the clock runs.
struct HostShare {
    private struct Member {
        let done: Double
        let flight: Int
        let generation: UInt32
    }

    let rate: Double
    /// Bytes per second of one transfer at most.
    let most: Double
    private(set) var count = 0
    /// Counts up with each change; it voids calendar entries that were put before.
    private(set) var generation: UInt32 = 0
    private var clock = 0.0
    private var readAt = Instant(nanoseconds: 0)
    private var members: [Member] = []

    /// `nil` sets no limit, on all transfers together or on each.
    init(rate: Int64?, most: Int64?) {
        self.rate = rate.map { Double(max(1, $0)) } ?? .infinity
        self.most = most.map { Double(max(1, $0)) } ?? .infinity
    }

    /// Keeps the bandwidth of `other` and none of its transfers.
    init(_ other: HostShare) { (rate, most) = (other.rate, other.most) }

    /// Bytes per second of each transfer now.
    private var speed: Double { min(rate / Double(max(1, count)), most) }

    /// Advances the byte clock to `now` and returns its reading, which a transfer keeps as its beginning.
    mutating func reading(at now: Instant) -> Double {
        let elapsed = (now - readAt).seconds
        readAt = now
        if count > 0 { clock += elapsed * speed } else { clock = 0 }
        return clock
    }

    mutating func add(_ flight: Int, _ flightGeneration: UInt32, bytes: Int64, at now: Instant) -> Double {
        let start = reading(at: now)
        if count == 0 { members.removeAll(keepingCapacity: true) }
        count += 1
        generation &+= 1
        members.append(Member(done: start + Double(bytes), flight: flight, generation: flightGeneration))
        rise()
        return start
    }

    /// Notes that one transfer left before it was done; its entry in the heap is found void later.
    mutating func remove(at now: Instant) {
        _ = reading(at: now)
        count -= 1
        generation &+= 1
    }

    /// Returns when the next transfer is done if nothing changes, `nil` if there is none. `isVoid` tells whether the
    /// entry of a flight and its generation is void.
    mutating func next(isVoid: (Int, UInt32) -> Bool) -> Instant? {
        dropVoid(isVoid)
        guard let first = members.first else { return nil }
        let seconds = max(0, first.done - clock) / speed
        return readAt + TimeSpan(nanoseconds: Int64((min(seconds, 1e9) * 1e9).rounded(.up)))
    }

    /// Removes and returns a flight whose part is done by `now`; `nil` if there is none.
    mutating func takeDone(at now: Instant, isVoid: (Int, UInt32) -> Bool) -> Int? {
        let reading = reading(at: now)
        dropVoid(isVoid)
        // The clock's own error may be half a byte.
        guard let first = members.first, first.done <= reading + 0.5 else { return nil }
        removeFirst()
        count -= 1
        generation &+= 1
        return first.flight
    }

    private mutating func dropVoid(_ isVoid: (Int, UInt32) -> Bool) {
        while let first = members.first, isVoid(first.flight, first.generation) { removeFirst() }
    }

    private mutating func rise() {
        var child = members.count - 1
        while child > 0, members[child].done < members[(child - 1) / 2].done {
            members.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func removeFirst() {
        guard let last = members.popLast(), !members.isEmpty else { return }
        members[0] = last
        var parent = 0
        while true {
            var least = 2 * parent + 1
            guard least < members.count else { return }
            if least + 1 < members.count, members[least + 1].done < members[least].done { least += 1 }
            guard members[least].done < members[parent].done else { return }
            members.swapAt(parent, least)
            parent = least
        }
    }
}

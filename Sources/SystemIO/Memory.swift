internal import CLinuxShims
internal import Glibc

package enum Memory {
    /// What is given back stays with the process for the next who asks, up to so many bytes at a time. From any thread.
    package static func keep(_ bytes: Int32) { tr_keep_memory(bytes) }

    /// However many threads come and go, they share so many heaps: each keeps what was its most. Called before the first
    /// thread.
    package static func shareHeaps(_ count: Int32) { tr_limit_arenas(count) }

    /// Gives to the system what nobody uses any more, whichever thread used it: some milliseconds, for a process that
    /// lives long.
    package static func giveBack() { tr_give_memory_back() }

    /// As `memcpy`, in steps: from some 2 KiB on the C library leaves a copy to one instruction, which takes many times
    /// as long on some processors where the target stands a few bytes further in its page than the source.
    package static func copy(_ source: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) {
        guard let first = source.baseAddress else { return }
        var done = 0
        while done < source.count {
            let count = min(step, source.count - done)
            unsafe (target + done).copyMemory(from: first + done, byteCount: count)
            done += count
        }
    }
    private static let step = 2 << 10

    /// Whether both begin with the same `count` bytes: by `memcmp`, for `==` compares one byte after the other.
    package static func areSame(_ left: [UInt8], _ right: [UInt8], first count: Int) -> Bool {
        precondition(count <= left.count && count <= right.count, "compares more than there is")
        return unsafe memcmp(left, right, count) == 0
    }
}

extension [UInt8] {
    /// As `append(contentsOf:)`, in the steps of `Memory.copy`.
    package mutating func append(copying bytes: UnsafeRawBufferPointer) {
        append(addingCapacity: bytes.count) { output in
            unsafe output.withUnsafeMutableBufferPointer { free, filled in
                guard let place = free.baseAddress else { return }
                unsafe Memory.copy(bytes, to: place + filled)
                filled += bytes.count
            }
        }
    }
}

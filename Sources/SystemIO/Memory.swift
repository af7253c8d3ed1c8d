internal import CLinuxShims
internal import Glibc

/// Settings of the C library's allocator, and memory operations that are faster than the standard ones.
package enum Memory {
    /// Lets the process keep up to this number of freed bytes of a heap instead of returning them to the system, and
    /// takes larger blocks from the system alone. Callable from any thread.
    package static func keep(_ bytes: Int32) { tr_keep_memory(bytes) }

    /// Limits the number of heaps that all threads share: each heap keeps the most it ever had. Called before the first
    /// thread.
    package static func shareHeaps(_ count: Int32) { tr_limit_arenas(count) }

    /// Returns the unused memory of all heaps to the system. Takes some milliseconds; for a process that lives long.
    package static func giveBack() { tr_give_memory_back() }

    /// Copies like `memcpy`, but in steps: from some 2 KiB on the C library uses one instruction, which on some
    /// processors takes many times as long where the target stands a few bytes further in its page than the source.
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

    /// Returns whether both begin with the same `count` bytes; uses `memcmp`, since `==` compares byte by byte.
    package static func areSame(_ left: [UInt8], _ right: [UInt8], first count: Int) -> Bool {
        precondition(count <= left.count && count <= right.count, "compares more than there is")
        return unsafe memcmp(left, right, count) == 0
    }
}

extension [UInt8] {
    /// Appends like `append(contentsOf:)`, in the steps of `Memory.copy`.
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

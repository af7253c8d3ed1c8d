internal import CXXHash

/// A sum of bytes that come piece by piece, many times faster than a digest: it tells a file that was damaged or changed
/// from one that was not. It is no proof against somebody who means to deceive.
///
/// XXH3 of 128 bits, in every version, for sums are kept. Belongs to one thread at a time.
@safe package final class QuickSum {
    private let state: OpaquePointer

    package init() {
        let made = unsafe tr_sum_begin()
        precondition(unsafe made != nil, "there is no memory for a sum")
        unsafe state = made.unsafelyUnwrapped
    }

    deinit { unsafe tr_sum_end(state) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        unsafe tr_sum_add(state, bytes.baseAddress, bytes.count)
    }

    /// Of the bytes so far; more may follow.
    package var soFar: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 16) { buffer, filled in
            unsafe tr_sum_so_far(state, buffer.baseAddress)
            filled = 16
        }
    }

    /// The same, short: enough against accidents.
    package var shortSoFar: Int64 { soFar[..<8].reduce(0) { $0 << 8 | Int64($1) } }
}
